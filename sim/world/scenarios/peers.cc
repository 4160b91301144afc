// Several peers of one handle, and lanes of a warp that post in one call but not the same.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// One handle puts to PE 1 and then to PE 2, at the same address and by a queue that has completed
// nothing yet. What has completed may be written again. Then the same by an exclusive handle.
struct TwoPeers {
  const Witness* witness;
  Word* source;
  Word* data;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    put(pe, pe, data);
    auto own = pe.exclusively_on(1);
    put(pe, own, data + 1);
  }

 private:
  template <class Pe, class Handle>
  void put(Pe& pe, Handle& handle, Word* to) const {
    auto& m = pe.machine();
    constexpr int kTo[] = {1, 1, 2};
    for (Word i = 0; i < 3; ++i) {
      m.store_weak(source, 10 + i);
      const Ticket ticket = handle.put_async(to, source, 1, kTo[i]);
      witness->expect(handle.wait(ticket).ok(), "the wait succeeds");
    }
    m.store_weak(source, 9);
  }
};

// Each lane to another PE than its neighbours.
struct LanesToPeers {
  const Witness* witness;
  Word* data;  // one for each lane
  template <class Pe>
  void operator()(Pe& pe) const {
    const std::uint32_t lane = pe.machine().lane();
    witness->expect(pe.put_value(data + lane, 10 + lane, 1 + lane % 2).ok(), "put_value is taken");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// Each lane by another queue than its neighbours.
struct LanesOnQueues {
  const Witness* witness;
  Word* data;  // one for each lane
  template <class Pe>
  void operator()(Pe& pe) const {
    const std::uint32_t lane = pe.machine().lane();
    auto own = pe.on_queue(lane % 2);
    witness->expect(own.put_value(data + lane, 10 + lane, 1).ok(), "put_value is taken");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// One call, in which some lanes set their signal and others add to theirs, which takes fewer WQEs.
struct LanesSignal {
  const Witness* witness;
  Word* source;
  Word* data;              // one for each lane
  std::uint64_t* signals;  // likewise
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t lane = m.lane();
    if (pe.my_pe() == 0) {
      m.store_weak(source + lane, 10 + Word{lane});
      const SignalOp op = lane % 2 == 0 ? SignalOp::set : SignalOp::add;
      witness->expect(
          pe.put_signal_nbi(data + lane, source + lane, 1, signals + lane, 5, op, 1).ok(),
          "put_signal_nbi is taken");
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      return;
    }
    witness->expect(pe.wait_until(signals + lane, Compare::eq, 5).ok(), "the signal comes");
    witness->expect(m.load_weak(data + lane) == 10 + lane, "the lane's word is there with it");
  }
};

// Lanes that fetch by operations of several sizes.
struct LanesFetch {
  const Witness* witness;
  Word* data;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    Status status;
    if (pe.machine().lane() == 0) {
      witness->expect(pe.atomic_swap(data, Word{7}, 1, &status) == 30, "the swap returns a word");
    } else {
      witness->expect(pe.atomic_fetch_add(data + 1, Word{1}, 1, &status) == 31,
                      "the addition returns the other one");
    }
    witness->expect(status.ok(), "both succeed");
  }
};

// The lane in the middle does something else.
struct LanesApart {
  const Witness* witness;
  Word* data;  // one for each lane
  Word* other;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t lane = m.lane();
    if (lane == 1) {
      m.store_weak(other, 1);
    } else {
      witness->expect(pe.put_value(data + lane, 10 + lane, 1).ok(), "put_value is taken");
    }
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// Behind a batch that is left open each lane of a full warp puts a word, and then the warp as many
// as its queue is deep. Then each lane sets a word, which takes more WQEs than that in all.
struct FullWarpBehindBatch {
  static constexpr Word kLanes = kWarpSize;

  const Witness* witness;
  Word* source;
  Word* data;  // 3 * kLanes + 2
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t lane = m.lane();
    if (lane == 0) {
      m.store_weak(source, 7);
      open(pe, 3 * kLanes);
    }
    witness->expect(pe.put_value(data + lane, 7, 1).ok(), "put_value is taken");
    witness->expect(pe.warp().quiet().ok(), "quiet succeeds");
    if (lane == 0) open(pe, 3 * kLanes + 1);
    auto warp = pe.warp();
    witness->expect(warp.iput_nbi(data + kLanes, source, 1, 0, kLanes, 1).ok(), "iput is taken");
    witness->expect(pe.atomic_set(data + 2 * kLanes + lane, Word{7}, 1).ok(), "the set is taken");
    witness->expect(warp.quiet().ok(), "quiet succeeds");
  }

 private:
  template <class Pe>
  void open(Pe& pe, Word at) const {
    witness->expect(pe.put_value(data + at, 7, 1, Batch::more).ok(), "the batch is opened");
  }
};

WorldPointer two_peers(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.pes = 3;
  world_options.exclusive_queues = 1;
  auto world = std::make_unique<World>("two-peers", world_options);
  auto* source = world->allocate<Word>("source", 1);
  auto* data = world->allocate<Word>("data", 2);
  world->launch_on(0, {.blocks = 1, .threads = 1}, TwoPeers{world->witness(), source, data});
  world->check([=](After& after) {
    for (int i = 0; i < 2; ++i) {
      after.expect(after.value(1, data + i) == 11 && after.value(2, data + i) == 12,
                   "each peer has what was put there last");
    }
  });
  return world;
}

WorldPointer lanes_to_peers(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.pes = 3;
  auto world = std::make_unique<World>("lanes-to-peers", world_options);
  constexpr std::uint32_t kLanes = 4;
  auto* data = world->allocate<Word>("data", kLanes);
  world->launch_on(0, {.blocks = 1, .threads = kLanes}, LanesToPeers{world->witness(), data});
  world->check([=](After& after) {
    for (Word i = 0; i < kLanes; ++i) {
      after.expect(after.value(1 + i % 2, data + i) == 10 + i, "each lane's word is at its peer");
    }
  });
  return world;
}

WorldPointer lanes_on_queues(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.queues = 2;
  auto world = std::make_unique<World>("lanes-on-queues", world_options);
  constexpr std::uint32_t kLanes = 4;
  auto* data = world->allocate<Word>("data", kLanes);
  world->launch_on(0, {.blocks = 1, .threads = kLanes}, LanesOnQueues{world->witness(), data});
  world->check([=](After& after) {
    for (Word i = 0; i < kLanes; ++i) {
      after.expect(after.value(1, data + i) == 10 + i, "PE 1 has each lane's word");
    }
  });
  return world;
}

WorldPointer lanes_signal(const SubjectOptions& options) {
  auto world = std::make_unique<World>("lanes-signal", options_for(options));
  constexpr std::uint32_t kLanes = 4;
  auto* source = world->allocate<Word>("source", kLanes);
  auto* data = world->allocate<Word>("data", kLanes);
  auto* signals = world->allocate<std::uint64_t>("signals", kLanes, RegionKind::signal);
  world->launch({.blocks = 1, .threads = kLanes},
                LanesSignal{world->witness(), source, data, signals});
  return world;
}

WorldPointer lanes_fetch(const SubjectOptions& options) {
  auto world = std::make_unique<World>("lanes-fetch", options_for(options));
  auto* data = world->allocate<Word>("data", 2);
  world->set(1, data, 30);
  world->set(1, data + 1, 31);
  world->launch_on(0, {.blocks = 1, .threads = 2}, LanesFetch{world->witness(), data});
  world->check([=](After& after) {
    after.expect(after.value(1, data) == 7 && after.value(1, data + 1) == 32,
                 "PE 1 has what was set and what was added");
  });
  return world;
}

WorldPointer lanes_apart(const SubjectOptions& options) {
  auto world = std::make_unique<World>("lanes-apart", options_for(options));
  auto* data = world->allocate<Word>("data", 3);
  auto* other = world->allocate<Word>("other", 1);
  world->launch_on(0, {.blocks = 1, .threads = 3}, LanesApart{world->witness(), data, other});
  world->check([=](After& after) {
    after.expect(after.value(1, data) == 10 && after.value(1, data + 2) == 12,
                 "PE 1 has the words of both lanes");
  });
  return world;
}

WorldPointer full_warp_behind_batch(const SubjectOptions& options) {
  auto world = std::make_unique<World>("warp-behind-batch", options_for(options));
  constexpr Word kWords = 3 * FullWarpBehindBatch::kLanes + 2;
  auto* source = world->allocate<Word>("source", 1);
  auto* data = world->allocate<Word>("data", kWords);
  world->launch_on(0, {.blocks = 1, .threads = kWarpSize},
                   FullWarpBehindBatch{world->witness(), source, data});
  world->check([=](After& after) {
    for (Word i = 0; i < kWords; ++i) {
      after.expect(after.value(1, data + i) == 7, "PE 1 has every word");
    }
  });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"two-peers", "One handle puts from one place to two peers.", make<two_peers>},
    {"lanes-to-peers", "Lanes put to two peers in one call.", make<lanes_to_peers>},
    {"lanes-on-queues", "Lanes put by two queues in one call.", make<lanes_on_queues>},
    {"lanes-signal", "Lanes set and add to signals in one call.", make<lanes_signal>},
    {"lanes-fetch", "Lanes swap and add in one call.", make<lanes_fetch>},
    {"lanes-apart", "Two lanes put while the one between them does not.", make<lanes_apart>},
    {"warp-behind-batch", "A full warp puts behind a batch that is left open.",
     make<full_warp_behind_batch>},
};

}  // namespace

constinit const Table kPeersTable = kListed;

}  // namespace gdakit::sim::scenarios
