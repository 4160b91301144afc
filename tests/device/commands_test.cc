// What users see of the handlers: the same, whoever writes WQEs and rings.

#include "tests/device/own_queue.h"
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

constexpr NicHandler kHandlers[] = {NicHandler::gpu, NicHandler::proxy, NicHandler::commands};

Options options_for(NicHandler handler) {
  Options options = job_options();
  options.nic_handler = handler;
  options.queue_memory = QueuePlace::automatic;
  return options;
}

// Every kind of operation, by every thread, on a queue of `number`.
struct Everything {
  std::uint64_t* words;  // four of each thread
  std::uint32_t* small;  // one of each thread
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t me = m.block_index() * m.block_threads() + m.thread_index();
    const int peer = 1 - pe.my_pe();
    std::uint64_t* const mine = words + 4 * me;
    for (std::uint64_t i = 1; i <= 20; ++i) {
      pe.put_value(mine, i, peer, Batch::more);
      pe.put_nbi(mine + 1, mine, 1, peer);
      Status status;
      expect(pe, pe.atomic_fetch_add(mine + 2, 1, peer, &status) == i - 1 && status.ok());
      pe.atomic_or(mine + 3, std::uint64_t{1} << i, peer);
      expect(pe, pe.atomic_fetch_add(small + me, 3, peer, &status) == 3 * (i - 1) && status.ok());
      expect(pe, pe.get_value(mine, peer, &status) == i && status.ok());
    }
    expect(pe, pe.quiet().ok());
  }
};

Result<void> do_everything(Context& c) {
  constexpr std::uint32_t kThreads = 2 * 48;
  auto words = c.allocate<std::uint64_t>(4 * kThreads);
  auto small = c.allocate<std::uint32_t>(kThreads);
  auto checks = Checks::make(c);
  if (!words || !small || !checks) return mismatch("allocate");
  auto ran = c.launch(Everything{*words, *small, checks->expect()}, {.blocks = 2, .threads = 48});
  if (!ran) return ran;
  if (auto met = c.barrier(); !met) return met;
  if (auto held = checks->all_held(kThreads * (20 * 3 + 1)); !held) return held;
  return all_are(c, *small, kThreads, "word", [](std::size_t) { return 60; });
}

TEST(CommandHandler, DoesEveryOperationOverAFullRing) {
  for (const bool needs_cst : {false, true}) {
    Options options = options_for(NicHandler::commands);
    options.queue_depth = 64;
    BackendLimits limits;
    limits.needs_cst = needs_cst;
    test::LimitedProvider provider(limits);
    expect_job(2, in_turn(options), provider, do_everything);
  }
}

TEST(CommandHandler, ServesADeviceThatCannotRing) {
  BackendLimits limits;
  limits.device_rings = false;
  test::LimitedProvider provider(limits);
  expect_job(2, in_turn(options_for(NicHandler::commands)), provider, do_everything);
}

struct PutExclusively {
  std::uint64_t* word;
  std::uint32_t queue;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto own = pe.exclusively_on(queue + pe.machine().block_index());
    for (std::uint64_t i = 1; i <= 300; ++i) {
      own.put_value(word + pe.machine().block_index(), i, 1 - pe.my_pe(),
                    i % 3 == 0 ? Batch::last : Batch::more);
    }
    own.quiet();
  }
};

TEST(CommandHandler, ServesQueuesThatAreAddedLater) {
  Options options = options_for(NicHandler::commands);
  options.queue_depth = 64;
  expect_job(2, in_turn(options), [](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(2);
    if (!words) return words.error();
    auto first = c.add_queues(2, Sharing::exclusive);
    if (!first) return first.error();
    auto ran = c.launch(PutExclusively{*words, *first}, {.blocks = 2, .threads = 1});
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    return all_are(c, *words, 2, "word", [](std::size_t) { return 300; });
  });
}

// Writes from `source` to word of PE 1, with a key that was changed by `spoil` on either side.
struct WriteWithKeys {
  std::uint64_t* word;
  std::uint32_t spoil_remote;
  std::uint32_t spoil_local;
  Status* status;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const auto address = reinterpret_cast<std::uint64_t>(word);
    Span remote = remote_span(pe.context(), address, 1, 0);
    Span local = local_span(pe.context(), address, 0);
    remote.key = Be32{remote.key ^ spoil_remote};
    local.key = Be32{local.key ^ spoil_local};
    using M = std::remove_reference_t<decltype(m)>;
    test::OwnQueue<M, SharedPublication> queue(m, pe.context(), pe.context().queues[1], 0);
    for (int i = 0; i < 3; ++i) {  // two that succeed before it
      const bool last = i == 2;
      const Span& to = last ? remote : remote_span(pe.context(), address, 1, 0);
      const Span& from = last ? local : local_span(pe.context(), address, 0);
      const Ticket ticket =
          queue.post(LoneThread{}, {}, Batch::last, [&](std::uint64_t at, std::uint8_t fm_ce_se) {
            write_rdma(m, queue.view(), at, format::Opcode::rdma_write, fm_ce_se, to, from, 8);
          });
      *status = queue.wait(ticket.index);
    }
  }
};

struct Outcome {
  Status status;
  std::string report;  // what the launch says, without the numbers that differ from job to job
};

// "QP 1234" becomes "QP ".
std::string without_numbers_of_queues(std::string text) {
  constexpr std::string_view kName = "QP ";
  for (std::size_t at = text.find(kName); at != std::string::npos; at = text.find(kName, at)) {
    at += kName.size();
    const std::size_t end = text.find_first_not_of("0123456789", at);
    text.erase(at, end == std::string::npos ? end : end - at);
  }
  return text;
}

Outcome outcome_of(NicHandler handler, std::uint32_t spoil_remote, std::uint32_t spoil_local) {
  Outcome outcome;
  expect_job(
      2, options_for(handler),
      [&](Context& c) -> Result<void> {
        auto word = c.allocate<std::uint64_t>(1);
        auto status = c.allocate<Status>(1);
        if (!word || !status) return mismatch("allocate");
        if (c.my_pe() != 0) return c.barrier();
        const WriteWithKeys kernel{*word, spoil_remote, spoil_local, *status};
        const Result<void> ran = c.launch(kernel, {.blocks = 1, .threads = 1});
        if (auto met = c.barrier(); !met) return met;
        if (ran) return mismatch("launch did not report the broken queue");
        outcome.report = ran.error().message();
        return c.download(&outcome.status, *status, 1);
      },
      test::Kernels::of_one_pe);
  outcome.report = without_numbers_of_queues(std::move(outcome.report));
  return outcome;
}

TEST(Handlers, ReportTheSameOfABadKey) {
  constexpr std::uint32_t kSpoilt = 0x5500;
  for (const bool is_remote : {true, false}) {
    const std::uint32_t remote = is_remote ? kSpoilt : 0;
    const Outcome direct = outcome_of(NicHandler::gpu, remote, kSpoilt - remote);
    const auto syndrome =
        is_remote ? format::Syndrome::remote_access : format::Syndrome::local_protection;
    EXPECT_EQ(direct.status, (Status{StatusCode::queue_error, syndrome, 1}));
    EXPECT_NE(direct.report.find("at WQE 2, RDMA_WRITE"), std::string::npos) << direct.report;
    for (const NicHandler handler : kHandlers) {
      const Outcome other = outcome_of(handler, remote, kSpoilt - remote);
      EXPECT_EQ(other.status, direct.status) << nic_handler_name(handler);
      EXPECT_EQ(other.report, direct.report) << nic_handler_name(handler);
    }
  }
}

struct PutOnly {
  std::uint64_t* words;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    for (std::uint64_t i = 0; i < 5; ++i) {
      pe.put_value(words + pe.machine().thread_index(), i, 1 - pe.my_pe());
    }
  }
};

// Nobody completes what was posted; the NIC may even stand still.
TEST(Handlers, EndWhileWorkIsPending) {
  for (const NicHandler handler : kHandlers) {
    for (const bool paused : {true, false}) {
      expect_job(2, in_turn(options_for(handler)), [paused](Context& c) -> Result<void> {
        auto words = c.allocate<std::uint64_t>(8);
        if (!words) return words.error();
        if (paused) {
          if (auto done = c.backend().pause(); !done) return done;
        }
        return c.launch(PutOnly{*words}, {.blocks = 1, .threads = 8});
      });
    }
  }
}

struct PutAndQuiet {
  std::uint64_t* word;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.put_value(word, 1, 1);
    pe.quiet();
  }
};

// The record that the report shows is the one that the NIC reads, written by the host thread.
TEST(Handlers, ReportAStalledNicInTheSameWords) {
  for (const NicHandler handler : kHandlers) {
    Options options = options_for(handler);
    options.watchdog = std::chrono::milliseconds(200);
    std::string report;
    expect_job(
        2, options,
        [&](Context& c) -> Result<void> {
          auto word = c.allocate<std::uint64_t>(1);
          if (!word) return word.error();
          if (c.my_pe() == 0) {
            if (auto paused = c.backend().pause(); !paused) return paused;
            const Result<void> ran = c.launch(PutAndQuiet{*word}, {.blocks = 1, .threads = 1});
            if (auto resumed = c.backend().resume(); !resumed) return resumed;
            if (ran) return mismatch("the stall was not reported");
            report = ran.error().message();
          }
          return c.barrier();
        },
        test::Kernels::of_one_pe);
    EXPECT_NE(report.find("waiting for index 1; reserved 1, ready 1, posted 1, doorbell record 1, "
                          "completed 0, last CQE 0xffffffffffffffff\n  to blame: the NIC"),
              std::string::npos)
        << nic_handler_name(handler) << ": " << report;
  }
}

}  // namespace
}  // namespace gdakit
