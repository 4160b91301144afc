// GPUs before Hopper: what the NIC writes comes into order by a flush alone.
#include <gtest/gtest.h>

#include "tests/museum/scenes.h"

namespace gdakit::museum {
namespace {

using sim::FindingKind;

// Before Hopper nothing orders the NIC's writes for the GPU but a read behind them, and the wait
// for a signal does not ask for one.
//
// Source: https://github.com/NVIDIA/nvshmem/issues/75
struct SignalWithoutFlush : SoleQueue {
  using SoleQueue::SoleQueue;
  void await(const Word*, const Word* signal) override {
    while (m.load(AcquireSystem{}, signal) == 0) m.spin(Site::signal);
  }
};

sim::WorldOptions before_hopper() {
  sim::WorldOptions options;
  options.base = sim::ampere();
  return options;
}

TEST(Museum, SignalWithoutFlushIsFound) {
  expect_found({FindingKind::race}, before_hopper(), message<SignalWithoutFlush>);
}
TEST(Museum, SignalWithoutFlushIsFoundNoMore) {
  expect_passes(before_hopper(), message<SoleQueue>, message<ShippedQueue>);
}

// The result of a get is read once its CQE is there, without a flush.
//
// Source: https://github.com/meta-pytorch/torchcomms/issues/4047
struct GetWithoutFlush : SoleQueue {
  using SoleQueue::SoleQueue;
  bool wait_for_result(Index until) override { return wait(until); }
};

TEST(Museum, GetWithoutFlushIsFound) {
  expect_found({FindingKind::race}, before_hopper(), gets<GetWithoutFlush>);
}
TEST(Museum, GetWithoutFlushIsFoundNoMore) {
  expect_passes(before_hopper(), gets<SoleQueue>, gets<ShippedQueue>);
}

// The flush is posted behind the get, but does not wait for it: it flushes too early.
//
// Source: https://github.com/NVIDIA/nvshmem (ibgda_device.cuh: the fence bit of the DUMP)
template <format::FenceMode kFence>
struct GetAndFlush : SoleQueue {
  using SoleQueue::SoleQueue;
  Index get(Word* to, const Word* remote) override {
    const Index base = reserve(2);
    wait_for_room(base + 2);
    write_get(base, to, remote);
    write_flush(base + 1, kFence);
    ring();
    return base + 2;
  }
  bool wait_for_result(Index until) override { return wait(until); }
};

TEST(Museum, FlushOvertakesGetIsFound) {
  expect_found({FindingKind::race}, before_hopper(), gets<GetAndFlush<format::FenceMode::none>>);
}
TEST(Museum, FlushOvertakesGetIsFoundNoMore) {
  expect_passes(before_hopper(), gets<GetAndFlush<format::FenceMode::fence>>, gets<ShippedQueue>);
}

}  // namespace
}  // namespace gdakit::museum
