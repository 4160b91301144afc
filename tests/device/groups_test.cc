// Threads that act together must agree: on what they return, and on whether they come to a barrier.
#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::Checks;
using test::expect_job;
using test::in_turn;
using test::job_options;
using test::mismatch;
using test::same;

// Sets the word of a queue's state that says it is broken, as a thread that saw an error CQE does.
template <class Pe>
GDAKIT_DEVICE void break_queue(Pe& pe, std::uint32_t queue, int peer) {
  const auto n = static_cast<std::uint32_t>(pe.n_pes());
  const QueueView& view = pe.context().queues[queue * n + static_cast<std::uint32_t>(peer)];
  const QueueError error = QueueError::from_cqe(0x13, 0x88, 8, 0);
  pe.machine().store(order::Release<Scope::gpu>{}, &view.state->error, error.word);
}

// Block 0 goes through barriers until one fails; block 1 breaks a queue meanwhile.
struct BarriersUntilBroken {
  std::uint64_t delay_ns;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 1) {
      const std::uint64_t begin = m.clock_ns();
      while (m.clock_ns() - begin < delay_ns) m.spin(Site::user);
      if (m.thread_index() == 0) break_queue(pe, 1, 0);
      return;
    }
    int passed = 0;
    while (passed < 100'000 && pe.block().barrier_all().ok()) ++passed;
    expect(pe, passed < 100'000);
  }
};

// A queue breaks at any moment while a block goes through barriers: no thread may be left behind.
TEST(Groups, LeaveABarrierTogetherWhenAQueueBreaks) {
  Options options = job_options();
  options.emulator_workers = 2;  // the queue breaks in the middle of anything
  for (std::uint64_t trial = 0; trial < 40; ++trial) {
    expect_job(1, options, [trial](Context& c) -> Result<void> {
      auto checks = Checks::make(c);
      if (!checks) return checks.error();
      Result<void> ran = c.launch(BarriersUntilBroken{200'000 + 37'000 * trial, checks->expect()},
                                  {.blocks = 2, .threads = 96, .cooperative = true});
      if (ran) return mismatch("the broken queue was not reported");
      return checks->all_held(96);
    });
  }
}

struct PutsAroundABreak {
  std::uint64_t* word;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const Ticket ticket = pe.on_queue(1).block().put_async(word, word, 1, 0);
    pe.machine().sync_block();
    if (pe.machine().thread_index() == 0) break_queue(pe, 1, 0);
    pe.machine().sync_block();
    const Ticket refused = pe.on_queue(1).block().put_async(word, word, 1, 0);
    expect(pe, refused.status.code == StatusCode::queue_error);
    expect(pe, pe.block().wait(refused).code == StatusCode::queue_error);
    expect(pe, ticket.status.ok());
  }
};

TEST(Groups, GiveEveryThreadTheSameStatus) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    auto checks = Checks::make(c);
    if (!word || !checks) return mismatch("allocate");
    Result<void> ran =
        c.launch(PutsAroundABreak{*word, checks->expect()}, {.blocks = 1, .threads = 64});
    if (ran) return mismatch("the broken queue was not reported");
    return checks->all_held(3 * 64);
  });
}

// Two queues are broken; the threads of a block share the queues out, and so come upon different
// ones.
struct QuietBehindBreaks {
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.machine().thread_index() == 0) {
      break_queue(pe, 1, 0);
      break_queue(pe, 0, 1);
    }
    pe.machine().sync_block();
    const Status first{StatusCode::queue_error, format::Syndrome::remote_access, 1};
    expect(pe, pe.block().quiet() == first);
    expect(pe, pe.warp().quiet() == first);
    expect(pe, pe.quiet() == first);
  }
};

TEST(Groups, AreToldOfTheFirstBrokenQueueByQuiet) {
  expect_job(
      2, job_options(),
      [](Context& c) -> Result<void> {
        auto checks = Checks::make(c);
        if (!checks) return checks.error();
        if (c.my_pe() == 0) {
          if (c.launch(QuietBehindBreaks{checks->expect()}, {.blocks = 1, .threads = 40})) {
            return mismatch("the broken queues were not reported");
          }
          if (auto held = checks->all_held(3 * 40); !held) return held;
        }
        return c.barrier();
      },
      test::Kernels::of_one_pe);
}

struct WaitForOne {
  const std::uint64_t* word;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.wait_until(word, Compare::eq, 1);
  }
};

struct PutByBlock {
  std::uint64_t* words;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    expect(pe, pe.block().put(words, words + 1, 1, 0).ok());
  }
};

// A stall of an earlier launch says nothing about a later operation.
TEST(Groups, ForgetWhatOtherOperationsStalledOn) {
  Options options = job_options();
  options.watchdog = test::patience(std::chrono::milliseconds(100));
  expect_job(1, options, [](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(2);
    auto checks = Checks::make(c);
    if (!words || !checks) return mismatch("allocate");
    if (c.launch(WaitForOne{*words}, {.threads = 1})) {
      return mismatch("the stall was not reported");
    }
    // The launch still reports the first stall.
    static_cast<void>(c.launch(PutByBlock{*words, checks->expect()}, {.threads = 64}));
    return checks->all_held(64);
  });
}

struct BadTickets {
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    Ticket ticket{};
    expect(pe, pe.block().wait(ticket).ok());  // an empty ticket: nothing to wait for
    ticket.index = 5;
    expect(pe, pe.block().wait(ticket).code == StatusCode::invalid_argument);
    ticket.peer = 0;
    ticket.queue = 4'000'000;
    Status status;
    expect(pe, pe.wait(ticket).code == StatusCode::invalid_argument);
    expect(pe, pe.test(ticket, &status));
    expect(pe, status.code == StatusCode::invalid_argument);
    // Flags have a queue of their own.
    expect(pe, pe.block().on_queue(4'000'000).sync_all().ok());
  }
};

TEST(Tickets, ThatNameNothingAreRefused) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    auto checks = Checks::make(c);
    if (!checks) return checks.error();
    if (c.launch(BadTickets{checks->expect()}, {.blocks = 1, .threads = 32})) {
      return mismatch("the bad tickets were not reported");
    }
    return checks->all_held(6 * 32);
  });
}

struct TestAroundABreak {
  std::uint64_t* word;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    Status status;
    const Ticket ticket = pe.put_async(word, word, 1, 0);
    expect(pe, !pe.test(ticket, &status));
    break_queue(pe, 0, 0);
    expect(pe, pe.test(ticket, &status));
    expect(pe, status.code == StatusCode::queue_error);
  }
};

TEST(Tickets, OfABrokenQueueTestAsDoneWithItsStatus) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    auto checks = Checks::make(c);
    if (!word || !checks) return mismatch("allocate");
    if (auto paused = c.backend().pause(); !paused) return paused;
    // The launch reports the broken queue, as it should.
    static_cast<void>(
        c.launch(TestAroundABreak{*word, checks->expect()}, {.blocks = 1, .threads = 1}));
    if (auto resumed = c.backend().resume(); !resumed) return resumed;
    return checks->all_held(3);
  });
}

struct OpenBatches {
  std::uint32_t queue;
  std::uint64_t* word;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto own = pe.exclusively_on(queue);
    const Ticket ticket = own.put_async(word, word, 1, 1 - pe.my_pe(), Batch::more);
    expect(pe, pe.quiet().ok());        // leaves the batch open
    expect(pe, !own.test(ticket));      // so this is not done
    expect(pe, own.wait(ticket).ok());  // its owner closes it
    own.put_value(word, 9, 1 - pe.my_pe(), Batch::more);
    expect(pe, own.quiet().ok());
  }
};

// quiet of other threads neither posts on an exclusive queue nor waits for a batch that is open
// there.
TEST(ExclusiveQueues, AreClosedByTheirOwnerAlone) {
  expect_job(2, in_turn(job_options()), [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    auto checks = Checks::make(c);
    if (!word || !checks) return mismatch("allocate");
    Result<std::uint32_t> queue = c.add_queues(1, Sharing::exclusive);
    if (!queue) return queue.error();
    Result<void> ran =
        c.launch(OpenBatches{*queue, *word, checks->expect()}, {.blocks = 1, .threads = 1});
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    if (auto ok = test::is(c, *word, 9, "word"); !ok) return ok;
    return checks->all_held(4);
  });
}

struct PutTooMuch {
  std::uint64_t* words;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const Status status = pe.put(words, words + 1, (std::size_t{1} << 61) + 1, 0);
    expect(pe, status.code == StatusCode::invalid_address);
  }
};

TEST(Rma, RefusesSizesThatOverflow) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(2);
    auto checks = Checks::make(c);
    if (!words || !checks) return mismatch("allocate");
    if (c.launch(PutTooMuch{*words, checks->expect()}, {.blocks = 1, .threads = 1})) {
      return mismatch("the bad size was not reported");
    }
    return checks->all_held(1);
  });
}

struct SyncInTurn {
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    for (std::uint32_t i = 0; i < 500; ++i) expect(pe, pe.on_queue(i % 2).sync_all().ok());
  }
};

// Barriers on different queues, one right after the other.
TEST(Barrier, MayBeCalledOnAnyQueueInTurn) {
  expect_job(3, job_options(), [](Context& c) -> Result<void> {
    auto checks = Checks::make(c);
    if (!checks) return checks.error();
    Result<void> ran = c.launch(SyncInTurn{checks->expect()}, {.blocks = 1, .threads = 1});
    if (!ran) return ran;
    return checks->all_held(500);
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
  Result<std::unique_ptr<Backend>> open(const Options& options, Bootstrap& bootstrap,
                                        MemoryProvider& memory) override {
    auto inner = inner_->open(options, bootstrap, memory);
    if (!inner) return inner.error();
    return std::unique_ptr<Backend>(std::make_unique<RefusingBackend>(std::move(*inner)));
  }

 private:
  std::unique_ptr<BackendProvider> inner_ = *make_backend_provider({}, JobKind::in_process);
};

struct PutToTheRight {
  char* bytes;
  std::size_t count;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    expect(pe, pe.put_nbi(bytes, bytes, count, (pe.my_pe() + 1) % pe.n_pes()).ok());
    expect(pe, pe.barrier_all().ok());
  }
};

// More than fits into the first chunk, where the flags of the barrier lie already.
Result<void> grow_at_the_second_try(Context& c, bool refuse) {
  auto checks = Checks::make(c);
  auto chunk = test::first_chunk_bytes(c);
  if (!checks || !chunk) return mismatch("set up");
  const std::size_t bytes = *chunk + *chunk / 2;
  static_cast<RefusingBackend&>(c.backend()).refuse = refuse;
  if (c.allocate<char>(bytes)) return mismatch("the heap grew");
  auto memory = c.allocate<char>(bytes);
  if (!memory) return memory.error();
  Result<void> ran =
      c.launch(PutToTheRight{*memory, bytes, checks->expect()}, {.blocks = 1, .threads = 1});
  if (!ran) return ran;
  if (auto ok = checks->all_held(2); !ok) return ok;
  return same(c.device_context().heap.chunk_count, 2u, "chunks");
}

// One PE cannot register new memory: no PE grows, all say so, and the next try works everywhere.
TEST(HeapGrowth, HappensOnAllPesOrOnNone) {
  Options options = job_options();
  options.teams = 4;
  options.symmetric_size = 64 << 10;
  options.heap_chunk = 64 << 10;
  for (const bool on_all : {false, true}) {
    RefusingProvider provider;
    expect_job(3, options, provider, [on_all](Context& c) {
      return grow_at_the_second_try(c, on_all || c.my_pe() == 1);
    });
  }
}

}  // namespace
}  // namespace gdakit
