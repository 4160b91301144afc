// WQEs of more than one WQEBB: what indices count.
#include <gtest/gtest.h>

#include "device/atomics.h"
#include "device/wqe_writer.h"
#include "tests/museum/scenes.h"

namespace gdakit::museum {
namespace {

using sim::FindingKind;

// A swap takes a WQE of two WQEBBs, and a CQE names the first of them: behind it stands a NOP of
// one WQEBB, which asks for the CQE in its place.
template <std::uint32_t kNops>
struct SwapQueue : SoleQueue {
  using SoleQueue::SoleQueue;
  Index swap(Word* remote, Word value) {
    const Index base = reserve(2 + kNops);
    wait_for_room(base + 2 + kNops);
    atomics::write_atomic(m, queue, base, kNops == 0 ? kSignalled : kUnsignalled, span(remote),
                          sink_of(queue), {atomics::Op::set, value}, sizeof value);
    if (kNops != 0) write_nop(m, queue, base + 2, kSignalled);
    ring();
    return base + 2 + kNops;
  }
};

// Without the NOP the wait for the second WQEBB never ends.
//
// Source: https://github.com/NVIDIA/nvshmem (ibgda_device.cuh: a NOP behind WQEs of several WQEBBs)
using WaitsForSecondWqebb = SwapQueue<0>;

// Record and doorbell count WQEs, where the NIC counts WQEBBs: the last ones are never fetched.
//
// Source: https://github.com/linux-rdma/rdma-core (providers/mlx5/qp.c: cur_post counts WQEBBs)
struct DoorbellCountsWqes : SwapQueue<1> {
  using SwapQueue<1>::SwapQueue;
  void announce(Index end) override { SoleQueue::announce(end - 1); }
};

struct ShippedSwapQueue : ShippedQueue {
  ShippedSwapQueue(SimPe& of, const QueuePlace& place)
      : ShippedQueue(of, place), pe(of), peer(place.peer) {}
  Index swap(Word* remote, Word value) {
    static_cast<void>(pe.signal(remote, value, SignalOp::set, peer));
    return 0;
  }
  SimPe& pe;
  std::int32_t peer;
};

template <class Queue>
struct Swap {
  QueuePlace place;
  Word* word;

  void operator()(SimPe& pe) const {
    Queue queue(pe, place);
    queue.wait(queue.swap(word, 42));
  }
};

template <class Queue>
void swap(sim::World& world) {
  auto* const word = world.allocate<Word>("word", 1);
  world.launch_on(0, {1, 1}, Swap<Queue>{add_words(world), word});
  world.check([=](sim::After& after) {
    after.expect(after.value(1, word) == 42, "PE 1 has the new value");
  });
}

TEST(Museum, WaitsForSecondWqebbIsFound) {
  expect_found({FindingKind::hang}, {}, swap<WaitsForSecondWqebb>);
}
TEST(Museum, WaitsForSecondWqebbIsFoundNoMore) {
  expect_passes({}, swap<SwapQueue<1>>, swap<ShippedSwapQueue>);
}
TEST(Museum, DoorbellCountsWqesIsFound) {
  expect_found({FindingKind::hang}, {}, swap<DoorbellCountsWqes>);
}
TEST(Museum, DoorbellCountsWqesIsFoundNoMore) {
  expect_passes({}, swap<SwapQueue<1>>, swap<ShippedSwapQueue>);
}

}  // namespace
}  // namespace gdakit::museum
