// Groups that act as one: what each thread did before is told of, and what it does after comes
// later.
#include "sim/world/scenarios/group_of.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// Each thread of PE 0 stores a word into its own heap, and the group tells of them by one signal.
// PE 1 gets them.
template <class Group>
struct GroupSignals {
  const Witness* witness;
  Word* words;  // one for each thread
  Word* got;    // likewise
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t threads = m.block_threads();
    if (pe.my_pe() == 0) {
      m.store_weak(words + m.thread_index(), 10 + Word{m.thread_index()});
      auto group = group_of<Group>(pe);
      witness->expect(group.put_signal_nbi(got, words, 0, signal, 1, SignalOp::set, 1).ok(),
                      "put_signal_nbi is taken");
    } else if (m.thread_index() == 0) {
      witness->expect(pe.wait_until(signal, Compare::eq, 1).ok(), "the signal comes");
      witness->expect(pe.get(got, words, threads, 0).ok(), "get succeeds");
      for (Word i = 0; i < threads; ++i) {
        witness->expect(m.load_weak(got + i) == 10 + i, "what every thread stored is there");
      }
    }
  }
};

// A thread of the second warp writes what the block puts, which the first warp posts.
struct BlockOfTwoWarps {
  const Witness* witness;
  Word* source;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const bool is_last = m.thread_index() + 1 == m.block_threads();
    if (is_last) m.store_weak(source, 7);
    witness->expect(pe.block().put(data, source, 1, 1).ok(), "put succeeds");
    if (is_last) m.store_weak(source, 9);
  }
};

template <class Group>
WorldPointer group_signals(const char* name, const SubjectOptions& options, std::uint32_t threads) {
  auto world = std::make_unique<World>(name, options_for(options));
  auto* words = world->allocate<Word>("words", threads);
  auto* got = world->allocate<Word>("got", threads);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = threads},
                GroupSignals<Group>{world->witness(), words, got, signal});
  return world;
}

WorldPointer warp_signals(const SubjectOptions& options) {
  return group_signals<WarpGroup>("warp-signal", options, 3);
}

WorldPointer block_signals(const SubjectOptions& options) {
  return group_signals<BlockGroup>("block-signal", options, 3);
}

WorldPointer block_of_two_warps(const SubjectOptions& options) {
  auto world = std::make_unique<World>("block-of-two-warps", options_for(options));
  auto* source = world->allocate<Word>("source", 1);
  auto* data = world->allocate<Word>("data", 1);
  world->launch_on(0, {.blocks = 1, .threads = kWarpSize + 1},
                   BlockOfTwoWarps{world->witness(), source, data});
  world->check([=](After& after) {
    after.expect(after.value(1, data) == 7, "PE 1 has the second warp's word");
  });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"warp-signal", "A warp tells by one signal what its lanes have stored.", make<warp_signals>},
    {"block-signal", "A block tells by one signal what its threads have stored.",
     make<block_signals>},
    {"block-of-two-warps", "A block puts what a thread of its second warp wrote.",
     make<block_of_two_warps>},
};

}  // namespace

constinit const Table kGroupsTable = kListed;

}  // namespace gdakit::sim::scenarios
