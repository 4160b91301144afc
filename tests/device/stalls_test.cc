// What a stall does to the waits that come after it, and what ends that.
#include <thread>

#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;
using test::mismatch;
using Clock = std::chrono::steady_clock;

// Signals a peer that never answers, and ignores what the calls return.
struct SignalAndWait {
  std::uint64_t* word;
  int steps;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    for (int i = 1; i <= steps; ++i) {
      pe.signal(word + 1, 1, SignalOp::add, 1);
      pe.wait_until(word, Compare::ge, static_cast<std::uint64_t>(i));
    }
  }
};

Options impatient_options() {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(300);
  return options;
}

// Two PEs; pe_main(context, word) on PE 0 alone.
template <class Main>
void expect_alone(const Options& options, Main&& pe_main) {
  expect_job(
      2, options,
      [&](Context& c) -> Result<void> {
        auto word = c.allocate<std::uint64_t>(2, "flags");
        if (!word) return word.error();
        if (c.my_pe() == 0) {
          if (Result<void> done = pe_main(c, *word); !done) return done;
        }
        return c.barrier();
      },
      test::Kernels::of_one_pe);
}

Result<void> stalled(const Result<void>& ran) {
  if (ran) return mismatch("the stall was not reported");
  const bool said = ran.error().message().find("PE 0 stalled: block 0, thread 0") == 0;
  return said ? Result<void>() : ran;
}

// A thousand waits get nothing, and those behind the first give up when they look at the clock. A
// machine that is busy lets others run for milliseconds at each of them, some 20 s in all; waits of
// a hundredth of the watchdog would take 50 s.
TEST(Stall, EndsAKernelThatLoops) {
  Options options = job_options();
  options.watchdog = std::chrono::seconds(5);
  expect_alone(options, [](Context& c, std::uint64_t* word) -> Result<void> {
    const auto begin = Clock::now();
    auto said = stalled(c.launch(SignalAndWait{word, 1000}, {.blocks = 1, .threads = 1}));
    if (!said) return said;
    const std::chrono::duration<double> took = Clock::now() - begin;
    return took.count() < 30 ? Result<void>()
                             : mismatch("the kernel took " + std::to_string(took.count()) + " s");
  });
}

// All threads wait when the first of them stalls.
TEST(Stall, EndsTheWaitsOfManyThreads) {
  expect_alone(impatient_options(), [](Context& c, std::uint64_t* word) -> Result<void> {
    const auto begin = Clock::now();
    if (c.launch(SignalAndWait{word, 100}, {.blocks = 4, .threads = 33})) {
      return mismatch("the stall was not reported");
    }
    const std::chrono::duration<double> took = Clock::now() - begin;
    return took.count() < 15 ? Result<void>()
                             : mismatch("the kernel took " + std::to_string(took.count()) + " s");
  });
}

// Only a wait that has lasted as long as the watchdog says is reported.
TEST(Stall, IsForgottenByClearReports) {
  expect_alone(impatient_options(), [](Context& c, std::uint64_t* word) -> Result<void> {
    const LaunchShape one{.blocks = 1, .threads = 1};
    if (auto said = stalled(c.launch(SignalAndWait{word, 3}, one)); !said) return said;
    c.clear_reports();
    return stalled(c.launch(SignalAndWait{word, 3}, one));
  });
}

TEST(Stall, IsForgottenByTheNextLaunchsWaits) {
  expect_alone(impatient_options(), [](Context& c, std::uint64_t* word) -> Result<void> {
    const LaunchShape one{.blocks = 1, .threads = 1};
    if (auto said = stalled(c.launch(SignalAndWait{word, 3}, one)); !said) return said;
    const auto begin = Clock::now();
    if (auto said = stalled(c.launch(SignalAndWait{word, 3}, one)); !said) return said;
    return Clock::now() - begin >= c.options().watchdog
               ? Result<void>()
               : mismatch("the second launch's wait gave up at once");
  });
}

// A wait that breaks a queue, a team or a lock by giving up does not give up at once.
TEST(Stall, LeavesTimeToWhatWouldBreak) {
  EXPECT_EQ(limit_after_stall(1600, Site::signal, 1), 0u);
  EXPECT_EQ(limit_after_stall(1600, Site::message, 1), 0u);
  for (const Site site :
       {Site::queue_room, Site::queue_completion, Site::fetch_slot, Site::team, Site::lock}) {
    EXPECT_EQ(limit_after_stall(1600, site, 1), 100u);
    EXPECT_EQ(limit_after_stall(1600, site, 16), 100u);
  }
  EXPECT_EQ(limit_after_stall(1600, Site::lock, 17), 0u);
  EXPECT_EQ(limit_after_stall(1600, Site::team, 17), 100u);
}

struct Taken {
  std::uint64_t otherwise;  // with another status than wanted
  std::uint64_t late;       // after a sixteenth of the watchdog
};

struct TakeAll {
  Lock* locks;
  std::uint64_t count;
  StatusCode wanted;
  std::uint64_t sixteenth_ns;
  Taken* taken;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint64_t begin = pe.machine().clock_ns();
      if (pe.set_lock(locks + i).code != wanted) ++taken->otherwise;
      if (pe.machine().clock_ns() - begin >= sixteenth_ns) ++taken->late;
    }
  }
};

// PE 1 has them and gives none back.
TEST(Stall, EndsAKernelThatLoopsOverLocks) {
  constexpr std::uint64_t kLocks = 200;
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(1600);
  expect_job(
      2, options,
      [](Context& c) -> Result<void> {
        auto locks = c.allocate<Lock>(kLocks, "locks");
        auto taken = c.allocate<Taken>(1);
        if (!locks || !taken) return mismatch("allocate");
        TakeAll take{*locks, kLocks, StatusCode::ok, 100'000'000, *taken};
        const LaunchShape one{.blocks = 1, .threads = 1};
        if (c.my_pe() == 1) {
          if (auto ran = c.launch(take, one); !ran) return ran;
        }
        if (auto met = c.barrier(); !met) return met;
        if (c.my_pe() == 0) {
          take.wanted = StatusCode::stalled;
          if (auto said = stalled(c.launch(take, one)); !said) return said;
        }
        if (auto met = c.barrier(); !met) return met;
        Taken got{};
        if (auto read = c.download(&got, *taken, 1); !read) return read;
        if (got.otherwise != 0) return mismatch(std::to_string(got.otherwise) + " other statuses");
        return got.late < kLocks / 2 ? Result<void>()
                                     : mismatch(std::to_string(got.late) + " late");
      },
      test::Kernels::of_one_pe);
}

// Writes to PE 1 with a key that its NIC refuses, and asks nobody how that went.
struct BreakQueue {
  std::uint64_t* word;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const auto address = reinterpret_cast<std::uint64_t>(word);
    Span remote = remote_span(pe.context(), address, 1, 0);
    remote.key = Be32{remote.key ^ 0x5500};
    const Span local = local_span(pe.context(), address, 0);
    HandleMemo memo;
    const Poster<std::remove_reference_t<decltype(m)>, SharedPublication> poster{m, pe.context(), 0,
                                                                                 memo};
    auto queue = poster.to(1);
    queue.post(LoneThread{}, {}, Batch::last, [&](std::uint64_t at, std::uint8_t fm_ce_se) {
      write_rdma(m, queue.view(), at, format::Opcode::rdma_write, fm_ce_se, remote, local, 8);
    });
  }
};

// The same, and waits for a word that nobody writes.
struct WaitBehindABrokenQueue {
  std::uint64_t* word;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    BreakQueue{word}(pe);
    pe.wait_until(word, Compare::ne, 0);
  }
};

TEST(Stall, ListsTheBrokenQueuesOfAPeThatWaitsForAWord) {
  Options options = impatient_options();
  options.transport = TransportChoice::nic;
  options.watchdog = std::chrono::milliseconds(500);  // by then the NIC has refused
  expect_alone(options, [](Context& c, std::uint64_t* word) -> Result<void> {
    const auto ran = c.launch(WaitBehindABrokenQueue{word + 1}, {.blocks = 1, .threads = 1});
    if (auto said = stalled(ran); !said) return said;
    for (const char* const words :
         {"word at 'flags' (16 bytes) + 8 [", "the queue to PE 1 is broken: remote access error",
          "what this PE sent by the broken queue has not arrived"}) {
      if (ran.error().message().find(words) == std::string::npos) return ran;
    }
    return {};
  });
}

// Until the NIC knows of it.
template <class Known>
Result<void> wait_for(const std::string& what, const Known& known) {
  const auto until = Clock::now() + std::chrono::seconds(20);
  while (!known()) {
    if (Clock::now() > until) return mismatch("the NIC knows of no " + what);
    std::this_thread::yield();
  }
  return {};
}

void expect_once(const std::string& said, const std::string& words) {
  const std::size_t at = said.find(words);
  ASSERT_NE(at, std::string::npos) << said;
  EXPECT_EQ(said.find(words, at + 1), std::string::npos) << said;
}

// At the latest when the Context ends.
TEST(QueueThatBreaks, IsSaidOnceWithoutAnybodyWhoAsks) {
  Options options = job_options();
  options.transport = TransportChoice::nic;
  options.log = LogLevel::warn;
  testing::internal::CaptureStderr();
  expect_alone(options, [](Context& c, std::uint64_t* word) -> Result<void> {
    auto ran = c.launch(BreakQueue{word}, {.blocks = 1, .threads = 1});
    if (!ran) return ran;
    return wait_for("broken queue", [&c] { return !c.backend().broken_queues().empty(); });
  });
  expect_once(testing::internal::GetCapturedStderr(),
              "PE 0: the queue to PE 1 is broken: remote access error");
}

// A put whose doorbell record is taken back, as if there had been none.
struct PutWithoutRecord {
  std::uint64_t* word;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    pe.put_value(word, 1, 1);
    pe.quiet();
    HandleMemo memo;
    const Poster<std::remove_reference_t<decltype(m)>, SharedPublication> poster{m, pe.context(), 0,
                                                                                 memo};
    m.store(order::RelaxedNic{}, poster.to(1).view().record, 0);
  }
};

TEST(QueueWithoutRecord, IsSaidOnceAndWhatTheNicSaysOfItTellsIt) {
  Options options = job_options();
  options.transport = TransportChoice::nic;
  options.nic_handler = NicHandler::gpu;
  options.log = LogLevel::warn;
  testing::internal::CaptureStderr();
  expect_alone(options, [](Context& c, std::uint64_t* word) -> Result<void> {
    // A NIC that looked at the record just before the doorbell took the put from there, and has not
    // seen that anybody rings.
    Result<void> ran;
    auto known = wait_for("queue without record", [&] {
      ran = c.launch(PutWithoutRecord{word}, {.blocks = 1, .threads = 1});
      return !ran || !c.backend().recordless_queues().empty();
    });
    if (!ran || !known) return ran ? known : ran;
    const std::string nic = c.backend().describe_queue(c.backend().recordless_queues().front());
    return nic.find("rung for more than its doorbell record says") == std::string::npos
               ? mismatch(nic)
               : Result<void>();
  });
  expect_once(testing::internal::GetCapturedStderr(),
              "PE 0: queue 0 to PE 1 was rung for WQEs that its doorbell record does not announce");
}

struct BarrierAll {
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.barrier_all();
  }
};

TEST(Stall, BlamesNoNicBetweenDirectPeers) {
  Options options = impatient_options();
  options.transport = TransportChoice::direct;
  std::string report;
  expect_alone(options, [&report](Context& c, std::uint64_t*) -> Result<void> {
    if (!c.transports().has_direct_atomics(1)) return {};  // e.g. on two GPUs without a way
    const Result<void> ran = c.launch(BarrierAll{}, {.blocks = 1, .threads = 1});
    report = ran ? "no report" : ran.error().message();
    return {};
  });
  if (report.empty()) GTEST_SKIP() << "the PEs are no direct peers here";
  EXPECT_NE(report.find("to blame: PE 1, which did not come"), std::string::npos) << report;
  EXPECT_EQ(report.find("or the NIC between"), std::string::npos) << report;
}

// A job that runs in one process says once whose error it is.
TEST(Stall, NamesItsPeOnce) {
  const Result<void> done = run_in_process(2, impatient_options(), [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(2);
    if (!word) return word.error();
    if (c.my_pe() == 1) return c.barrier();
    return c.launch(SignalAndWait{*word, 1}, {.blocks = 1, .threads = 1});
  });
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message().find("PE 0 stalled: block 0"), 0u) << done.error().message();
}

}  // namespace
}  // namespace gdakit
