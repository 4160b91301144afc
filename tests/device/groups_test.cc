// Threads that act together must agree: on what they return, and on whether they come to a barrier.
#include <thread>

#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;
using test::mismatch;
using test::same;

// The word of a queue's state that says it is broken, as a device thread would set it.
std::uint64_t* error_word(Context& c, std::uint32_t queue, int peer) {
  const DeviceContext context = c.device_context();
  const auto n = static_cast<std::uint32_t>(c.n_pes());
  return &context.queues[queue * n + static_cast<std::uint32_t>(peer)].state->error;
}

void break_queue(Context& c, std::uint32_t queue, int peer) {
  const QueueError error = QueueError::from_cqe(0x13, 0x88, 8, 0);
  __atomic_store_n(error_word(c, queue, peer), error.word, __ATOMIC_RELEASE);
}

// A queue breaks at any moment while a block goes through barriers: no thread may be left behind.
TEST(Groups, LeaveABarrierTogetherWhenAQueueBreaks) {
  for (int trial = 0; trial < 40; ++trial) {
    expect_job(1, job_options(), [trial](Context& c) -> Result<void> {
      std::atomic<int> left = 0;
      std::thread breaker([&c, trial] {
        std::this_thread::sleep_for(std::chrono::microseconds(200 + 37 * trial));
        break_queue(c, 1, 0);
      });
      Result<void> ran = c.launch(
          [&](auto& pe) {
            for (int i = 0; i < 100'000; ++i) {
              if (!pe.block().barrier_all()) break;
            }
            ++left;
          },
          {.blocks = 1, .threads = 96});
      breaker.join();
      if (ran) return mismatch("the broken queue was not reported");
      return same(left.load(), 96, "threads that left");
    });
  }
}

TEST(Groups, GiveEveryThreadTheSameStatus) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    std::atomic<int> errors = 0;
    Result<void> ran = c.launch(
        [&](auto& pe) {
          const Ticket ticket = pe.on_queue(1).block().put_async(*word, *word, 1, 0);
          pe.machine().sync_block();
          if (pe.machine().thread_index() == 0) break_queue(c, 1, 0);
          pe.machine().sync_block();
          const Ticket refused = pe.on_queue(1).block().put_async(*word, *word, 1, 0);
          errors += refused.status.code == StatusCode::queue_error;
          errors += pe.block().wait(refused).code == StatusCode::queue_error;
          errors += ticket.status.ok();
        },
        {.blocks = 1, .threads = 64});
    if (ran) return mismatch("the broken queue was not reported");
    return same(errors.load(), 3 * 64, "answers");
  });
}

// A stall of an earlier launch says nothing about a later operation.
TEST(Groups, ForgetWhatOtherOperationsStalledOn) {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(100);
  expect_job(1, options, [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(2);
    if (!word) return word.error();
    if (c.launch([&](auto& pe) { pe.wait_until(*word, Compare::eq, 1); }, {.threads = 1})) {
      return mismatch("the stall was not reported");
    }
    std::atomic<int> ok = 0;
    static_cast<void>(c.launch([&](auto& pe) { ok += pe.block().put(*word, *word + 1, 1, 0).ok(); },
                               {.threads = 64}));
    return same(ok.load(), 64, "threads that succeeded");
  });
}

TEST(Tickets, ThatNameNothingAreRefused) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    std::atomic<int> refused = 0;
    Result<void> ran = c.launch(
        [&](auto& pe) {
          Ticket ticket{};
          refused += pe.block().wait(ticket).ok();  // an empty ticket: nothing to wait for
          ticket.index = 5;
          refused += pe.block().wait(ticket).code == StatusCode::invalid_argument;
          ticket.peer = 0;
          ticket.queue = 4'000'000;
          Status status;
          refused += pe.wait(ticket).code == StatusCode::invalid_argument;
          refused += pe.test(ticket, &status);
          refused += status.code == StatusCode::invalid_argument;
          refused +=
              pe.block().on_queue(4'000'000).sync_all().ok();  // flags have a queue of their own
        },
        {.blocks = 1, .threads = 32});
    if (ran) return mismatch("the bad tickets were not reported");
    return same(refused.load(), 6 * 32, "answers");
  });
}

TEST(Tickets, OfABrokenQueueTestAsDoneWithItsStatus) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    if (auto paused = c.backend().pause(); !paused) return paused;
    Status status;
    bool early = true;
    bool late = false;
    static_cast<void>(c.launch(
        [&](auto& pe) {
          const Ticket ticket = pe.put_async(*word, *word, 1, 0);
          early = pe.test(ticket, &status);
          break_queue(c, 0, 0);
          late = pe.test(ticket, &status);
        },
        {.blocks = 1, .threads = 1}));
    if (auto resumed = c.backend().resume(); !resumed) return resumed;
    if (early || !late) return mismatch("test said the wrong thing");
    return same(status.code == StatusCode::queue_error, true, "status");
  });
}

// quiet of other threads neither posts on an exclusive queue nor waits for a batch that is open
// there.
TEST(ExclusiveQueues, AreClosedByTheirOwnerAlone) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    if (!word) return word.error();
    Result<std::uint32_t> queue = c.add_queues(1, Sharing::exclusive);
    if (!queue) return queue.error();
    std::atomic<int> wrong = 0;
    Result<void> ran = c.launch(
        [&](auto& pe) {
          auto own = pe.exclusively_on(*queue);
          const Ticket ticket = own.put_async(*word, *word, 1, 1 - pe.my_pe(), Batch::more);
          wrong += !pe.quiet().ok();        // leaves the batch open
          wrong += own.test(ticket);        // so this is not done
          wrong += !own.wait(ticket).ok();  // its owner closes it
          own.put_value(*word, 9, 1 - pe.my_pe(), Batch::more);
          wrong += !own.quiet().ok();
        },
        {.blocks = 1, .threads = 1});
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    if (auto ok = same(**word, 9u, "word"); !ok) return ok;
    return same(wrong.load(), 0, "wrong answers");
  });
}

TEST(Rma, RefusesSizesThatOverflow) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(2);
    if (!word) return word.error();
    Status status;
    static_cast<void>(c.launch(
        [&](auto& pe) { status = pe.put(*word, *word + 1, (std::size_t{1} << 61) + 1, 0); },
        {.blocks = 1, .threads = 1}));
    return same(status.code == StatusCode::invalid_address, true, "refused");
  });
}

// Barriers on different queues, one right after the other.
TEST(Barrier, MayBeCalledOnAnyQueueInTurn) {
  expect_job(3, job_options(), [](Context& c) -> Result<void> {
    std::atomic<int> wrong = 0;
    Result<void> ran = c.launch(
        [&](auto& pe) {
          for (std::uint32_t i = 0; i < 500; ++i) wrong += !pe.on_queue(i % 2).sync_all().ok();
        },
        {.blocks = 1, .threads = 1});
    if (!ran) return ran;
    return same(wrong.load(), 0, "failed barriers");
  });
}

// A backend that refuses the next registration.
class RefusingBackend final : public test::LimitedBackend {
 public:
  explicit RefusingBackend(std::unique_ptr<Backend> inner) : LimitedBackend(std::move(inner), {}) {}

  Result<MemoryKeys> register_memory(void* base, std::uint64_t bytes, MemoryUse use) override {
    if (refuse.exchange(false)) return Error(Code::exhausted, "no key is left");
    return LimitedBackend::register_memory(base, bytes, use);
  }

  std::atomic<bool> refuse = false;
};

class RefusingProvider final : public BackendProvider {
 public:
  Result<std::unique_ptr<Backend>> open(const Options& options, Bootstrap& bootstrap) override {
    auto inner = inner_->open(options, bootstrap);
    if (!inner) return inner.error();
    return std::unique_ptr<Backend>(std::make_unique<RefusingBackend>(std::move(*inner)));
  }

 private:
  std::unique_ptr<BackendProvider> inner_ = *make_backend_provider({}, JobKind::in_process);
};

// One PE cannot register new memory: no PE grows, all say so, and the next try works everywhere.
TEST(HeapGrowth, HappensOnAllPesOrOnNone) {
  Options options = job_options();
  options.symmetric_size = 64 << 10;
  options.heap_chunk = 64 << 10;
  for (const bool on_all : {false, true}) {
    RefusingProvider provider;
    const Result<void> done =
        run_in_process(3, options, provider, [on_all](Context& c) -> Result<void> {
          auto& backend = static_cast<RefusingBackend&>(c.backend());
          backend.refuse = on_all || c.my_pe() == 1;
          if (c.allocate<char>(100 << 10)) return mismatch("the heap grew");
          auto memory = c.allocate<char>(100 << 10);
          if (!memory) return memory.error();
          Result<void> ran = c.launch(
              [&](auto& pe) {
                pe.put_nbi(*memory, *memory, 100 << 10, (pe.my_pe() + 1) % pe.n_pes());
                pe.barrier_all();
              },
              {.blocks = 1, .threads = 1});
          if (!ran) return ran;
          return same(c.device_context().heap.chunk_count, 2u, "chunks");
        });
    EXPECT_TRUE(done) << done.error().message();
  }
}

}  // namespace
}  // namespace gdakit
