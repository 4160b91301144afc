// Kinds of queues, full queues, wrapped counters, and what happens when the NIC fails or stalls.
#include <thread>

#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;
using test::mismatch;
using test::same;

struct Pressure {
  std::uint32_t depth;
  std::uint32_t queues;
  LaunchShape shape;
  std::uint32_t puts;
  Batch batch;
};

void PrintTo(const Pressure& p, std::ostream* out) {
  *out << "depth " << p.depth << ", " << p.queues << " queues, " << p.shape.blocks << "x"
       << p.shape.threads << " threads, " << p.puts << " puts";
}

class Queues : public testing::TestWithParam<Pressure> {};

// Every thread writes its own word again and again; the last value must stand there.
TEST_P(Queues, KeepEachThreadsPutsInOrderUnderPressure) {
  Pressure p = GetParam();
  if (kThreadSanitizer) p.shape.blocks = (p.shape.blocks + 7) / 8;  // a fiber costs it much time
  Options options = job_options();
  options.queue_depth = p.depth;
  options.queues_per_peer = p.queues;
  options.emulator_workers = 2;
  expect_job(2, options, [&](Context& c) -> Result<void> {
    const std::size_t threads = std::size_t{p.shape.blocks} * p.shape.threads;
    auto words = c.allocate<std::uint32_t>(threads);
    if (!words) return words.error();
    Result<void> ran = c.launch(
        [&](auto& pe) {
          auto& m = pe.machine();
          const std::size_t me = m.block_index() * m.block_threads() + m.thread_index();
          for (std::uint32_t i = 1; i <= p.puts; ++i) {
            pe.put_value(*words + me, i, 1 - pe.my_pe(), p.batch);
          }
          pe.quiet();
        },
        p.shape);
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    for (std::size_t i = 0; i < threads; ++i) {
      if (auto ok = same((*words)[i], p.puts, "word " + std::to_string(i)); !ok) return ok;
    }
    return {};
  });
}

INSTANTIATE_TEST_SUITE_P(
    Loads, Queues,
    testing::Values(Pressure{64, 1, {1, 1}, 70'000, Batch::last},  // laps past 65536
                    Pressure{64, 1, {8, 32}, 50, Batch::last},     // always full
                    Pressure{64, 2, {4, 64}, 50, Batch::more},
                    Pressure{1024, 1, {64, 32}, 20, Batch::last},     // 64 blocks on one queue
                    Pressure{1024, 8, {64, 32}, 20, Batch::more},     // and on many
                    Pressure{32768, 1, {4, 256}, 80, Batch::last}));  // past 65536, deep

// Lanes that come together but differ in queue, kind of operation or batch.
template <class Act>
void expect_every_lane(Act act) {
  expect_job(1, job_options(), [&](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(32);
    if (!words) return words.error();
    Result<void> ran = c.launch(
        [&](auto& pe) {
          act(pe, pe.machine().lane(), *words + pe.machine().lane());
          pe.quiet();
        },
        {.blocks = 1, .threads = 32});
    if (!ran) return ran;
    for (int i = 0; i < 32; ++i) {
      if (auto ok = same((*words)[i], 1u, "word " + std::to_string(i)); !ok) return ok;
    }
    return {};
  });
}

TEST(Crews, KeepLanesApartThatChooseDifferentQueues) {
  expect_every_lane([](auto& pe, std::uint32_t lane, std::uint64_t* word) {
    pe.on_queue(lane % 2).atomic_add(word, 1, 0);
  });
}

TEST(Crews, KeepLanesApartWhoseOperationsDifferInSize) {
  expect_every_lane([](auto& pe, std::uint32_t lane, std::uint64_t* word) {
    if (lane % 2 == 0) {
      pe.atomic_set(word, 1, 0);
    } else {
      pe.atomic_add(word, 1, 0);
    }
  });
}

TEST(Crews, RingIfAnyLaneAsksForIt) {
  for (const std::uint32_t ringing : {0u, 31u}) {
    expect_every_lane([ringing](auto& pe, std::uint32_t lane, std::uint64_t* word) {
      pe.put_value(word, 1, 0, lane == ringing ? Batch::last : Batch::more);
    });
  }
}

TEST(ExclusiveQueues, AreAddedLaterAndServeOneBlockEach) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    constexpr std::uint32_t kBlocks = 3;
    auto words = c.allocate<std::uint64_t>(kBlocks);
    if (!words) return words.error();
    Result<std::uint32_t> first = c.add_queues(kBlocks, Sharing::exclusive);
    if (!first) return first.error();
    std::atomic<int> wrong = 0;
    Result<void> ran = c.launch(
        [&](auto& pe) {
          const std::uint32_t block = pe.machine().block_index();
          auto own = pe.exclusively_on(*first + block);
          if (pe.machine().thread_index() != 0) return;
          for (std::uint64_t i = 1; i <= 2000; ++i) {
            own.put_value(*words + block, i, 1 - pe.my_pe());
          }
          wrong += own.get_value(*words + block, 1 - pe.my_pe()) != 2000;
          wrong += !own.quiet().ok();
        },
        {.blocks = kBlocks, .threads = 32});
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    if (auto ok = same(wrong.load(), 0, "wrong calls"); !ok) return ok;
    return same((*words)[2], 2000u, "word");
  });
}

TEST(ExclusiveQueues, TakeTransfersOfWarpsAndBlocks) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    auto target = c.allocate<int>(5000);
    auto source = c.allocate<int>(5000);
    if (!target || !source) return mismatch("allocate");
    Result<std::uint32_t> first = c.add_queues(1, Sharing::exclusive);
    if (!first) return first.error();
    std::fill(*source, *source + 5000, 3 + c.my_pe());
    Result<void> ran = c.launch(
        [&](auto& pe) {
          pe.exclusively_on(*first).block().put(*target, *source, 5000, 1 - pe.my_pe());
        },
        {.blocks = 1, .threads = 128});
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    return same((*target)[4999], 4 - c.my_pe(), "last element");
  });
}

TEST(ProxyHandler, RingsForTheDevice) {
  for (const bool forced : {true, false}) {
    Options options = job_options();
    BackendLimits limits;
    limits.device_rings = forced;
    if (forced) options.nic_handler = NicHandler::proxy;
    test::LimitedProvider provider(limits);
    const Result<void> done = run_in_process(2, options, provider, [](Context& c) -> Result<void> {
      auto words = c.allocate<std::uint64_t>(64);
      if (!words) return words.error();
      Result<void> ran = c.launch(
          [&](auto& pe) {
            const std::uint32_t me = pe.machine().thread_index();
            for (std::uint64_t i = 1; i <= 200; ++i) pe.put_value(*words + me, i, 1 - pe.my_pe());
            pe.block().barrier_all();
          },
          {.blocks = 1, .threads = 64});
      if (!ran) return ran;
      for (int i = 0; i < 64; ++i) {
        if (auto ok = same((*words)[i], 200u, "word"); !ok) return ok;
      }
      return {};
    });
    EXPECT_TRUE(done) << done.error().message();
  }
}

TEST(ProxyHandler, IsNeededWhereTheDeviceCannotRing) {
  Options options = job_options();
  options.nic_handler = NicHandler::gpu;
  BackendLimits limits;
  limits.device_rings = false;
  test::LimitedProvider provider(limits);
  const Result<void> done =
      run_in_process(1, options, provider, [](Context&) -> Result<void> { return {}; });
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message().find("GDAKIT_NIC_HANDLER=gpu"), std::string::npos);
}

// Posts one hand-made WQE and returns what waiting for it says.
template <class Pe, class Write>
Status post_raw(Pe& pe, int to, Write&& write) {
  Poster<std::remove_reference_t<decltype(pe.machine())>, SharedPublication> poster{
      pe.machine(), pe.context(), 0};
  auto queue = poster.to(to);
  const Ticket ticket = queue.post(
      Crew::alone(pe.machine()), {}, Batch::last,
      [&](std::uint64_t at, std::uint8_t fm_ce_se) { write(queue.view(), at, fm_ce_se); });
  return ticket.status.ok() ? queue.wait(ticket.index) : ticket.status;
}

// What a WQE of these spans ends in.
Status status_of_write(Span (*remote)(const DeviceContext&, std::uint64_t),
                       Span (*local)(const DeviceContext&, std::uint64_t)) {
  Status status;
  expect_job(2, job_options(), [&](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    if (c.my_pe() != 0) return c.barrier();
    Result<void> ran = c.launch(
        [&](auto& pe) {
          const auto address = reinterpret_cast<std::uint64_t>(*word);
          status = post_raw(pe, 1, [&](const QueueView& queue, std::uint64_t at, std::uint8_t fm) {
            write_rdma(pe.machine(), queue, at, format::Opcode::rdma_write, fm,
                       remote(pe.context(), address), local(pe.context(), address), 8);
          });
          const Status again = pe.on_queue(0).put_value(*word, 1, 1);
          if (again.code != StatusCode::queue_error) status.code = StatusCode::ok;
        },
        {.blocks = 1, .threads = 1});
    if (auto met = c.barrier(); !met) return met;
    if (ran) return mismatch("launch did not report the broken queue");
    if (ran.error().message().find("the queue to PE 1 is broken") == std::string::npos) return ran;
    return {};
  });
  return status;
}

Span good_remote(const DeviceContext& c, std::uint64_t address) {
  return remote_span(c, address, 1);
}
Span good_local(const DeviceContext& c, std::uint64_t address) { return local_span(c, address); }

TEST(BrokenQueue, ReportsABadRemoteKey) {
  const Status status = status_of_write(
      [](const DeviceContext& c, std::uint64_t address) {
        Span span = good_remote(c, address);
        span.key = Be32{span.key ^ 0x5500};
        return span;
      },
      good_local);
  EXPECT_EQ(status, (Status{StatusCode::queue_error, format::Syndrome::remote_access, 1}));
}

TEST(BrokenQueue, ReportsARemoteRangeBeyondTheHeap) {
  const Status status = status_of_write(
      [](const DeviceContext& c, std::uint64_t address) {
        Span span = good_remote(c, address);
        span.address += span.bytes - 4;
        return span;
      },
      good_local);
  EXPECT_EQ(status, (Status{StatusCode::queue_error, format::Syndrome::remote_access, 1}));
}

TEST(BrokenQueue, ReportsABadLocalKey) {
  const Status status = status_of_write(good_remote, [](const DeviceContext& c, std::uint64_t a) {
    Span span = good_local(c, a);
    span.key = Be32{span.key ^ 0x5500};
    return span;
  });
  EXPECT_EQ(status, (Status{StatusCode::queue_error, format::Syndrome::local_protection, 1}));
}

TEST(BrokenQueue, ReportsAMalformedWqe) {
  Status status;
  expect_job(1, job_options(), [&](Context& c) -> Result<void> {
    Result<void> ran = c.launch(
        [&](auto& pe) {
          status = post_raw(pe, 0, [&](const QueueView& queue, std::uint64_t at, std::uint8_t fm) {
            store_segment(pe.machine(), queue, at, 0,
                          control_segment(queue, at, static_cast<format::Opcode>(0x7e), 0, 1, fm));
          });
        },
        {.blocks = 1, .threads = 1});
    return ran ? mismatch("launch did not report the broken queue") : Result<void>();
  });
  EXPECT_EQ(status, (Status{StatusCode::queue_error, format::Syndrome::local_qp_operation, 0}));
}

// A NIC that stands still is reported by the watchdog in words, while the kernel ends.
TEST(Watchdog, NamesTheStalledNic) {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(200);
  std::string report;
  expect_job(2, options, [&](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    if (c.my_pe() == 0) {
      if (auto paused = c.backend().pause(); !paused) return paused;
      Result<void> ran = c.launch(
          [&](auto& pe) {
            pe.put_value(*word, 1, 1);
            pe.quiet();
          },
          {.blocks = 2, .threads = 4});
      if (auto resumed = c.backend().resume(); !resumed) return resumed;
      if (ran) return mismatch("the stall was not reported");
      report = ran.error().message();
    }
    return c.barrier();
  });
  EXPECT_NE(report.find("PE 0 stalled"), std::string::npos) << report;
  EXPECT_NE(report.find("for a completion"), std::string::npos) << report;
  EXPECT_NE(report.find("to blame: the NIC"), std::string::npos) << report;
  EXPECT_NE(report.find("posted"), std::string::npos) << report;
}

TEST(Watchdog, NamesThePeThatDidNotComeToTheBarrier) {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(200);
  std::string report;
  expect_job(2, options, [&](Context& c) -> Result<void> {
    if (c.my_pe() == 0) {
      Result<void> ran = c.launch([](auto& pe) { pe.barrier_all(); }, {.blocks = 1, .threads = 1});
      if (ran) return mismatch("the missing PE was not reported");
      report = ran.error().message();
    }
    return c.barrier();
  });
  EXPECT_NE(report.find("to blame: PE 1, which did not come"), std::string::npos) << report;
}

TEST(Watchdog, NamesTheWordThatNobodyWrote) {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(100);
  expect_job(1, options, [&](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    Result<void> ran = c.launch([&](auto& pe) { pe.wait_until(*word, Compare::eq, 42); },
                                {.blocks = 1, .threads = 1});
    if (ran) return mismatch("the stall was not reported");
    const std::string& text = ran.error().message();
    const bool told = text.find("holds 0; waiting for 42") != std::string::npos;
    return told ? Result<void>() : mismatch(text);
  });
}

TEST(Watchdog, NamesTheFirstWordThatIsStillOpen) {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(100);
  expect_job(1, options, [&](Context& c) -> Result<void> {
    auto words = c.allocate<int>(3);
    if (!words) return words.error();
    (*words)[0] = 1;
    (*words)[1] = 7;
    Result<void> ran =
        c.launch([&](auto& pe) { pe.wait_until_all(*words, 3, nullptr, Compare::lt, 5); },
                 {.blocks = 1, .threads = 1});
    if (ran) return mismatch("the stall was not reported");
    const std::string& text = ran.error().message();
    const bool told = text.find("holds 7; waiting for less than 5") != std::string::npos;
    return told ? Result<void>() : mismatch(text);
  });
}

}  // namespace
}  // namespace gdakit
