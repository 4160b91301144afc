// Collectives behind which each member at once writes again what it sent and what it got.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// Writes `words` again, and `count` behind it.
template <class Pe>
void spoil(Pe& pe, Word* words, Word count) {
  for (Word i = 0; i < count; ++i) pe.machine().store_weak(words + i, Word{0xdead});
}

// Words side by side, and then words that lie 2 apart.
struct AlltoallSpoilt {
  const Witness* witness;
  Word* source;  // n
  Word* dest;    // n, and 2 n
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    const auto n = Word(team.n_pes());
    for (Word round = 0; round < 2; ++round) {
      for (Word i = 0; i < n; ++i) m.store_weak(source + i, 10 * (1 + Word(pe.my_pe())) + i);
      const Status status =
          round == 0 ? team.alltoall(dest, source, 1) : team.alltoalls(dest + n, source, 2, 1, 1);
      witness->expect(status.ok(), "alltoall succeeds");
      spoil(pe, source, n);
      for (Word i = 0; i < n; ++i) {
        Word* const at = round == 0 ? dest + i : dest + n + 2 * i;
        witness->expect(m.load_weak(at) == 10 * (1 + i) + Word(pe.my_pe()),
                        "each member's word is there");
      }
    }
  }
};

struct BroadcastSpoilt {
  const Witness* witness;
  Word* source;  // count
  Word* dest;    // count
  Word count;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    for (Word i = 0; i < count; ++i) m.store_weak(source + i, 10 * (1 + Word(pe.my_pe())) + i);
    witness->expect(team.broadcast(dest, source, count, 0).ok(), "broadcast succeeds");
    spoil(pe, source, count);
    for (Word i = 0; i < count; ++i) {
      witness->expect(m.load_weak(dest + i) == 10 + i, "the root's words are there");
    }
    spoil(pe, dest, count);
  }
};

struct ReduceSpoilt {
  const Witness* witness;
  Word* source;  // n
  Word* dest;    // n for each round: others may write into the next one's already
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    const auto n = Word(team.n_pes());
    for (Word round = 0; round < 3; ++round) {
      Word* const to = dest + round * n;
      for (Word i = 0; i < n; ++i) m.store_weak(source + i, 10 * round + Word(pe.my_pe()) + i + 1);
      witness->expect(team.reduce(to, source, n, Sum{}).ok(), "reduce succeeds");
      spoil(pe, source, n);
      for (Word i = 0; i < n; ++i) {
        witness->expect(m.load_weak(to + i) == n * (10 * round + i + 1) + n * (n - 1) / 2,
                        "every sum is there");
      }
      spoil(pe, to, n);
    }
  }
};

WorldPointer alltoall_spoilt(const SubjectOptions& options) {
  constexpr std::uint32_t kPes = 3;
  auto world = std::make_unique<World>("alltoall-spoilt",
                                       options_for(options, kPes, CollectiveAlgorithm::automatic));
  auto* source = world->allocate<Word>("source", kPes);
  auto* dest = world->allocate<Word>("dest", 3 * kPes);
  world->launch({.blocks = 1, .threads = 1}, AlltoallSpoilt{world->witness(), source, dest});
  return world;
}

WorldPointer broadcast_spoilt(const char* name, const SubjectOptions& options, std::uint32_t pes,
                              CollectiveAlgorithm algorithm, Word count) {
  auto world = std::make_unique<World>(name, options_for(options, pes, algorithm));
  auto* source = world->allocate<Word>("source", count);
  auto* dest = world->allocate<Word>("dest", count);
  world->launch({.blocks = 1, .threads = 1},
                BroadcastSpoilt{world->witness(), source, dest, count});
  return world;
}

WorldPointer tree_spoilt(const SubjectOptions& options) {
  return broadcast_spoilt("broadcast-tree-spoilt", options, 4, CollectiveAlgorithm::logarithmic, 2);
}

WorldPointer ring_spoilt(const SubjectOptions& options) {
  return broadcast_spoilt("broadcast-ring-spoilt", options, 4, CollectiveAlgorithm::ring, 8);
}

WorldPointer reduce_spoilt(const char* name, const SubjectOptions& options, std::uint32_t pes,
                           CollectiveAlgorithm algorithm) {
  auto world = std::make_unique<World>(name, options_for(options, pes, algorithm));
  auto* source = world->allocate<Word>("source", pes);
  auto* dest = world->allocate<Word>("dest", 3 * std::size_t{pes});
  world->launch({.blocks = 1, .threads = 1}, ReduceSpoilt{world->witness(), source, dest});
  return world;
}

WorldPointer reduce_ring_spoilt(const SubjectOptions& options) {
  return reduce_spoilt("reduce-ring-spoilt", options, 3, CollectiveAlgorithm::ring);
}

WorldPointer reduce_linear_spoilt(const SubjectOptions& options) {
  return reduce_spoilt("reduce-linear-spoilt", options, 3, CollectiveAlgorithm::linear);
}

WorldPointer reduce_doubling_spoilt(const SubjectOptions& options) {
  return reduce_spoilt("reduce-doubling-spoilt", options, 4, CollectiveAlgorithm::logarithmic);
}

constexpr ScenarioEntry kListed[] = {
    {"alltoall-spoilt", "Three PEs' words cross, and their sources are written again.",
     make<alltoall_spoilt>},
    {"broadcast-tree-spoilt", "What a tree of four PEs has sent is written again.",
     make<tree_spoilt>},
    {"broadcast-ring-spoilt", "What a ring of four PEs has sent is written again.",
     make<ring_spoilt>},
    {"reduce-ring-spoilt", "Sums go round three PEs, and are written again.",
     make<reduce_ring_spoilt>},
    {"reduce-linear-spoilt", "Three PEs send to all, and write it again, three times.",
     make<reduce_linear_spoilt>},
    {"reduce-doubling-spoilt", "Four PEs exchange sums, and write them again, three times.",
     make<reduce_doubling_spoilt>},
};

}  // namespace

constinit const Table kReuseTable = kListed;

}  // namespace gdakit::sim::scenarios
