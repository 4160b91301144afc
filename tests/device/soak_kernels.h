// What a soak run is made of: kernels that each do one kind of operation, at random, and check
// every result against what they must find. They share queues but no words, so that each can know
// what must stand where: in `shadow`s of its own, written by plain stores.
//
// An actor is what acts together: a thread, a warp or a block. It owns a row of cells on every PE,
// to which nobody else writes, and its shadow there is what the actor last wrote:
//
//   region on PE p  [from PE][actor][cell]      shadow on PE q  [to PE][actor][cell]
//   region[q][a] of PE p must equal shadow[p][a] of PE q
#pragma once

#include "device/pe.h"
#include "tests/support/checks.h"

namespace gdakit::soak {

inline constexpr std::uint32_t kPattern = 8192;

GDAKIT_HOST_DEVICE constexpr std::uint32_t pattern(std::uint32_t i) { return i * 2654435761u + 1; }

GDAKIT_HOST_DEVICE constexpr std::uint64_t mix(std::uint64_t x) {  // splitmix64
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// The same numbers for all threads of an actor.
struct Dice {
  std::uint64_t state;

  GDAKIT_HOST_DEVICE std::uint32_t below(std::uint32_t end) {
    state = mix(state);
    return static_cast<std::uint32_t>(state >> 32) % end;
  }
};

// How the threads of a launch make up actors, and which handle of the PE an actor uses.
struct ByThread {
  using Group = ThreadGroup;
  static constexpr std::uint32_t kCells = 16;  // of an actor, on each PE
  static constexpr std::uint32_t actors(LaunchShape shape) { return shape.blocks * shape.threads; }
  template <class M>
  GDAKIT_DEVICE static std::uint32_t actor(const M& m) {
    return m.block_index() * m.block_threads() + m.thread_index();
  }
  template <class M>
  GDAKIT_DEVICE static std::uint32_t rank(const M&) {
    return 0;
  }
  template <class M>
  GDAKIT_DEVICE static std::uint32_t size(const M&) {
    return 1;
  }
  template <class Pe>
  GDAKIT_DEVICE static Pe& group(Pe& pe) {
    return pe;
  }
};

struct ByWarp {
  using Group = WarpGroup;
  static constexpr std::uint32_t kCells = 512;
  static constexpr std::uint32_t actors(LaunchShape shape) {
    return shape.blocks * (shape.threads / kWarpSize);
  }
  template <class M>
  GDAKIT_DEVICE static std::uint32_t actor(const M& m) {
    return m.block_index() * (m.block_threads() / kWarpSize) + m.warp();
  }
  template <class M>
  GDAKIT_DEVICE static std::uint32_t rank(const M& m) {
    return m.lane();
  }
  template <class M>
  GDAKIT_DEVICE static std::uint32_t size(const M&) {
    return kWarpSize;
  }
  template <class Pe>
  GDAKIT_DEVICE static auto group(Pe& pe) {
    return pe.warp();
  }
};

struct ByBlock {
  using Group = BlockGroup;
  static constexpr std::uint32_t kCells = 4096;
  static constexpr std::uint32_t actors(LaunchShape shape) { return shape.blocks; }
  template <class M>
  GDAKIT_DEVICE static std::uint32_t actor(const M& m) {
    return m.block_index();
  }
  template <class M>
  GDAKIT_DEVICE static std::uint32_t rank(const M& m) {
    return m.thread_index();
  }
  template <class M>
  GDAKIT_DEVICE static std::uint32_t size(const M& m) {
    return m.block_threads();
  }
  template <class Pe>
  GDAKIT_DEVICE static auto group(Pe& pe) {
    return pe.block();
  }
};

// What every kernel of a run gets anew: `seed` differs between the kernels of an episode, `done`
// counts the operations of earlier episodes.
struct Episode {
  std::uint64_t seed;
  std::uint32_t operations;  // of each actor
  std::uint64_t done;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE Dice dice(Pe& pe, std::uint32_t actor) const {
    return {mix(seed) ^ mix(static_cast<std::uint64_t>(pe.my_pe()) << 32 | actor)};
  }
};

// put_nbi of pieces of the pattern; every fourth time all of the row is got back.
template <class By>
struct Transfers {
  Episode episode;
  const std::uint32_t* source;  // the pattern
  std::uint32_t* region;
  std::uint32_t* shadow;
  std::uint32_t* scratch;  // [actor][cell]
  std::uint32_t actors;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto group = By::group(pe);
    const std::uint32_t actor = By::actor(m);
    std::uint32_t* const mine = scratch + actor * By::kCells;
    Dice dice = episode.dice(pe, actor);
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < episode.operations; ++i) {
      const auto to = static_cast<int>(dice.below(static_cast<std::uint32_t>(pe.n_pes())));
      const std::uint32_t cell = dice.below(By::kCells);
      const std::uint32_t count = 1 + dice.below(By::kCells - cell);
      const std::uint32_t from = dice.below(kPattern - By::kCells);
      std::uint32_t* const row = region + row_of(pe.my_pe(), actor);
      std::uint32_t* const model = shadow + row_of(to, actor);
      wrong += !group.put_nbi(row + cell, source + from, count, to).ok();
      for (std::uint32_t k = By::rank(m); k < count; k += By::size(m)) {
        model[cell + k] = pattern(from + k);
      }
      if (dice.below(4) != 0) continue;
      wrong += !group.get(mine, row, By::kCells, to).ok();
      for (std::uint32_t k = By::rank(m); k < By::kCells; k += By::size(m)) {
        wrong += mine[k] != model[k];
      }
    }
    wrong += !group.quiet().ok();
    episode.expect(pe, wrong == 0);
  }

  GDAKIT_DEVICE std::size_t row_of(int pe, std::uint32_t actor) const {
    return (static_cast<std::size_t>(pe) * actors + actor) * By::kCells;
  }
};

// Words of a thread on every PE, as `region` and `shadow` with one cell for each thread.
template <class T>
struct OwnWords {
  T* region;
  T* shadow;
  std::uint32_t threads;

  template <class Pe>
  GDAKIT_DEVICE T* mine(Pe& pe, std::uint32_t me) const {
    return region + static_cast<std::size_t>(pe.my_pe()) * threads + me;
  }
  GDAKIT_DEVICE T& model(int to, std::uint32_t me) const {
    return shadow[static_cast<std::size_t>(to) * threads + me];
  }
};

// put_value, and get_value of what was put last.
struct Values {
  Episode episode;
  OwnWords<std::uint64_t> words;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const std::uint32_t me = ByThread::actor(pe.machine());
    Dice dice = episode.dice(pe, me);
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < episode.operations; ++i) {
      const auto to = static_cast<int>(dice.below(static_cast<std::uint32_t>(pe.n_pes())));
      std::uint64_t& model = words.model(to, me);
      if (dice.below(8) != 0) {
        model = dice.state;
        wrong += !pe.put_value(words.mine(pe, me), model, to).ok();
      } else {
        wrong += pe.get_value(words.mine(pe, me), to) != model;
      }
    }
    wrong += !pe.quiet().ok();
    episode.expect(pe, wrong == 0);
  }
};

// 64-bit atomics on words of a thread's own, and one add each time to a word of all.
struct Atomics64 {
  Episode episode;
  OwnWords<std::uint64_t> words;
  std::uint64_t* sum;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const std::uint32_t me = ByThread::actor(pe.machine());
    Dice dice = episode.dice(pe, me);
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < episode.operations; ++i) {
      const auto to = static_cast<int>(dice.below(static_cast<std::uint32_t>(pe.n_pes())));
      std::uint64_t& model = words.model(to, me);
      const std::uint64_t old = model;
      std::uint64_t got = 0;
      if (dice.below(2) == 0) {
        model = old + dice.state;
        got = pe.atomic_fetch_add(words.mine(pe, me), dice.state, to);
      } else {
        const std::uint64_t expected = dice.below(2) == 0 ? old : old + 1;
        if (expected == old) model = dice.state;
        got = pe.atomic_compare_swap(words.mine(pe, me), expected, dice.state, to);
      }
      wrong += got != old;
      wrong += !pe.atomic_add(sum, 1, to).ok();
    }
    wrong += !pe.quiet().ok();
    episode.expect(pe, wrong == 0);
  }
};

// 32-bit atomics, whose results come back in another byte order.
struct Atomics32 {
  Episode episode;
  OwnWords<std::uint32_t> words;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const std::uint32_t me = ByThread::actor(pe.machine());
    Dice dice = episode.dice(pe, me);
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < episode.operations; ++i) {
      const auto to = static_cast<int>(dice.below(static_cast<std::uint32_t>(pe.n_pes())));
      std::uint32_t& model = words.model(to, me);
      const std::uint32_t old = model;
      const std::uint32_t value = dice.below(~0u);
      if (dice.below(2) == 0) {
        model = old ^ value;
        wrong += pe.atomic_fetch_xor(words.mine(pe, me), value, to) != old;
      } else {
        model = value;
        wrong += pe.atomic_swap(words.mine(pe, me), value, to) != old;
      }
    }
    wrong += !pe.quiet().ok();
    episode.expect(pe, wrong == 0);
  }
};

// put_signal to the right neighbour, and a signal back when its data has been looked at.
template <class By>
struct Parcels {
  Episode episode;
  std::uint32_t* data;    // [actor][cell], from the left neighbour
  std::uint32_t* source;  // [actor][cell]
  std::uint64_t* come;    // [actor], parcels that have come
  std::uint64_t* taken;   // [actor], parcels that the right neighbour has looked at

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t actor = By::actor(m);
    const int right = (pe.my_pe() + 1) % pe.n_pes();
    const int left = (pe.my_pe() + pe.n_pes() - 1) % pe.n_pes();
    std::uint32_t* const to = data + actor * By::kCells;
    std::uint32_t* const from = source + actor * By::kCells;
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < episode.operations; ++i) {
      const std::uint64_t number = episode.done + i + 1;
      for (std::uint32_t k = By::rank(m); k < By::kCells; k += By::size(m)) {
        from[k] = mark(pe.my_pe(), number) + k;
      }
      wrong += !By::group(pe)
                    .put_signal_nbi(to, from, By::kCells, come + actor, 1, SignalOp::add, right)
                    .ok();
      wrong += !pe.wait_until(come + actor, Compare::ge, number).ok();
      for (std::uint32_t k = By::rank(m); k < By::kCells; k += By::size(m)) {
        wrong += to[k] != mark(left, number) + k;
      }
      meet(m, typename By::Group{});
      if (By::rank(m) == 0) wrong += !pe.signal(taken + actor, 1, SignalOp::add, left).ok();
      wrong += !pe.wait_until(taken + actor, Compare::ge, number).ok();
    }
    episode.expect(pe, wrong == 0);
  }

  GDAKIT_DEVICE static std::uint32_t mark(int pe, std::uint64_t number) {
    return static_cast<std::uint32_t>(mix(number << 8 | static_cast<std::uint64_t>(pe)));
  }
};

// Every PE tells all of its round; behind the barrier all must know. By one block of each PE.
struct Barriers {
  Episode episode;
  std::uint64_t* rounds;  // [pe]

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    std::uint32_t wrong = 0;
    for (std::uint32_t i = 0; i < episode.operations; ++i) {
      const std::uint64_t round = episode.done + i + 1;
      for (int to = 0; to < pe.n_pes() && pe.machine().thread_index() == 0; ++to) {
        wrong += !pe.put_value(rounds + pe.my_pe(), round, to).ok();
      }
      wrong += !pe.block().barrier_all().ok();
      for (int from = 0; from < pe.n_pes(); ++from) wrong += rounds[from] != round;
      wrong += !pe.block().sync_all().ok();
    }
    episode.expect(pe, wrong == 0);
  }
};

}  // namespace gdakit::soak
