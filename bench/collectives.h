// What bench/collectives_bench.cc measures: the calls, their data and what must come of it, and how
// many bytes a bandwidth counts.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "gdakit.h"

namespace gdakit::bench {

enum class Collective : std::uint32_t {
  sync,
  barrier,
  broadcast,
  fcollect,
  collect,
  alltoall,
  alltoalls,
  reduce,
  reduce_scatter,
};
inline constexpr const char* kCollectiveNames[] = {"sync",      "barrier", "broadcast",
                                                   "fcollect",  "collect", "alltoall",
                                                   "alltoalls", "reduce",  "reduce_scatter"};

constexpr bool has_data(Collective collective) { return collective > Collective::barrier; }

// Who calls on each PE.
enum class Scope : std::uint32_t { thread, warp, block, host, stream };
inline constexpr std::array<const char*, 5> kScopeNames = {"thread", "warp", "block", "host",
                                                           "stream"};

using Element = std::uint32_t;
inline constexpr Element kPoison = 0xdeadbeef;  // what no call brings

// Of alltoalls: its elements lie so far apart in `dest`, and one behind the other in `source`.
inline constexpr std::uint64_t kDestStride = 2;

// One call, made again and again. `source` has room for `count` elements of every PE, each of
// `dests` for kDestStride times as many. Two destinations take turns: a PE that begins round i + 2
// has heard in round i + 1 that all have ended round i.
struct Call {
  Collective collective;
  std::uint64_t count;
  const Element* source;
  Element* dests[2];
  std::uint64_t n_pes;

  GDAKIT_EMULATED_BEGIN
  // A broadcast's root hears of nobody, and with one root for all rounds it would run ahead. So the
  // roots take turns, the last member after this one first, for the linear algorithm and the ring
  // serve it last. Each root has a place of its own, which it needs again when all the others have
  // had theirs.
  template <class Team>
  GDAKIT_DEVICE auto broadcast(Team& team, std::uint64_t round) const {
    const std::uint64_t root = n_pes - 1 - round % n_pes;
    return team.broadcast(dests[0] + root * count, source, count, static_cast<int>(root));
  }

  // `team` and `sum` are a kernel's, or the host's, whose calls are host functions.
  template <class Team, class Op>
  GDAKIT_DEVICE auto act(Team& team, std::uint64_t round, Op sum) const {
    Element* const dest = dests[round % 2];
    switch (collective) {
      case Collective::sync: return team.sync();
      case Collective::barrier: return team.barrier();
      case Collective::broadcast: return broadcast(team, round);
      case Collective::fcollect: return team.fcollect(dest, source, count);
      case Collective::collect: return team.collect(dest, source, count);
      case Collective::alltoall: return team.alltoall(dest, source, count);
      case Collective::alltoalls: return team.alltoalls(dest, source, kDestStride, 1, count);
      case Collective::reduce: return team.reduce(dest, source, count, sum);
      case Collective::reduce_scatter: break;
    }
    return team.reduce_scatter(dest, source, count, sum);
  }
  GDAKIT_EMULATED_END
};

// The call by one thread, warp or block of each PE: `untimed` rounds, in which the PEs find
// together, and `timed` ones. One kernel for all collectives: which one it is, is data.
template <Scope kScope>
struct Rounds {
  Call call;
  std::uint64_t untimed;
  std::uint64_t timed;
  std::uint64_t* ns;  // what the timed rounds took

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if constexpr (kScope == Scope::thread) {
      run(pe.machine(), pe.team(kTeamWorld));
    } else if constexpr (kScope == Scope::warp) {
      run(pe.machine(), pe.warp().team(kTeamWorld));
    } else {
      run(pe.machine(), pe.block().team(kTeamWorld));
    }
  }

 private:
  template <class M, class Group>
  GDAKIT_DEVICE void run(M& m, Group team) const {
    std::uint64_t begin = m.clock_ns();
    for (std::uint64_t round = 0; round < untimed + timed; ++round) {
      if (round == untimed) begin = m.clock_ns();
      if (!call.act(team, round, Sum{})) return;  // the host finds the reason in the PE's reports
    }
    if (m.thread_index() == 0) m.store_weak(ns, m.clock_ns() - begin);
  }
};

// Element i of a PE's source: a word that no other PE has at any place near it.
constexpr Element source_element(std::uint64_t pe, std::uint64_t i) {
  return static_cast<Element>((i + 1) * 2654435761u) ^ static_cast<Element>(pe << 24);
}

// Which of `dest` a call writes, in elements.
constexpr std::uint64_t elements_written(Collective collective, std::uint64_t n,
                                         std::uint64_t count) {
  switch (collective) {
    case Collective::sync:
    case Collective::barrier: return 0;
    case Collective::reduce:
    case Collective::reduce_scatter: return count;
    case Collective::alltoalls: return kDestStride * n * count;
    default: return n * count;
  }
}

// What stands in `dest` behind a call, on PE `me` of `n`.
inline std::vector<Element> expected(Collective collective, std::uint64_t me, std::uint64_t n,
                                     std::uint64_t count) {
  std::vector<Element> dest(elements_written(collective, n, count));
  for (std::uint64_t i = 0; i < dest.size(); ++i) {
    const std::uint64_t part = i / count;
    switch (collective) {
      case Collective::alltoall: dest[i] = source_element(part, me * count + i % count); break;
      case Collective::alltoalls: {
        const std::uint64_t place = i / kDestStride;
        const bool gap = i % kDestStride != 0;
        dest[i] = gap ? kPoison : source_element(place / count, me * count + place % count);
        break;
      }
      case Collective::reduce:
        for (std::uint64_t pe = 0; pe < n; ++pe) dest[i] += source_element(pe, i);
        break;
      case Collective::reduce_scatter:
        for (std::uint64_t pe = 0; pe < n; ++pe) dest[i] += source_element(pe, me * count + i);
        break;
      default: dest[i] = source_element(part, i % count);
    }
  }
  return dest;
}

// What nccl-tests and NVSHMEM's perftests count: the bytes of a call, and how many times that
// number goes over each PE's link where the best algorithm is used.
struct Volume {
  double bytes;
  double bus_factor;
};

constexpr Volume volume_of(Collective collective, int n_pes, std::uint64_t size) {
  const double n = n_pes;
  const auto bytes = static_cast<double>(size);
  switch (collective) {
    case Collective::broadcast: return {bytes, 1};
    case Collective::reduce: return {bytes, 2 * (n - 1) / n};
    default: return {bytes * n, (n - 1) / n};
  }
}

}  // namespace gdakit::bench
