// Kinds of queues, full queues, wrapped counters, and what happens when the NIC fails or stalls.
#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::all_are;
using test::Checks;
using test::expect_job;
using test::in_turn;
using test::job_options;
using test::mismatch;

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

struct PutUpTo {
  std::uint32_t* words;  // one of each thread
  std::uint32_t puts;
  Batch batch;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::size_t me = m.block_index() * m.block_threads() + m.thread_index();
    for (std::uint32_t i = 1; i <= puts; ++i) {
      pe.put_value(words + me, i, 1 - pe.my_pe(), batch);
    }
    pe.quiet();
  }
};

// Every thread writes its own word again and again; the last value must stand there.
TEST_P(Queues, KeepEachThreadsPutsInOrderUnderPressure) {
  Pressure p = GetParam();
  if (kThreadSanitizer) p.shape.blocks = (p.shape.blocks + 7) / 8;  // a fiber costs it much time
  if (test::small()) p.puts = std::min(p.puts, 100u);
  Options options = job_options();
  options.queue_depth = p.depth;
  options.queues_per_peer = p.queues;
  options.emulator_workers = 2;
  expect_job(2, in_turn(options), [&](Context& c) -> Result<void> {
    const std::size_t threads = std::size_t{p.shape.blocks} * p.shape.threads;
    auto words = c.allocate<std::uint32_t>(threads);
    if (!words) return words.error();
    if (auto ran = c.launch(PutUpTo{*words, p.puts, p.batch}, p.shape); !ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    return all_are(c, *words, threads, "word", [&](std::size_t) { return p.puts; });
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

// Lanes that come together but differ in queue, kind of operation or batch: `act(pe, lane, word)`
// makes 1 of each lane's word.
template <class Act>
struct EveryLane {
  Act act;
  std::uint64_t* words;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const std::uint32_t lane = pe.machine().lane();
    act(pe, lane, words + lane);
    pe.quiet();
  }
};

template <class Act>
void expect_every_lane(Act act) {
  expect_job(1, job_options(), [&](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(32);
    if (!words) return words.error();
    Result<void> ran = c.launch(EveryLane<Act>{act, *words}, {.blocks = 1, .threads = 32});
    if (!ran) return ran;
    return all_are(c, *words, 32, "word", [](std::size_t) { return 1; });
  });
}

struct OnTwoQueues {
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe, std::uint32_t lane, std::uint64_t* word) const {
    pe.on_queue(lane % 2).atomic_add(word, 1, 0);
  }
};

TEST(Crews, KeepLanesApartThatChooseDifferentQueues) { expect_every_lane(OnTwoQueues{}); }

struct OfTwoSizes {
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe, std::uint32_t lane, std::uint64_t* word) const {
    if (lane % 2 == 0) {
      pe.atomic_set(word, 1, 0);
    } else {
      pe.atomic_add(word, 1, 0);
    }
  }
};

TEST(Crews, KeepLanesApartWhoseOperationsDifferInSize) { expect_every_lane(OfTwoSizes{}); }

struct OneLaneRings {
  std::uint32_t ringing;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe, std::uint32_t lane, std::uint64_t* word) const {
    pe.put_value(word, 1, 0, lane == ringing ? Batch::last : Batch::more);
  }
};

TEST(Crews, RingIfAnyLaneAsksForIt) {
  for (const std::uint32_t ringing : {0u, 31u}) expect_every_lane(OneLaneRings{ringing});
}

struct OwnQueueOfEachBlock {
  std::uint32_t first;
  std::uint64_t* words;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const std::uint32_t block = pe.machine().block_index();
    auto own = pe.exclusively_on(first + block);
    if (pe.machine().thread_index() != 0) return;
    for (std::uint64_t i = 1; i <= 2000; ++i) own.put_value(words + block, i, 1 - pe.my_pe());
    expect(pe, own.get_value(words + block, 1 - pe.my_pe()) == 2000);
    expect(pe, own.quiet().ok());
  }
};

TEST(ExclusiveQueues, AreAddedLaterAndServeOneBlockEach) {
  expect_job(2, in_turn(job_options()), [](Context& c) -> Result<void> {
    constexpr std::uint32_t kBlocks = 3;
    auto words = c.allocate<std::uint64_t>(kBlocks);
    auto checks = Checks::make(c);
    if (!words || !checks) return mismatch("allocate");
    Result<std::uint32_t> first = c.add_queues(kBlocks, Sharing::exclusive);
    if (!first) return first.error();
    Result<void> ran = c.launch(OwnQueueOfEachBlock{*first, *words, checks->expect()},
                                {.blocks = kBlocks, .threads = 32});
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    if (auto ok = checks->all_held(2 * kBlocks); !ok) return ok;
    return all_are(c, *words, kBlocks, "word", [](std::size_t) { return 2000; });
  });
}

struct PutByOwningBlock {
  std::uint32_t queue;
  int* target;
  const int* source;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.exclusively_on(queue).block().put(target, source, 5000, 1 - pe.my_pe());
  }
};

TEST(ExclusiveQueues, TakeTransfersOfWarpsAndBlocks) {
  expect_job(2, in_turn(job_options()), [](Context& c) -> Result<void> {
    auto target = c.allocate<int>(5000);
    auto source = c.allocate<int>(5000);
    if (!target || !source) return mismatch("allocate");
    Result<std::uint32_t> queue = c.add_queues(1, Sharing::exclusive);
    if (!queue) return queue.error();
    const int mine = 3 + c.my_pe();
    if (auto ok = test::fill(c, *source, 5000, [&](std::size_t) { return mine; }); !ok) return ok;
    Result<void> ran =
        c.launch(PutByOwningBlock{*queue, *target, *source}, {.blocks = 1, .threads = 128});
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    return all_are(c, *target, 5000, "element", [&](std::size_t) { return 4 - c.my_pe(); });
  });
}

struct PutByEveryThread {
  std::uint64_t* words;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const std::uint32_t me = pe.machine().thread_index();
    for (std::uint64_t i = 1; i <= 200; ++i) pe.put_value(words + me, i, 1 - pe.my_pe());
    pe.block().barrier_all();
  }
};

TEST(ProxyHandler, RingsForTheDevice) {
  for (const bool forced : {true, false}) {
    Options options = job_options();
    BackendLimits limits;
    limits.device_rings = forced;
    options.nic_handler = forced ? NicHandler::proxy : NicHandler::automatic;
    test::LimitedProvider provider(limits);
    expect_job(2, options, provider, [](Context& c) -> Result<void> {
      auto words = c.allocate<std::uint64_t>(64);
      if (!words) return words.error();
      Result<void> ran = c.launch(PutByEveryThread{*words}, {.blocks = 1, .threads = 64});
      if (!ran) return ran;
      return all_are(c, *words, 64, "word", [](std::size_t) { return 200; });
    });
  }
}

TEST(ProxyHandler, IsNeededWhereTheDeviceCannotRing) {
  Options options = job_options();
  options.nic_handler = NicHandler::gpu;
  BackendLimits limits;
  limits.device_rings = false;
  test::LimitedProvider provider(limits);
  const Result<void> done =
      test::run_job(1, options, provider, [](Context&) -> Result<void> { return {}; });
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message().find("GDAKIT_NIC_HANDLER=gpu"), std::string::npos);
}

// Posts one hand-made WQE and returns what waiting for it says.
template <class Pe, class Write>
GDAKIT_DEVICE Status post_raw(Pe& pe, int to, Write&& write) {
  HandleMemo memo;
  Poster<std::remove_reference_t<decltype(pe.machine())>, SharedPublication> poster{
      pe.machine(), pe.context(), 0, memo};
  auto queue = poster.to(to);
  const Ticket ticket = queue.post(
      LoneThread{}, {}, Batch::last,
      [&](std::uint64_t at, std::uint8_t fm_ce_se) { write(queue.view(), at, fm_ce_se); });
  return ticket.status.ok() ? queue.wait(ticket.index) : ticket.status;
}

// Writes a word of PE 1 from itself, with spans that `Spoil` has changed. The status of the write
// goes to `*status`.
template <class Spoil>
struct WriteSpoiled {
  Spoil spoil;
  std::uint64_t* word;
  Status* status;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const auto address = reinterpret_cast<std::uint64_t>(word);
    Span remote = remote_span(pe.context(), address, 1, 0);
    Span local = local_span(pe.context(), address, 0);
    spoil(remote, local);
    *status = post_raw(pe, 1, [&](const QueueView& queue, std::uint64_t at, std::uint8_t fm) {
      write_rdma(pe.machine(), queue, at, format::Opcode::rdma_write, fm, remote, local, 8);
    });
    const Status again = pe.on_queue(0).put_value(word, 1, 1);
    expect(pe, again.code == StatusCode::queue_error);
  }
};

template <class Spoil>
Status status_of_write(Spoil spoil) {
  Status status;
  expect_job(
      2, job_options(),
      [&](Context& c) -> Result<void> {
        auto word = c.allocate<std::uint64_t>(1);
        auto on_device = c.allocate<Status>(1);
        auto checks = Checks::make(c);
        if (!word || !on_device || !checks) return mismatch("allocate");
        if (c.my_pe() != 0) return c.barrier();
        Result<void> ran = c.launch(WriteSpoiled<Spoil>{spoil, *word, *on_device, checks->expect()},
                                    {.blocks = 1, .threads = 1});
        if (auto met = c.barrier(); !met) return met;
        if (ran) return mismatch("launch did not report the broken queue");
        if (ran.error().message().find("the queue to PE 1 is broken") == std::string::npos)
          return ran;
        if (auto got = c.download(&status, *on_device, 1); !got) return got;
        return checks->all_held(1);
      },
      test::Kernels::of_one_pe);
  return status;
}

struct BadRemoteKey {
  GDAKIT_DEVICE void operator()(Span& remote, Span&) const {
    remote.key = Be32{remote.key ^ 0x5500};
  }
};

TEST(BrokenQueue, ReportsABadRemoteKey) {
  EXPECT_EQ(status_of_write(BadRemoteKey{}),
            (Status{StatusCode::queue_error, format::Syndrome::remote_access, 1}));
}

struct BeyondTheHeap {
  GDAKIT_DEVICE void operator()(Span& remote, Span&) const { remote.address += remote.bytes - 4; }
};

TEST(BrokenQueue, ReportsARemoteRangeBeyondTheHeap) {
  EXPECT_EQ(status_of_write(BeyondTheHeap{}),
            (Status{StatusCode::queue_error, format::Syndrome::remote_access, 1}));
}

struct BadLocalKey {
  GDAKIT_DEVICE void operator()(Span&, Span& local) const { local.key = Be32{local.key ^ 0x5500}; }
};

TEST(BrokenQueue, ReportsABadLocalKey) {
  EXPECT_EQ(status_of_write(BadLocalKey{}),
            (Status{StatusCode::queue_error, format::Syndrome::local_protection, 1}));
}

struct PostMalformed {
  Status* status;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    *status = post_raw(pe, 0, [&](const QueueView& queue, std::uint64_t at, std::uint8_t fm) {
      // In a cell of two slots it comes last, as nothing may be flushed behind it: the flushed
      // one's completion would take the place of its own.
      const std::uint64_t slot = fill_cell(pe.machine(), queue, at);
      store_segment(pe.machine(), queue, slot, 0,
                    control_segment(queue, slot, static_cast<format::Opcode>(0x7e), 0, 1, fm));
    });
  }
};

TEST(BrokenQueue, ReportsAMalformedWqe) {
  Status status;
  expect_job(1, job_options(), [&](Context& c) -> Result<void> {
    auto on_device = c.allocate<Status>(1);
    if (!on_device) return on_device.error();
    if (c.launch(PostMalformed{*on_device}, {.blocks = 1, .threads = 1})) {
      return mismatch("launch did not report the broken queue");
    }
    return c.download(&status, *on_device, 1);
  });
  EXPECT_EQ(status, (Status{StatusCode::queue_error, format::Syndrome::local_qp_operation, 0}));
}

struct PutAndQuiet {
  std::uint64_t* word;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.put_value(word, 1, 1);
    pe.quiet();
  }
};

// A NIC that stands still is reported by the watchdog in words, while the kernel ends.
TEST(Watchdog, NamesTheStalledNic) {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(200);
  std::string report;
  expect_job(
      2, options,
      [&](Context& c) -> Result<void> {
        auto word = c.allocate<std::uint64_t>(1);
        if (!word) return word.error();
        if (c.my_pe() == 0) {
          if (auto paused = c.backend().pause(); !paused) return paused;
          Result<void> ran = c.launch(PutAndQuiet{*word}, {.blocks = 2, .threads = 4});
          if (auto resumed = c.backend().resume(); !resumed) return resumed;
          if (ran) return mismatch("the stall was not reported");
          report = ran.error().message();
        }
        return c.barrier();
      },
      test::Kernels::of_one_pe);
  EXPECT_NE(report.find("PE 0 stalled"), std::string::npos) << report;
  EXPECT_NE(report.find("for a completion"), std::string::npos) << report;
  EXPECT_NE(report.find("to blame: the NIC"), std::string::npos) << report;
  EXPECT_NE(report.find("posted"), std::string::npos) << report;
}

// One thread of the group waits for the queue that stands still; all of them hear of it.
struct GroupsQuiet {
  std::uint64_t* word;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const Status stalled{StatusCode::stalled, format::Syndrome::none, 1};
    if (pe.machine().thread_index() == 0) pe.put_value(word, 1, 1);
    expect(pe, pe.block().quiet() == stalled);
    expect(pe, pe.warp().quiet() == stalled);
  }
};

TEST(Watchdog, TellsEveryThreadOfAGroupThatItsQuietHasStalled) {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(200);
  expect_job(
      2, options,
      [&](Context& c) -> Result<void> {
        auto word = c.allocate<std::uint64_t>(1);
        if (!word) return word.error();
        auto checks = test::Checks::make(c);
        if (!checks) return checks.error();
        if (c.my_pe() == 0) {
          if (auto paused = c.backend().pause(); !paused) return paused;
          const Result<void> ran =
              c.launch(GroupsQuiet{*word, checks->expect()}, {.blocks = 1, .threads = 40});
          if (auto resumed = c.backend().resume(); !resumed) return resumed;
          if (ran) return mismatch("the stall was not reported");
          if (auto held = checks->all_held(80); !held) return held;
        }
        return c.barrier();
      },
      test::Kernels::of_one_pe);
}

struct BarrierAll {
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.barrier_all();
  }
};

TEST(Watchdog, NamesThePeThatDidNotComeToTheBarrier) {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(200);
  std::string report;
  expect_job(
      2, options,
      [&](Context& c) -> Result<void> {
        if (c.my_pe() == 0) {
          Result<void> ran = c.launch(BarrierAll{}, {.blocks = 1, .threads = 1});
          if (ran) return mismatch("the missing PE was not reported");
          report = ran.error().message();
        }
        return c.barrier();
      },
      test::Kernels::of_one_pe);
  EXPECT_NE(report.find("to blame: PE 1, which did not come"), std::string::npos) << report;
}

// ok if the launch failed with these words in its error.
Result<void> reported(const Result<void>& ran, const std::string& words) {
  if (ran) return mismatch("the stall was not reported");
  const std::string& text = ran.error().message();
  return text.find(words) == std::string::npos ? mismatch(text) : Result<void>();
}

struct WaitFor42 {
  const std::uint64_t* word;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.wait_until(word, Compare::eq, 42);
  }
};

TEST(Watchdog, NamesTheWordThatNobodyWrote) {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(100);
  expect_job(1, options, [&](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    return reported(c.launch(WaitFor42{*word}, {.blocks = 1, .threads = 1}),
                    "holds 0; waiting for 42");
  });
}

struct WaitForSmallWords {
  const int* words;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.wait_until_all(words, 3, nullptr, Compare::lt, 5);
  }
};

TEST(Watchdog, NamesTheFirstWordThatIsStillOpen) {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(100);
  expect_job(1, options, [&](Context& c) -> Result<void> {
    auto words = c.allocate<int>(3);
    if (!words) return words.error();
    if (auto ok = test::upload(c, *words, {1, 7, 0}); !ok) return ok;
    return reported(c.launch(WaitForSmallWords{*words}, {.blocks = 1, .threads = 1}),
                    "holds 7; waiting for less than 5");
  });
}

}  // namespace
}  // namespace gdakit
