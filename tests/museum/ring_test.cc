// Telling the NIC: fences, record and doorbell of one poster.
#include <gtest/gtest.h>

#include "tests/museum/scenes.h"

namespace gdakit::museum {
namespace {

using sim::FindingKind;

// No fence keeps record and doorbell behind the WQE, and the NIC fetches what stood in the slot
// before. Users ask which fence belongs there, and authors answer that they are not sure.
//
// Source: https://github.com/deepseek-ai/DeepEP/issues/113
struct DoorbellBeforeWqe : SoleQueue {
  using SoleQueue::SoleQueue;
  void announce(Index end) override {
    store_record(end);
    store_doorbell(end);
  }
};

TEST(Museum, DoorbellBeforeWqeIsFound) {
  expect_found({FindingKind::race}, {}, puts<DoorbellBeforeWqe>);
}
TEST(Museum, DoorbellBeforeWqeIsFoundNoMore) {
  expect_passes({}, puts<SoleQueue>, puts<ShippedQueue>);
}

// One fence, between record and doorbell. It seems to cover the WQE as well, but a NIC that looks
// at the record by itself does not wait for the doorbell. Reviewers find missing fences and
// superfluous ones in the same few lines.
//
// Source: https://github.com/openucx/ucx/issues/11539
struct RecordBeforeWqe : SoleQueue {
  using SoleQueue::SoleQueue;
  void announce(Index end) override {
    store_record(end);
    m.fence(ReleaseSystem{});
    store_doorbell(end);
  }
};

TEST(Museum, RecordBeforeWqeIsFound) {
  expect_found({FindingKind::race}, {}, puts<RecordBeforeWqe>);
}
TEST(Museum, RecordBeforeWqeIsFoundNoMore) {
  expect_passes({}, puts<SoleQueue>, puts<ShippedQueue>);
}

// A fence of gpu scope before the doorbell, as suits queues in GPU memory, with the queue in host
// memory: the NIC reads there past the GPU's caches.
//
// Source: https://github.com/deepseek-ai/DeepEP/issues/587
struct GpuFenceForHostQueue : SoleQueue {
  using SoleQueue::SoleQueue;
  void announce(Index end) override {
    m.fence(ReleaseGpu{});
    store_record(end);
    m.fence(ReleaseGpu{});
    store_doorbell(end);
  }
};

sim::WorldOptions queues_in(sim::Owner owner) {
  sim::WorldOptions options;
  options.queue_memory = owner;
  options.base.gpu_scope_reaches_nic = sim::YesNo::yes;
  return options;
}

TEST(Museum, GpuFenceForHostQueueIsFound) {
  expect_found({FindingKind::race}, queues_in(sim::Owner::host), puts<GpuFenceForHostQueue>);
}
TEST(Museum, GpuFenceForHostQueueIsFoundNoMore) {
  expect_passes(queues_in(sim::Owner::host), puts<SoleQueue>, puts<ShippedQueue>);
}
// Where it suffices: with the queue in GPU memory it is no bug.
TEST(Museum, GpuFenceForHostQueueIsRightForGpuQueue) {
  expect_passes(queues_in(sim::Owner::gpu), puts<GpuFenceForHostQueue>, puts<ShippedQueue>);
}

// The doorbell first, the record after it: a NIC that takes the producer index from the record
// finds the old one, and nobody rings again. Libraries that ring early for speed ring a second
// time.
//
// Source: https://github.com/NVIDIA-DOCA/gpunetio (doca_gpunetio_dev_verbs_qp.cuh, submit_db)
struct RecordAfterDoorbell : SoleQueue {
  using SoleQueue::SoleQueue;
  void announce(Index end) override {
    m.fence(ReleaseSystem{});
    store_doorbell(end);
    m.fence(ReleaseSystem{});
    store_record(end);
  }
};

sim::WorldOptions record_rules() {
  sim::WorldOptions options;
  options.base.doorbell_producer = sim::DoorbellProducer::record;
  options.base.record_read = sim::RecordRead::late;
  return options;
}

TEST(Museum, RecordAfterDoorbellIsFound) {
  expect_found({FindingKind::hang}, record_rules(), puts<RecordAfterDoorbell>);
}
TEST(Museum, RecordAfterDoorbellIsFoundNoMore) {
  expect_passes(record_rules(), puts<SoleQueue>, puts<ShippedQueue>);
}

// A doorbell without a record, where doorbells may be dropped: the NIC has nothing to recover from.
//
// Source: https://github.com/linux-rdma/rdma-core/pull/609
struct DoorbellWithoutRecord : SoleQueue {
  using SoleQueue::SoleQueue;
  void announce(Index end) override {
    m.fence(ReleaseSystem{});
    store_doorbell(end);
  }
};

sim::WorldOptions doorbells_get_lost() {
  sim::WorldOptions options;
  options.base.doorbell_loss = sim::DoorbellLoss::lost;
  options.expect_quiet = false;  // it would look at the record
  return options;
}

TEST(Museum, DoorbellWithoutRecordIsFound) {
  expect_found({FindingKind::hang}, doorbells_get_lost(), puts<DoorbellWithoutRecord>);
}
TEST(Museum, DoorbellWithoutRecordIsFoundNoMore) {
  expect_passes(doorbells_get_lost(), puts<SoleQueue>, puts<ShippedQueue>);
}

// A doorbell stored as ordinary memory is: such a store may be merged, repeated or held back.
//
// Source: https://docs.nvidia.com/cuda/parallel-thread-execution/ (section "ld, st": .mmio)
struct DoorbellAsMemory : SoleQueue {
  using SoleQueue::SoleQueue;
  void announce(Index end) override {
    m.fence(ReleaseSystem{});
    store_record(end);
    m.store(ReleaseSystem{}, queue.doorbell, format::doorbell_value(end, queue.qpn_shifted >> 8));
  }
};

TEST(Museum, DoorbellAsMemoryIsFound) {
  expect_found({FindingKind::mmio}, {}, puts<DoorbellAsMemory>);
}
TEST(Museum, DoorbellAsMemoryIsFoundNoMore) {
  expect_passes({}, puts<SoleQueue>, puts<ShippedQueue>);
}

// The lanes of a warp ring in one step, each for its own queue, and the stores are merged into one:
// the other queues' WQEs are never fetched. Here all lanes ring through the first queue's register.
//
// Source: https://github.com/ROCm/mori/pull/428
struct MergedDoorbells : SoleQueue {
  using SoleQueue::SoleQueue;
  void announce(Index end) override {
    m.fence(ReleaseSystem{});
    store_record(end);
    m.fence(ReleaseSystem{});
    m.sync_warp(0b11);  // one step
    m.store_mmio(pe.context().queues[place.peer].doorbell,
                 format::doorbell_value(end, queue.qpn_shifted >> 8));
  }
};

// Each lane puts on its own queue.
template <class Queue>
struct PutOfLane {
  QueuePlace place;
  Word* data;

  void operator()(SimPe& pe) const {
    const std::uint32_t lane = pe.machine().lane();
    Queue queue(pe, {place.words, lane, place.peer});
    queue.wait(queue.put(data + lane, 40 + lane));
  }
};

template <class Queue>
void two_lanes(sim::World& world) {
  auto* const data = world.allocate<Word>("data", 2);
  world.launch_on(0, {1, 2}, PutOfLane<Queue>{add_words(world), data});
  world.check([=](sim::After& after) {
    after.expect(after.value(1, data) == 40 && after.value(1, data + 1) == 41,
                 "PE 1 has the data of both lanes");
  });
}

sim::WorldOptions doorbells_merge() {
  sim::WorldOptions options;
  options.queues = 2;
  options.base.doorbell_merge = sim::DoorbellMerge::merge;
  options.base.record_read = sim::RecordRead::late;
  return options;
}

TEST(Museum, MergedDoorbellsIsFound) {
  expect_found({FindingKind::hang}, doorbells_merge(), two_lanes<MergedDoorbells>);
}
TEST(Museum, MergedDoorbellsIsFoundNoMore) {
  expect_passes(doorbells_merge(), two_lanes<SoleQueue>, two_lanes<ShippedQueue>);
}

// The GPU pushes one producer index on, the proxy thread watches another: no doorbell is ever rung.
//
// Source: https://github.com/deepseek-ai/DeepEP/pull/677
struct ProxyWatchesAnotherIndex : SoleQueue {
  using SoleQueue::SoleQueue;
  void announce(Index end) override { m.store(ReleaseSystem{}, &state.posted, end); }
};

sim::WorldOptions by_proxy() {
  sim::WorldOptions options;
  options.handler = Handler::proxy;
  return options;
}

TEST(Museum, ProxyWatchesAnotherIndexIsFound) {
  expect_found({FindingKind::hang}, by_proxy(), puts<ProxyWatchesAnotherIndex>);
}
TEST(Museum, ProxyWatchesAnotherIndexIsFoundNoMore) {
  expect_passes(by_proxy(), puts<SoleQueue>, puts<ShippedQueue>);
}

}  // namespace
}  // namespace gdakit::museum
