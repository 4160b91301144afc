// Many posters on one queue: slots, the ready index, the lock.
#include <gtest/gtest.h>

#include "tests/museum/scenes.h"

namespace gdakit::museum {
namespace {

using sim::FindingKind;

// Only the thread that rings fences: its fence does not push WQEs that other blocks wrote. The
// fence had to move to every thread that writes a WQE.
//
// Source: https://github.com/NVIDIA/nccl/issues/2313
struct RingerFencesOnly : MiniQueue {
  using MiniQueue::MiniQueue;
  void publish(Index base, Index end) override {
    while (m.compare_exchange(Relaxed{}, &words.ready, base, end) != base) m.spin(Site::user);
  }
};

TEST(Museum, RingerFencesOnlyIsFound) {
  expect_found({FindingKind::race}, {}, two_blocks<RingerFencesOnly>);
}
TEST(Museum, RingerFencesOnlyIsFoundNoMore) {
  expect_passes({}, two_blocks<MiniQueue>, two_blocks<ShippedQueue>);
}

// The ready index is published first, and fenced afterwards.
//
// Source: https://github.com/deepseek-ai/DeepEP/issues/703
struct ReadyBeforeFence : MiniQueue {
  using MiniQueue::MiniQueue;
  void publish(Index base, Index end) override {
    while (m.compare_exchange(Relaxed{}, &words.ready, base, end) != base) m.spin(Site::user);
    m.fence(AcqRelGpu{});
  }
};

TEST(Museum, ReadyBeforeFenceIsFound) {
  expect_found({FindingKind::race}, {}, two_blocks<ReadyBeforeFence>);
}
TEST(Museum, ReadyBeforeFenceIsFoundNoMore) {
  expect_passes({}, two_blocks<MiniQueue>, two_blocks<ShippedQueue>);
}

// The ready index is read without acquire before ringing for everything below it: the ringer's
// fence then covers its own WQEs, not those that it rings for.
//
// Source: https://github.com/openucx/ucx/issues/11539
struct ReadyWithoutAcquire : MiniQueue {
  using MiniQueue::MiniQueue;
  Index ready_end() override { return m.load(Relaxed{}, &words.ready); }
};

TEST(Museum, ReadyWithoutAcquireIsFound) {
  expect_found({FindingKind::race}, {}, two_blocks<ReadyWithoutAcquire>);
}
TEST(Museum, ReadyWithoutAcquireIsFoundNoMore) {
  expect_passes({}, two_blocks<MiniQueue>, two_blocks<ShippedQueue>);
}

// Record and doorbell without a lock: the older of two records may come last, and the NIC works
// from outdated ones.
//
// Source: https://github.com/ROCm/mori/issues/14
struct RingsWithoutLock : MiniQueue {
  using MiniQueue::MiniQueue;
  void lock() override {}
  void unlock() override {}
};

TEST(Museum, RingsWithoutLockIsFound) {
  expect_found({FindingKind::invariant}, {}, two_blocks<RingsWithoutLock>);
}
TEST(Museum, RingsWithoutLockIsFoundNoMore) {
  expect_passes({}, two_blocks<MiniQueue>, two_blocks<ShippedQueue>);
}

// A queue is taken for one block's own and locked at block scope, while another block posts to it,
// too.
//
// Source: https://github.com/deepseek-ai/DeepEP/issues/181
struct LockOfOneBlock : MiniQueue {
  using MiniQueue::MiniQueue;
  void lock() override {
    constexpr Order<Kind::acquire, Scope::block> kAcquireBlock;
    while (m.compare_exchange(kAcquireBlock, &words.lock, 0, 1) != 0) m.spin(Site::user);
  }
  void unlock() override { m.store(Order<Kind::release, Scope::block>{}, &words.lock, 0); }
};

TEST(Museum, LockOfOneBlockIsFound) {
  expect_found({FindingKind::race}, {}, two_blocks<LockOfOneBlock>);
}
TEST(Museum, LockOfOneBlockIsFoundNoMore) {
  expect_passes({}, two_blocks<MiniQueue>, two_blocks<ShippedQueue>);
}

// The lock is given back by a plain store.
//
// Source: https://github.com/ROCm/rocm-systems/pull/3339
struct PlainUnlock : MiniQueue {
  using MiniQueue::MiniQueue;
  void unlock() override { m.store_weak(&words.lock, 0); }
};

TEST(Museum, PlainUnlockIsFound) { expect_found({FindingKind::race}, {}, two_blocks<PlainUnlock>); }
TEST(Museum, PlainUnlockIsFoundNoMore) {
  expect_passes({}, two_blocks<MiniQueue>, two_blocks<ShippedQueue>);
}

// Who finds the lock taken leaves the doorbell to its holder, who looks once more after giving it
// back. Without a fence between write and read on either side both may miss the other.
//
// Source: https://github.com/linux-rdma/rdma-core/pull/1062
struct SkippedDoorbell : MiniQueue {
  using MiniQueue::MiniQueue;
  void ring() override {
    do {
      if (m.load(AcquireGpu{}, &words.lock) != 0) return;
      MiniQueue::ring();
    } while (ready_end() > m.load(Relaxed{}, &state.posted));
  }
};

TEST(Museum, SkippedDoorbellIsFound) {
  expect_found({FindingKind::hang}, {}, two_blocks<SkippedDoorbell>);
}
TEST(Museum, SkippedDoorbellIsFoundNoMore) {
  expect_passes({}, two_blocks<MiniQueue>, two_blocks<ShippedQueue>);
}

// Lane 0 rings after a shuffle. Shuffles order no memory: the other lanes' WQEs are not behind its
// fence.
//
// Source: https://github.com/ROCm/rocSHMEM/pull/364 (review: no barrier between WQE and tail)
struct RingsAfterShuffle : MiniQueue {
  using MiniQueue::MiniQueue;
  Index warp_put(Word* remote, Word value) override {
    constexpr LaneMask kLanes = 0b11;
    Index base = m.lane() == 0 ? reserve(2) : 0;
    base = m.shuffle(kLanes, base, 0);
    write_put(base + m.lane(), remote + m.lane(), value);
    m.shuffle(kLanes, base, 0);
    if (m.lane() == 0) {
      publish(base, base + 2);
      ring();
    }
    return base + 2;
  }
};

TEST(Museum, RingsAfterShuffleIsFound) {
  expect_found({FindingKind::race}, {}, warp<RingsAfterShuffle>);
}
TEST(Museum, RingsAfterShuffleIsFoundNoMore) {
  expect_passes({}, warp<MiniQueue>, warp<ShippedQueue>);
}

// Block 1 fills the buffer that block 0 puts; a barrier of each block stands between, and covers
// the wrong block.
//
// Source: https://github.com/ROCm/rocm-systems/issues/11142
struct ByBarrierOfBlock {
  static void give(sim::SimMachine& m, Word* flag) {
    m.sync_block();
    m.store(Relaxed{}, flag, 1);
  }
  static void take(sim::SimMachine& m, const Word* flag) {
    while (m.load(Relaxed{}, flag) == 0) m.spin(Site::user);
    m.sync_block();
  }
};
struct ByRelease {
  static void give(sim::SimMachine& m, Word* flag) { m.store(ReleaseGpu{}, flag, 1); }
  static void take(sim::SimMachine& m, const Word* flag) {
    while (m.load(AcquireGpu{}, flag) == 0) m.spin(Site::user);
  }
};

template <class Queue, class HandOver>
struct PutOfOthersData {
  QueuePlace place;
  Word* source;
  Word* flag;
  Word* data;

  void operator()(SimPe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 1) {
      m.store_weak(source, 42);
      HandOver::give(m, flag);
    } else {
      HandOver::take(m, flag);
      Queue queue(pe, place);
      queue.wait(queue.copy(data, source));
    }
  }
};

template <class Queue, class HandOver>
void others_data(sim::World& world) {
  auto* const source = world.allocate<Word>("source", 1);
  auto* const flag = world.allocate<Word>("flag", 1, sim::RegionKind::other);
  auto* const data = world.allocate<Word>("data", 1);
  world.launch_on(0, {2, 1},
                  PutOfOthersData<Queue, HandOver>{add_words(world), source, flag, data});
  world.check([=](sim::After& after) {
    after.expect(after.value(1, data) == 42, "PE 1 has what block 1 wrote");
  });
}

TEST(Museum, BarrierOfOneBlockIsFound) {
  expect_found({FindingKind::race}, {}, others_data<SoleQueue, ByBarrierOfBlock>);
}
TEST(Museum, BarrierOfOneBlockIsFoundNoMore) {
  expect_passes({}, others_data<SoleQueue, ByRelease>, others_data<ShippedQueue, ByRelease>);
}

// Slots are taken without asking whether the NIC is done with them: deep queues hide it.
//
// Source: https://github.com/deepseek-ai/DeepEP/issues/180
// Source: https://github.com/deepseek-ai/DeepEP/issues/427
struct NoSlotCheck : SoleQueue {
  using SoleQueue::SoleQueue;
  void wait_for_room(Index) override {}
};

TEST(Museum, NoSlotCheckIsFound) {
  expect_found({FindingKind::race, FindingKind::invariant}, {}, puts<NoSlotCheck, 33>);
}
TEST(Museum, NoSlotCheckIsFoundNoMore) {
  expect_passes({}, puts<SoleQueue, 33>, puts<ShippedQueue, 33>);
}

}  // namespace
}  // namespace gdakit::museum
