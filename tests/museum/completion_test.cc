// What the CQE says, and what it does not.
#include "device/completion.h"

#include <gtest/gtest.h>

#include "device/wqe_writer.h"
#include "tests/museum/scenes.h"

namespace gdakit::museum {
namespace {

using sim::FindingKind;

format::CqeTail tail_of(std::uint64_t raw) { return format::CqeTail{raw}; }

// The CQE is polled by loads that order nothing, and what the NIC brought is read behind it.
//
// Source: https://github.com/ROCm/rocm-systems/pull/5635 (review: order of completion and result)
struct CompletionWithoutAcquire : SoleQueue {
  using SoleQueue::SoleQueue;
  Index completed() override {
    const format::CqeTail tail = tail_of(m.load(Relaxed{}, &queue.cqe[kCqeTailWord]));
    if (tail.opcode() == format::CqeOpcode::invalid) return 0;
    m.store(Relaxed{}, &state.completed, tail.wqe_counter() + 1u);
    return tail.wqe_counter() + 1u;
  }
};

TEST(Museum, CompletionWithoutAcquireIsFound) {
  expect_found({FindingKind::race}, {}, gets<CompletionWithoutAcquire>);
}
TEST(Museum, CompletionWithoutAcquireIsFoundNoMore) {
  expect_passes({}, gets<SoleQueue>, gets<ShippedQueue>);
}

// Whoever sees the CQE tells the others by an index that orders nothing: they read their results
// without ever having seen the CQE.
//
// Source: https://github.com/ROCm/mori/pull/607
struct DrainedForOthers : MiniQueue {
  using MiniQueue::MiniQueue;
  Index completed() override {
    const Index seen = m.load(Relaxed{}, &state.completed);
    const format::CqeTail tail = tail_of(m.load(AcquireSystem{}, &queue.cqe[kCqeTailWord]));
    if (tail.opcode() == format::CqeOpcode::invalid) return seen;
    const auto count = static_cast<std::uint16_t>(tail.wqe_counter() + 1);
    const Index done = widen_counter(seen, count, queue.depth);
    m.fetch_max(Relaxed{}, &state.completed, done);
    return done;
  }
};

TEST(Museum, DrainedForOthersIsFound) {
  expect_found({FindingKind::race}, {}, gets<DrainedForOthers, 1, 2>);
}
TEST(Museum, DrainedForOthersIsFoundNoMore) {
  expect_passes({}, gets<MiniQueue, 1, 2>, gets<ShippedQueue, 1, 2>);
}

// An error CQE counts like any other: the put that failed is reported as done.
//
// Source: https://github.com/deepseek-ai/DeepEP/issues/558
// Source: https://github.com/meta-pytorch/torchcomms/issues/3800
struct ErrorCqeIgnored : SoleQueue {
  using SoleQueue::SoleQueue;
  Index completed() override {
    const Index seen = m.load(AcquireGpu{}, &state.completed);
    const format::CqeTail tail = tail_of(m.load(AcquireSystem{}, &queue.cqe[kCqeTailWord]));
    if (tail.opcode() == format::CqeOpcode::invalid) return seen;
    const auto count = static_cast<std::uint16_t>(tail.wqe_counter() + 1);
    return widen_counter(seen, count, queue.depth);
  }
};

// The error flag is read before the counter, not behind it: a CQE that becomes an error in between
// is taken for success.
//
// Source: https://github.com/ROCm/rocSHMEM/pull/389 (review)
struct ErrorReadTooEarly : SoleQueue {
  using SoleQueue::SoleQueue;
  Index completed() override {
    const format::CqeTail before = tail_of(m.load(AcquireSystem{}, &queue.cqe[kCqeTailWord]));
    const format::CqeTail tail = tail_of(m.load(AcquireSystem{}, &queue.cqe[kCqeTailWord]));
    if (is_error(before.opcode())) m.store(Relaxed{}, &state.error, QueueError::kBroken);
    if (tail.opcode() == format::CqeOpcode::invalid || is_error(before.opcode())) return 0;
    return tail.wqe_counter() + 1u;
  }
};

// PE 0 puts with a key that PE 1 does not know.
template <class Queue>
struct FailingPut {
  QueuePlace place;
  const sim::Witness* witness;
  Word* data;

  void operator()(SimPe& pe) const {
    Queue queue(pe, place);
    witness->expect(!queue.wait(queue.put(data, 40)), "the wait says that the put failed");
  }
};

template <class Queue>
void failing_put(sim::World& world) {
  auto* const data = world.allocate<Word>("data", 1);
  world.launch_on(0, {1, 1}, FailingPut<Queue>{add_words(world), world.witness(), data});
}

sim::WorldOptions bad_keys() {
  sim::WorldOptions options;
  options.bad_rkeys_of = 1;
  options.expect_quiet = false;  // the queue breaks
  return options;
}

TEST(Museum, ErrorCqeIgnoredIsFound) {
  expect_found({FindingKind::invariant}, bad_keys(), failing_put<ErrorCqeIgnored>);
}
TEST(Museum, ErrorCqeIgnoredIsFoundNoMore) {
  expect_passes(bad_keys(), failing_put<SoleQueue>, failing_put<ShippedQueue>);
}
TEST(Museum, ErrorReadTooEarlyIsFound) {
  expect_found({FindingKind::invariant}, bad_keys(), failing_put<ErrorReadTooEarly>);
}
TEST(Museum, ErrorReadTooEarlyIsFoundNoMore) {
  expect_passes(bad_keys(), failing_put<SoleQueue>, failing_put<ShippedQueue>);
}

// The counter of a CQE that no NIC has written yet, 0xffff, is taken for that of a completed WQE.
// It goes well as long as a queue starts at index 0.
//
// Source: https://github.com/deepseek-ai/DeepEP/pull/371
struct InitialCqeCounts : SoleQueue {
  using SoleQueue::SoleQueue;
  Index completed() override {
    const Index seen = m.load(AcquireGpu{}, &state.completed);
    const format::CqeTail tail = tail_of(m.load(AcquireSystem{}, &queue.cqe[kCqeTailWord]));
    const auto count = static_cast<std::uint16_t>(tail.wqe_counter() + 1);
    const Index done = widen_counter(seen, count, queue.depth);
    if (done != seen) m.fetch_max(AcqRelGpu{}, &state.completed, done);
    return done;
  }
};

sim::WorldOptions starting_at(Index start) {
  sim::WorldOptions options;
  options.start_index = start;
  return options;
}

TEST(Museum, InitialCqeCountsIsFound) {
  expect_found({FindingKind::race}, starting_at(65534), gets<InitialCqeCounts>);
}
TEST(Museum, InitialCqeCountsIsFoundNoMore) {
  expect_passes(starting_at(65534), gets<SoleQueue>, gets<ShippedQueue>);
}

// The counter and the opcode are two loads: the first may still see the CQE as it was made, 0xffff,
// and the second a valid one.
//
// Source: https://github.com/NVIDIA-DOCA/gpunetio (doca_gpunetio_dev_verbs_cq.cuh: one 32-bit load)
struct TornCqe : SoleQueue {
  using SoleQueue::SoleQueue;
  Index completed() override {
    const Index seen = m.load(AcquireGpu{}, &state.completed);
    const auto* const tail = reinterpret_cast<const std::uint16_t*>(&queue.cqe[kCqeTailWord]);
    const std::uint16_t counter = byte_swap(m.load(AcquireSystem{}, tail + 2));
    const auto owner = static_cast<std::uint8_t>(m.load(AcquireSystem{}, tail + 3) >> 8);
    if (format::cqe_opcode(owner) == format::CqeOpcode::invalid) return seen;
    const Index done = widen_counter(seen, static_cast<std::uint16_t>(counter + 1), queue.depth);
    if (done != seen) m.fetch_max(AcqRelGpu{}, &state.completed, done);
    return done;
  }
};

TEST(Museum, TornCqeIsFound) {
  expect_found({FindingKind::race}, starting_at(65533), gets<TornCqe, 3>);
}
TEST(Museum, TornCqeIsFoundNoMore) {
  expect_passes(starting_at(65533), gets<SoleQueue, 3>, gets<ShippedQueue, 3>);
}

// A collapsed CQ is asked for the index of a WQE where it wants the count of all up to it: the wait
// ends one completion early.
//
// Source: https://github.com/NVIDIA-DOCA/gpunetio (examples, write_lat_kernel.cu)
struct IndexForCount : SoleQueue {
  using SoleQueue::SoleQueue;
  bool wait(Index until) override { return SoleQueue::wait(until - 1); }
};

TEST(Museum, IndexForCountIsFound) { expect_found({FindingKind::race}, {}, gets<IndexForCount>); }
TEST(Museum, IndexForCountIsFoundNoMore) { expect_passes({}, gets<SoleQueue>, gets<ShippedQueue>); }

// A CQE counter of 16 bits is widened by any distance up to 65535: an old CQE, read beside a newer
// index, looks like 65535 completions more, and every later wait returns at once.
//
// Source: https://github.com/ROCm/mori/pull/431
struct WindowOf65536 : MiniQueue {
  using MiniQueue::MiniQueue;
  Index completed() override {
    const format::CqeTail tail = tail_of(m.load(AcquireSystem{}, &queue.cqe[kCqeTailWord]));
    const Index seen = m.load(AcquireGpu{}, &state.completed);
    if (tail.opcode() == format::CqeOpcode::invalid) return seen;
    const auto done = static_cast<std::uint16_t>(tail.wqe_counter() + 1);
    const auto distance = static_cast<std::uint16_t>(done - seen);
    if (distance != 0) m.fetch_max(AcqRelGpu{}, &state.completed, seen + distance);
    return seen + distance;
  }
};

TEST(Museum, WindowOf65536IsFound) {
  expect_found({FindingKind::invariant}, {}, two_blocks<WindowOf65536>);
}
TEST(Museum, WindowOf65536IsFoundNoMore) {
  expect_passes({}, two_blocks<MiniQueue>, two_blocks<ShippedQueue>);
}

// A CQE is matched with a WQE by the slot it names. One of an earlier lap of the ring names the
// same slot.
//
// Source: https://github.com/ROCm/rocm-xio/pull/100
struct StaleCqe : SoleQueue {
  using SoleQueue::SoleQueue;
  bool wait(Index until) override {
    const auto slot = static_cast<std::uint32_t>(until - 1) & (queue.depth - 1);
    for (;;) {
      const format::CqeTail tail = tail_of(m.load(AcquireSystem{}, &queue.cqe[kCqeTailWord]));
      const bool valid = tail.opcode() != format::CqeOpcode::invalid;
      if (valid && (tail.wqe_counter() & (queue.depth - 1)) == slot) return true;
      m.spin(Site::queue_completion);
    }
  }
};

// A get, puts for the rest of the lap, and a get into the first one's slot.
template <class Queue>
struct LapOfGets {
  QueuePlace place;
  const sim::Witness* witness;
  Word* source;
  Word* result;

  void operator()(SimPe& pe) const {
    Queue queue(pe, place);
    queue.wait_for_result(queue.get(result, source));
    queue.put_quietly(source, 40, pe.context().queues[place.peer].depth - 1);
    queue.wait_for_result(queue.get(result + 1, source));
    witness->expect(pe.machine().load_weak(result + 1) == 40, "the second result is there");
  }
};

template <class Queue>
void lap_of_gets(sim::World& world) {
  auto* const source = world.allocate<Word>("source", 1);
  auto* const result = world.allocate<Word>("result", 2);
  world.launch_on(0, {1, 1}, LapOfGets<Queue>{add_words(world), world.witness(), source, result});
}

TEST(Museum, StaleCqeIsFound) { expect_found({FindingKind::race}, {}, lap_of_gets<StaleCqe>); }
TEST(Museum, StaleCqeIsFoundNoMore) {
  expect_passes({}, lap_of_gets<SoleQueue>, lap_of_gets<ShippedQueue>);
}

// Threads that fetch at the same time take their results from one buffer of the queue.
//
// Source: https://github.com/ROCm/rocSHMEM/pull/364 (review: index of the atomics' buffer)
struct SharedResultSlot : MiniQueue {
  using MiniQueue::MiniQueue;
  Index get(Word* to, const Word* remote) override {
    to_ = to;
    const Span result{reinterpret_cast<std::uint64_t>(slot_), sizeof *slot_, queue.fetch_lkey};
    return post([&](Index at) {
      write_rdma(m, queue, at, format::Opcode::rdma_read, kSignalled, span(remote), result,
                 sizeof *slot_);
    });
  }
  bool wait_for_result(Index until) override {
    if (!wait(until)) return false;
    m.store_weak(to_, m.load_weak(slot_));
    return true;
  }

 private:
  const Word* slot_ = &queue.fetch_slots[0].value;
  Word* to_ = nullptr;
};

TEST(Museum, SharedResultSlotIsFound) {
  expect_found({FindingKind::race, FindingKind::invariant}, {}, gets<SharedResultSlot, 1, 2>);
}
TEST(Museum, SharedResultSlotIsFoundNoMore) {
  expect_passes({}, gets<MiniQueue, 1, 2>, gets<ShippedQueue, 1, 2>);
}

}  // namespace
}  // namespace gdakit::museum
