// Jobs whose peers share queues (DC): what programs can see of that. What all queues must do, the
// other tests try with GDAKIT_QUEUE_TYPE=dc.
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::Checks;
using test::expect_job;
using test::job_options;
using test::mismatch;
using test::same;

Options dc_options(std::uint32_t queues) {
  Options options = job_options();
  options.queue_type = QueueType::dc;
  options.dc_queues = queues;
  options.transport = TransportChoice::nic;
  return options;
}

// All threads put and add to all PEs, so that targets of a queue change with each WQE.
struct ToAll {
  std::uint64_t* words;  // [pe][thread]
  std::uint64_t* sum;
  int rounds;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint64_t threads = m.grid_blocks() * m.block_threads();
    const std::uint64_t self = m.block_index() * m.block_threads() + m.thread_index();
    for (int i = 1; i <= rounds; ++i) {
      for (int to = 0; to < pe.n_pes(); ++to) {
        const auto from = static_cast<std::uint64_t>(pe.my_pe());
        pe.put_value(words + from * threads + self, static_cast<std::uint64_t>(i), to,
                     to % 2 == 0 ? Batch::more : Batch::last);
        pe.atomic_add(sum, std::uint64_t{1}, to);
      }
    }
    expect(pe, pe.quiet().ok());
  }
};

class DcJobs : public testing::TestWithParam<std::uint32_t> {};

TEST_P(DcJobs, ReachAllPesByTheSameQueues) {
  constexpr int kPes = 5;
  constexpr int kRounds = 20;
  Options options = dc_options(GetParam());
  options.queue_depth = 64;
  expect_job(kPes, options, [](Context& c) -> Result<void> {
    constexpr std::uint64_t kThreads = 4 * 32;
    auto words = c.allocate<std::uint64_t>(kPes * kThreads);
    auto sum = c.allocate<std::uint64_t>(1);
    if (!words || !sum) return mismatch("no memory");
    Result<Checks> checks = Checks::make(c);
    if (!checks) return checks.error();
    if (auto met = c.barrier(); !met) return met;
    if (auto ran = c.launch(ToAll{*words, *sum, kRounds, checks->expect()}, {4, 32}); !ran) {
      return ran;
    }
    if (auto met = c.barrier(); !met) return met;
    if (auto held = checks->all_held(kThreads); !held) return held;
    auto got = test::download(c, *words, kPes * kThreads);
    if (!got) return got.error();
    for (const std::uint64_t word : *got) {
      if (auto ok = same(word, std::uint64_t{kRounds}, "word"); !ok) return ok;
    }
    auto added = test::download(c, *sum);
    if (!added) return added.error();
    return same(*added, kPes * kThreads * kRounds, "sum");
  });
}
// Fewer than there are peers, as many, and more.
INSTANTIATE_TEST_SUITE_P(Queues, DcJobs, testing::Values(1u, 2u, 5u, 8u));

// A failure at one peer breaks the queue for those that share it, and for no others.
struct BreaksTheFirst {
  std::uint64_t* words;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.my_pe() != 0) return;
    const QueueView* const views = pe.context().queues;
    // A WQE whose memory the peer does not know, to PE 2: by the queue of PEs 0 and 2.
    QueueMemo memo;
    auto& m = pe.machine();
    remember(m, memo, 2, views[2]);
    SendQueue<std::remove_reference_t<decltype(m)>, SharedPublication> queue(m, pe.context(), memo,
                                                                             0);
    const Ticket bad =
        queue.post(LoneThread{}, {}, Batch::last, [&](std::uint64_t at, std::uint8_t fm_ce_se) {
          write_inline(m, queue.view(), at, fm_ce_se, Span{0x1000, 8, Be32{0x12345600}}, 7, 8);
        });
    expect(pe, !queue.wait(bad.index).ok());
    expect(pe, pe.put_value(words, std::uint64_t{1}, 1).ok());
    expect(pe, pe.wait(pe.put_async(words + 1, words + 2, 1, 1)).ok());
    expect(pe, pe.put_value(words, std::uint64_t{1}, 2).code == StatusCode::queue_error);
    expect(pe, pe.put_value(words, std::uint64_t{1}, 0).code == StatusCode::queue_error);
    expect(pe, pe.quiet().code == StatusCode::queue_error);
  }
};

TEST(DcJobs, LoseTheQueueOfAPeerThatRefusesAndNoOther) {
  Options options = dc_options(2);
  options.queues_per_peer = 1;
  expect_job(3, options, [](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(4);
    if (!words) return words.error();
    Result<Checks> checks = Checks::make(c);
    if (!checks) return checks.error();
    if (auto met = c.barrier(); !met) return met;
    const Result<void> ran = c.launch(BreaksTheFirst{*words, checks->expect()}, {1, 1});
    if (c.my_pe() == 0) {
      const std::string says = ran ? "nothing" : ran.error().message();
      const char* const expected = "the queue to PE 0, PE 2 and so on (DC) is broken";
      if (says.find(expected) == std::string::npos) return mismatch("the launch says: " + says);
    }
    if (c.my_pe() != 0 && !ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    return checks->all_held(c.my_pe() == 0 ? 6 : 0);
  });
}

// Exclusive queues are of RC, in the same job.
struct OnExclusive {
  std::uint64_t* words;
  std::uint32_t queue;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto own = pe.exclusively_on(queue);
    const auto me = static_cast<std::uint64_t>(pe.my_pe());
    for (int to = 0; to < pe.n_pes(); ++to) {
      expect(pe, own.put_value(words + me, me + 1, to).ok());
      expect(pe, pe.put_value(words + pe.n_pes() + pe.my_pe(), me + 1, to).ok());
    }
    expect(pe, own.quiet().ok());
  }
};

TEST(DcJobs, HaveExclusiveQueuesOfTheirOwn) {
  expect_job(3, dc_options(1), [](Context& c) -> Result<void> {
    auto added = c.add_queues(1, Sharing::exclusive);
    if (!added) return added.error();
    auto words = c.allocate<std::uint64_t>(6);
    if (!words) return words.error();
    Result<Checks> checks = Checks::make(c);
    if (!checks) return checks.error();
    if (auto met = c.barrier(); !met) return met;
    if (auto ran = c.launch(OnExclusive{*words, *added, checks->expect()}, {1, 1}); !ran) {
      return ran;
    }
    if (auto met = c.barrier(); !met) return met;
    if (auto held = checks->all_held(7); !held) return held;
    auto got = test::download(c, *words, 6);
    if (!got) return got.error();
    for (std::uint64_t i = 0; i < 6; ++i) {
      if (auto ok = same((*got)[i], i % 3 + 1, "word"); !ok) return ok;
    }
    return {};
  });
}

}  // namespace
}  // namespace gdakit
