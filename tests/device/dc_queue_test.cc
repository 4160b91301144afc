// What stands in the slots of a queue of DC, and what its completions say; queues that have no
// doorbell record.
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "core/format/address_vector.h"
#include "device/atomics.h"
#include "sim/emulator.h"
#include "tests/device/own_queue.h"
#include "tests/device/stub_nic.h"

namespace gdakit {
namespace {

using format::Opcode;
using sim::HostMachine;
using test::OwnQueue;
using test::StubQueue;

constexpr format::Segment kAddress[] = {{0x11, 0x12}, {0x21, 0x22}, {0x31, 0x32}};
static_assert(sizeof kAddress == sizeof(format::AvSegment));

constexpr Span kRemote{0x1000, 64, Be32{0x700}};
constexpr Span kLocal{0x2000, 64, Be32{0x800}};

using Queue = OwnQueue<HostMachine, SharedPublication>;

// A queue of DC of 32 slots.
struct DcQueue {
  DcQueue() {
    view.address = kAddress;
    context.n_pes = 1;
    context.state = &state;
    context.words = &words;
  }

  // act(m, queue) by one thread.
  template <class Act>
  void by_thread(const Act& act) {
    const Result<void> ran = sim::launch({1, 1}, {.workers = 1, .stacks = {}}, [&](HostMachine& m) {
      Queue queue(m, context, view, 0);
      act(m, queue);
    });
    ASSERT_TRUE(ran) << ran.error().message();
  }

  std::vector<format::Segment> segments(std::uint64_t slot) const {
    const format::Segment* const at = view.slots + slot * format::kSegmentsPerWqebb;
    return {at, at + format::kSegmentsPerWqebb};
  }
  format::ControlSegment control(std::uint64_t slot) const { return memory.control_at(slot); }
  // Opcode, segments and number of the WQE at a slot.
  void expect_wqe(std::uint64_t slot, Opcode opcode, std::uint32_t ds, bool signalled) const {
    const format::ControlSegment wqe = control(slot);
    EXPECT_EQ(wqe.opcode(), static_cast<std::uint8_t>(opcode)) << "slot " << slot;
    EXPECT_EQ(wqe.ds(), ds) << "slot " << slot;
    EXPECT_EQ(wqe.wqe_index(), slot);
    EXPECT_EQ(wqe.completion() == format::Completion::always, signalled) << "slot " << slot;
  }
  void expect_address(std::uint64_t slot) const {
    const auto there = segments(slot);
    EXPECT_EQ(std::memcmp(&there[1], kAddress, sizeof kAddress), 0) << "slot " << slot;
  }

  StubQueue memory{32};
  QueueView view = memory.view();
  PeState state{};
  PeWords words{};
  DeviceContext context{};
};

bool same(const format::Segment& a, const format::Segment& b) {
  return a.low == b.low && a.high == b.high;
}

TEST(DcQueue, HasControlAndAddressInTheFirstSlotAndTheRestInTheSecond) {
  DcQueue dc;
  dc.by_thread([](HostMachine& m, Queue& queue) {
    const Ticket ticket =
        queue.post(LoneThread{}, {}, Batch::last, [&](std::uint64_t at, std::uint8_t fm_ce_se) {
          write_rdma(m, queue.view(), at, Opcode::rdma_write, fm_ce_se, kRemote, kLocal, 64);
        });
    EXPECT_EQ(ticket.index, 2u);
  });
  dc.expect_wqe(0, Opcode::rdma_write, 6, true);
  dc.expect_address(0);
  const auto second = dc.segments(1);
  EXPECT_TRUE(same(second[0], format::to_segment(format::remote_address(0x1000, Be32{0x700}))));
  EXPECT_TRUE(same(second[1], format::to_segment(format::data(0x2000, Be32{0x800}, 64))));
  EXPECT_EQ(dc.memory.record(), 2u);
}

TEST(DcQueue, TakesTheLongestAtomicInTwoSlotsWithoutANopBehindIt) {
  DcQueue dc;
  const atomics::Request set{atomics::Op::set, 5};
  dc.by_thread([&](HostMachine& m, Queue& queue) {
    const PostShape form = atomics::shape(queue.view(), set.op, 8, PostShape::Tail::none);
    EXPECT_EQ(form.total(1), 1u);
    queue.post(LoneThread{}, form, Batch::last, [&](std::uint64_t at, std::uint8_t fm_ce_se) {
      atomics::write_atomic(m, queue.view(), at, fm_ce_se, kRemote, kLocal, set, 8);
    });
  });
  dc.expect_wqe(0, Opcode::atomic_masked_cs, 8, true);
  dc.expect_address(0);
  const auto second = dc.segments(1);
  EXPECT_TRUE(same(second[0], format::to_segment(format::remote_address(0x1000, Be32{0x700}))));
  EXPECT_TRUE(same(second[3], format::to_segment(format::data(0x2000, Be32{0x800}, 8))));
  EXPECT_EQ(dc.memory.state().reserved, 2u);
}

TEST(DcQueue, HasTwoWqesThatGoToNobodyInACell) {
  DcQueue dc;
  dc.by_thread([](HostMachine&, Queue& queue) {
    EXPECT_EQ(queue.post_nop().index, 2u);
    const Ticket dump = queue.post(LoneThread{}, {0, PostShape::Tail::dump}, Batch::last,
                                   [](std::uint64_t, std::uint8_t) {});
    EXPECT_EQ(dump.index, 4u);
  });
  dc.expect_wqe(0, Opcode::nop, 1, false);
  dc.expect_wqe(1, Opcode::nop, 1, true);
  dc.expect_wqe(2, Opcode::nop, 1, false);
  dc.expect_wqe(3, Opcode::dump, 2, true);
}

TEST(DcQueue, IsDoneWithACellWhenAnyOfItsWqesIs) {
  DcQueue dc;
  dc.by_thread([&](HostMachine& m, Queue& queue) {
    for (int i = 0; i < 3; ++i) queue.post_nop();
    dc.memory.complete(0);  // of a WQE of two slots the first is named
    EXPECT_EQ(poll_completion(m, queue.view()), 2u);
    dc.memory.complete(5);
    EXPECT_EQ(poll_completion(m, queue.view()), 6u);
    EXPECT_TRUE(queue.wait(6).ok());
  });
}

TEST(DcQueue, OfRcAWqeIsDoneForItself) {
  DcQueue rc;
  rc.view.address = nullptr;
  rc.by_thread([&](HostMachine& m, Queue& queue) {
    for (int i = 0; i < 3; ++i) queue.post_nop();
    rc.memory.complete(0);
    EXPECT_EQ(poll_completion(m, queue.view()), 1u);
  });
}

TEST(DcQueue, PostsNoMoreAtOnceThanHalfItsSlots) {
  DcQueue dc;
  dc.by_thread([](HostMachine&, Queue& queue) { EXPECT_EQ(queue.max_post(), 8u); });
  dc.view.address = nullptr;
  dc.by_thread([](HostMachine&, Queue& queue) { EXPECT_EQ(queue.max_post(), 16u); });
}

// Half of the handle's posts go to another peer by another view of the queue.
TEST(DcQueue, IsOneForAllItsPeers) {
  constexpr format::Segment kOther[] = {{1, 1}, {2, 2}, {3, 3}};
  DcQueue dc;
  QueueView other = dc.view;
  other.address = kOther;
  other.peer = 1;
  const QueueView views[] = {dc.view, other};
  dc.context.n_pes = 2;
  dc.by_thread([&](HostMachine& m, Queue&) {
    QueueMemo memo;
    for (std::int32_t i = 0; i < 8; ++i) {
      if (memo.peer != i % 2) remember(m, memo, i % 2, views[i % 2]);
      SendQueue<HostMachine, SharedPublication> queue(m, dc.context, memo, 0);
      const Ticket ticket =
          queue.post(LoneThread{}, {}, Batch::last, [&](std::uint64_t at, std::uint8_t fm_ce_se) {
            write_inline(m, queue.view(), at, fm_ce_se, kRemote, 7, 8);
          });
      EXPECT_EQ(ticket.index, 2u * static_cast<unsigned>(i + 1));
      EXPECT_EQ(ticket.peer, i % 2);
    }
  });
  for (std::uint64_t slot = 0; slot < 16; slot += 2) {
    const auto there = dc.segments(slot);
    EXPECT_EQ(std::memcmp(&there[1], slot % 4 == 0 ? kAddress : kOther, sizeof kAddress), 0);
  }
}

TEST(RecordlessQueue, IsRungForByItsDoorbellAlone) {
  DcQueue queue_of_rc;
  queue_of_rc.view.address = nullptr;
  queue_of_rc.view.recordless = true;
  queue_of_rc.by_thread([](HostMachine&, Queue& queue) {
    for (int i = 0; i < 3; ++i) queue.post_nop();
  });
  EXPECT_EQ(queue_of_rc.memory.record(), 0u);
  EXPECT_EQ(queue_of_rc.memory.doorbell(), format::doorbell_value(3, StubQueue::kQpn));
  EXPECT_EQ(queue_of_rc.memory.state().posted, 3u);
}

}  // namespace
}  // namespace gdakit
