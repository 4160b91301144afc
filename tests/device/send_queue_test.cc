// The queue protocol against a NIC that checks every WQE it is told of.
#include "device/send_queue.h"

#include <gtest/gtest.h>

#include "core/host/stall.h"
#include "sim/emulator.h"
#include "tests/device/own_queue.h"
#include "tests/device/stub_nic.h"

namespace gdakit {
namespace {

using sim::HostMachine;
using test::OwnQueue;
using test::StubNic;
using test::StubQueue;

// What threads report, and what they share for that.
struct Reports : PeState {
  PeWords words;
};

DeviceContext context_without_heap(Reports& state, std::uint64_t watchdog_ms = 60'000) {
  DeviceContext context{};
  context.n_pes = 1;
  context.state = &state;
  context.words = &state.words;
  context.watchdog_ns = watchdog_ms * 1'000'000;
  return context;
}

template <class Kernel>
void run(LaunchShape shape, std::uint32_t workers, const Kernel& kernel) {
  const Result<void> ran = sim::launch(shape, {.workers = workers, .stacks = {}}, kernel);
  ASSERT_TRUE(ran) << ran.error().message();
}

template <class Publication, class AnyCrew>
Ticket post_one(HostMachine& m, SendQueue<HostMachine, Publication>& queue, const AnyCrew& crew,
                Batch batch = Batch::last) {
  return queue.post(crew, {}, batch, [&](std::uint64_t at, std::uint8_t fm_ce_se) {
    write_nop(m, queue.view(), at, fm_ce_se);
  });
}

struct Load {
  std::uint32_t depth;
  LaunchShape shape;
  std::uint32_t workers;
  std::uint32_t posts;  // of each thread
  bool crews;           // whole warps post together
  bool batches;         // three of four posts say that more is to come
};

void PrintTo(const Load& load, std::ostream* out) {
  *out << "depth " << load.depth << ", " << load.shape.blocks << "x" << load.shape.threads
       << " threads, " << load.posts << " posts" << (load.crews ? ", crews" : "")
       << (load.batches ? ", batches" : "");
}

class SharedQueueUnderLoad : public testing::TestWithParam<Load> {};

TEST_P(SharedQueueUnderLoad, AnnouncesEveryWqeOnceInOrderAndCompletesAll) {
  Load load = GetParam();
  if (kThreadSanitizer)
    load.shape.blocks = (load.shape.blocks + 7) / 8;  // a fiber costs it much time
  StubQueue memory(load.depth);
  StubNic nic({&memory});
  Reports state{};
  const DeviceContext context = context_without_heap(state);
  std::atomic<std::uint64_t> failures = 0;
  run(load.shape, load.workers, [&](HostMachine& m) {
    OwnQueue<HostMachine, SharedPublication> queue(m, context, memory.view(), 0);
    const Crew crew = load.crews ? Crew{m.warp_mask(), m.lane()} : Crew::of_one(m);
    Ticket ticket{};
    for (std::uint32_t i = 0; i < load.posts; ++i) {
      ticket = post_one(m, queue, crew, load.batches && i % 4 != 3 ? Batch::more : Batch::last);
      if (!ticket.status) ++failures;
    }
    if (!queue.wait(ticket.index)) ++failures;
  });
  nic.stop();
  const std::uint64_t posted = std::uint64_t{load.shape.blocks} * load.shape.threads * load.posts;
  EXPECT_EQ(failures, 0u) << describe(state.stall, 0);
  EXPECT_EQ(nic.wrong_wqes(), 0u);
  EXPECT_EQ(nic.backward_records(), 0u);
  EXPECT_GE(nic.taken(0), posted);
  EXPECT_EQ(nic.taken(0), memory.state().reserved);
  if (!load.batches) {
    EXPECT_EQ(nic.taken(0), posted);
  }
  EXPECT_EQ(memory.state().posted, memory.state().reserved);
}

INSTANTIATE_TEST_SUITE_P(
    Loads, SharedQueueUnderLoad,
    testing::Values(
        Load{64, {1, 1}, 1, 1000, false, false}, Load{1024, {1, 32}, 1, 500, false, false},
        Load{1024, {1, 32}, 1, 500, true, false}, Load{64, {4, 32}, 2, 200, false, false},
        Load{64, {4, 32}, 2, 200, true, false}, Load{1024, {64, 32}, 2, 50, false, false},
        Load{1024, {64, 32}, 2, 50, true, true}, Load{1024, {16, 64}, 2, 64, false, true},
        Load{32768, {8, 256}, 2, 64, false, false},  // past 65536
        Load{32768, {8, 256}, 2, 64, true, false},
        Load{64, {2, 1}, 2, 40'000, false, false}));  // 1250 laps, past 65536

// A machine whose thread stands still after each doorbell, while the others go on for a whole lap.
class SlowAfterDoorbell : public HostMachine {
 public:
  explicit SlowAfterDoorbell(const HostMachine& m) : HostMachine(m) {}

  void store_mmio(std::uint64_t* to, std::uint64_t value) {
    HostMachine::store_mmio(to, value);
    for (int i = 0; i < 300; ++i) spin(Site::user);
  }
};

// The slots that a holder of the baton has announced may be posted to again before it has put the
// baton down. Their new posters must not take it for theirs.
TEST(SharedQueue, HasOneHolderEvenWhenItIsSlowerThanALap) {
  StubQueue memory(64);
  StubNic nic({&memory});
  Reports state{};
  const DeviceContext context = context_without_heap(state);
  std::atomic<std::uint64_t> failures = 0;
  run({2, 64}, 2, [&](HostMachine& fast) {
    SlowAfterDoorbell m(fast);
    OwnQueue<SlowAfterDoorbell, SharedPublication> queue(m, context, memory.view(), 0);
    Ticket ticket{};
    for (int i = 0; i < 100; ++i) {
      ticket = queue.post(LoneThread{}, {}, Batch::last, [&](std::uint64_t at, std::uint8_t fm) {
        write_nop(m, queue.view(), at, fm);
      });
    }
    if (!ticket.status || !queue.wait(ticket.index)) ++failures;
  });
  nic.stop();
  EXPECT_EQ(failures, 0u) << describe(state.stall, 0);
  EXPECT_EQ(nic.wrong_wqes(), 0u);
  EXPECT_EQ(nic.backward_records(), 0u);
  EXPECT_EQ(nic.taken(0), 12'800u);
}

TEST(ExclusiveQueue, PostsInOrderWithoutAnAtomic) {
  StubQueue memory(64, Sharing::exclusive);
  StubNic nic({&memory});
  Reports state{};
  const DeviceContext context = context_without_heap(state);
  run({1, 1}, 1, [&](HostMachine& m) {
    OwnQueue<HostMachine, ExclusivePublication> queue(m, context, memory.view(), 0);
    Ticket ticket{};
    for (int i = 0; i < 70'000; ++i) {
      ticket = post_one(m, queue, LoneThread{}, i % 3 == 0 ? Batch::more : Batch::last);
    }
    EXPECT_TRUE(queue.wait(ticket.index));
  });
  nic.stop();
  EXPECT_EQ(nic.taken(0), 70'000u);
  EXPECT_EQ(nic.wrong_wqes(), 0u);
}

// A handle is told of an error by its own wait, and by what stands in the queue when it begins.
TEST(ExclusiveQueue, RefusesBatchesOnceAWaitHasStalled) {
  StubQueue memory(64, Sharing::exclusive);
  Reports state{};
  const DeviceContext context = context_without_heap(state, 30);
  run({1, 1}, 1, [&](HostMachine& m) {
    OwnQueue<HostMachine, ExclusivePublication> queue(m, context, memory.view(), 0);
    const Ticket ticket = post_one(m, queue, LoneThread{});
    EXPECT_EQ(queue.wait(ticket.index).code, StatusCode::stalled);
    EXPECT_EQ(post_one(m, queue, LoneThread{}, Batch::more).status.code, StatusCode::stalled);
    OwnQueue<HostMachine, ExclusivePublication> fresh(m, context, memory.view(), 0);
    EXPECT_EQ(post_one(m, fresh, LoneThread{}, Batch::more).status.code, StatusCode::stalled);
  });
  EXPECT_EQ(memory.state().reserved, 1u);
}

TEST(SendQueue, LeavesTheDoorbellOfABatchToItsLastPost) {
  StubQueue memory(64);
  Reports state{};
  const DeviceContext context = context_without_heap(state);
  run({1, 1}, 1, [&](HostMachine& m) {
    OwnQueue<HostMachine, SharedPublication> queue(m, context, memory.view(), 0);
    post_one(m, queue, LoneThread{}, Batch::more);
    post_one(m, queue, LoneThread{}, Batch::more);
    EXPECT_EQ(memory.record(), 0u);
    post_one(m, queue, LoneThread{}, Batch::last);
    EXPECT_EQ(memory.record(), 3u);
    EXPECT_EQ(memory.doorbell(), format::doorbell_value(3, StubQueue::kQpn));
  });
  EXPECT_EQ(memory.control_at(1).completion(), format::Completion::on_error);
  EXPECT_EQ(memory.control_at(2).completion(), format::Completion::always);
}

TEST(SendQueue, ClosesAnOpenBatchWhenItIsWaitedFor) {
  StubQueue memory(64);
  StubNic nic({&memory});
  Reports state{};
  const DeviceContext context = context_without_heap(state);
  run({1, 1}, 1, [&](HostMachine& m) {
    OwnQueue<HostMachine, SharedPublication> queue(m, context, memory.view(), 0);
    const Ticket ticket = post_one(m, queue, LoneThread{}, Batch::more);
    EXPECT_LT(poll_completion(m, memory.view()), ticket.index);
    EXPECT_TRUE(queue.wait(ticket.index));
  });
  nic.stop();
  EXPECT_EQ(nic.taken(0), 2u);  // the post and the NOP that closed it
}

TEST(SendQueue, PublishesTheProducerIndexForAProxy) {
  StubQueue memory(64, Sharing::shared, Handler::proxy);
  Reports state{};
  const DeviceContext context = context_without_heap(state);
  run({1, 1}, 1, [&](HostMachine& m) {
    OwnQueue<HostMachine, SharedPublication> queue(m, context, memory.view(), 0);
    post_one(m, queue, LoneThread{});
    post_one(m, queue, LoneThread{});
  });
  EXPECT_EQ(memory.proxy_index(), 2u);
  EXPECT_EQ(memory.record(), 0u);
  EXPECT_EQ(memory.doorbell(), 0u);
}

TEST(SendQueue, KeepsTheFirstErrorAndRefusesLaterPosts) {
  StubQueue memory(64);
  Reports state{};
  const DeviceContext context = context_without_heap(state);
  run({1, 1}, 1, [&](HostMachine& m) {
    OwnQueue<HostMachine, SharedPublication> queue(m, context, memory.view(), 0);
    const Ticket ticket = post_one(m, queue, LoneThread{});
    memory.fail(0, format::Syndrome::remote_access);
    const Status status = queue.wait(ticket.index);
    EXPECT_EQ(status.code, StatusCode::queue_error);
    EXPECT_EQ(status.syndrome, format::Syndrome::remote_access);
    memory.fail(1, format::Syndrome::flushed);
    const Ticket refused = post_one(m, queue, LoneThread{});
    EXPECT_EQ(refused.status.code, StatusCode::queue_error);
    EXPECT_EQ(refused.status.syndrome, format::Syndrome::remote_access);
  });
  EXPECT_EQ(memory.record(), 1u);  // the NIC hears of nothing more
  EXPECT_EQ(QueueError{memory.state().error}.wqe_index(), 0u);
}

TEST(SendQueue, ReportsAStallOfAFullQueueAndLetsTheOthersGo) {
  StubQueue memory(64);
  Reports state{};
  const DeviceContext context = context_without_heap(state, 50);
  std::atomic<int> stalled = 0;
  run({2, 32}, 1, [&](HostMachine& m) {
    OwnQueue<HostMachine, SharedPublication> queue(m, context, memory.view(), 0);
    for (int i = 0; i <= 64; ++i) {  // more than the queue holds
      if (post_one(m, queue, LoneThread{}).status.code == StatusCode::stalled) {
        ++stalled;
        return;
      }
    }
  });
  EXPECT_EQ(stalled, 64);
  EXPECT_TRUE(is_complete_report(state.stall.state));
  EXPECT_EQ(state.stall.site, Site::queue_room);
  EXPECT_EQ(state.stall.completed, 0u);
  EXPECT_EQ(state.stall.posted, 64u);
  EXPECT_GT(state.stall.reserved, 64u);
}

// A machine that knows whether its thread has looked at the CQE.
class SeesLooksAtTheCqe : public HostMachine {
 public:
  SeesLooksAtTheCqe(const HostMachine& m, const QueueView& view)
      : HostMachine(m), tail_(&view.cqe[kCqeTailWord]) {}

  template <class Order, class T>
  T load(Order order, const T* from) {
    if (static_cast<const void*>(from) == tail_) looked = true;
    return HostMachine::load(order, from);
  }

  bool looked = false;

 private:
  const void* tail_;
};

TEST(SendQueue, LetsTheNextInLineForRoomAloneLookAtTheCqe) {
  StubQueue memory(64);
  Reports state{};
  const DeviceContext context = context_without_heap(state, 50);
  std::atomic<int> looked = 0;
  std::atomic<int> refused = 0;
  run({3, 64}, 1, [&](HostMachine& bare) {
    SeesLooksAtTheCqe m(bare, memory.view());
    OwnQueue<SeesLooksAtTheCqe, SharedPublication> queue(m, context, memory.view(), 0);
    const Ticket ticket =
        queue.post(LoneThread{}, {}, Batch::last,
                   [&](std::uint64_t at, std::uint8_t fm) { write_nop(m, queue.view(), at, fm); });
    if (!ticket.status) ++refused;
    if (m.looked) ++looked;
  });
  EXPECT_EQ(refused, 128);  // 64 posts fill the queue
  EXPECT_EQ(looked, 1);
}

TEST(SendQueue, ReportsAStallOfACompletionThatNeverComes) {
  StubQueue memory(64);
  Reports state{};
  const DeviceContext context = context_without_heap(state, 30);
  run({1, 1}, 1, [&](HostMachine& m) {
    OwnQueue<HostMachine, SharedPublication> queue(m, context, memory.view(), 7);
    const Ticket ticket = post_one(m, queue, LoneThread{});
    EXPECT_EQ(queue.wait(ticket.index).code, StatusCode::stalled);
  });
  EXPECT_EQ(state.stall.site, Site::queue_completion);
  EXPECT_EQ(state.stall.queue, 7u);
  EXPECT_EQ(state.stall.target, 1u);
  EXPECT_EQ(state.stall.doorbell_record, 1u);
  EXPECT_GE(state.stall.waited_ns, 30'000'000u);
}

TEST(WidenCounter, FollowsTheCounterAcrossItsWrapAndIgnoresOldOnes) {
  EXPECT_EQ(widen_counter(0, 0, 64), 0u);
  EXPECT_EQ(widen_counter(0, 64, 64), 64u);
  EXPECT_EQ(widen_counter(65535, 0, 64), 65536u);
  EXPECT_EQ(widen_counter(65536 + 10, 5, 64), 65546u);  // older than what was seen
  EXPECT_EQ(widen_counter(1'000'000, static_cast<std::uint16_t>(1'032'768), 32768), 1'032'768u);
}

}  // namespace
}  // namespace gdakit
