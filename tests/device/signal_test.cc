// Put with signal, signals alone, waiting for words, and the barriers.
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::all_are;
using test::Checks;
using test::expect_job;
using test::job_options;
using test::mismatch;

constexpr int kRounds = 50;
constexpr std::size_t kCount = 3000;

// What put_signal takes.
struct Parcel {
  std::uint32_t* data;
  std::uint32_t* source;
  std::uint64_t* word;
  std::uint64_t value;
  SignalOp op;
  int to;
};

struct ByThread {
  template <class Pe>
  GDAKIT_DEVICE Status operator()(Pe& pe, const Parcel& p) const {
    return pe.put_signal_nbi(p.data, p.source, kCount, p.word, p.value, p.op, p.to);
  }
};
struct ByWarp {
  template <class Pe>
  GDAKIT_DEVICE Status operator()(Pe& pe, const Parcel& p) const {
    return pe.warp().put_signal_nbi(p.data, p.source, kCount, p.word, p.value, p.op, p.to);
  }
};
struct ByBlock {
  template <class Pe>
  GDAKIT_DEVICE Status operator()(Pe& pe, const Parcel& p) const {
    return pe.block().put_signal(p.data, p.source, kCount, p.word, p.value, p.op, p.to);
  }
};

// In each round the block fills `source`, sends it to the right with a signal, and waits for the
// left neighbour's.
template <class Send>
struct SendRounds {
  Send send;
  SignalOp op;
  std::uint32_t* data;
  std::uint32_t* source;
  std::uint64_t* word;
  test::Expect expect;

  static constexpr unsigned kChecks = kRounds * (3 + (kCount + 996) / 997);  // of each thread

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const int right = (pe.my_pe() + 1) % pe.n_pes();
    for (int round = 1; round <= kRounds; ++round) {
      const auto mark = static_cast<std::uint32_t>(round);
      for (std::size_t i = m.thread_index(); i < kCount; i += m.block_threads()) {
        source[i] = mark + static_cast<std::uint32_t>(i);
      }
      const std::uint64_t value = op == SignalOp::set ? mark : 1;
      expect(pe, send(pe, Parcel{data, source, word, value, op, right}).ok());
      expect(pe, pe.wait_until(word, Compare::ge, static_cast<std::uint64_t>(round)).ok());
      for (std::size_t i = 0; i < kCount; i += 997) {
        expect(pe, data[i] == mark + static_cast<std::uint32_t>(i));
      }
      expect(pe, pe.block().barrier_all().ok());
    }
  }
};

// The left neighbour's data must be there when its signal is seen, every time.
template <class Send>
void expect_data_before_signal(LaunchShape shape, SignalOp op, Send send) {
  expect_job(3, job_options(), [&](Context& c) -> Result<void> {
    auto data = c.allocate<std::uint32_t>(kCount);
    auto source = c.allocate<std::uint32_t>(kCount);
    auto word = c.allocate<std::uint64_t>(1);
    auto checks = Checks::make(c);
    if (!data || !source || !word || !checks) return mismatch("allocate");
    Result<void> ran =
        c.launch(SendRounds<Send>{send, op, *data, *source, *word, checks->expect()}, shape);
    if (!ran) return ran;
    const std::uint64_t each = SendRounds<Send>::kChecks;
    if (auto ok = checks->all_held(each * shape.threads); !ok) return ok;
    return test::is(c, *word, kRounds, "signal");
  });
}

TEST(PutSignal, ByAThreadBringsDataBeforeTheSignal) {
  expect_data_before_signal({1, 1}, SignalOp::set, ByThread{});
  expect_data_before_signal({1, 1}, SignalOp::add, ByThread{});
}

TEST(PutSignal, ByAWarpBringsDataBeforeTheSignal) {
  expect_data_before_signal({1, 32}, SignalOp::set, ByWarp{});
  expect_data_before_signal({1, 20}, SignalOp::add, ByWarp{});
}

TEST(PutSignal, ByABlockBringsDataBeforeTheSignal) {
  expect_data_before_signal({1, 96}, SignalOp::set, ByBlock{});
  expect_data_before_signal({1, 96}, SignalOp::add, ByBlock{});
}

struct SignalAlone {
  std::uint64_t* words;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.block().put_signal_nbi(static_cast<int*>(nullptr), static_cast<const int*>(nullptr), 0,
                              words, 5, SignalOp::set, 1 - pe.my_pe());
    if (pe.machine().thread_index() == 0) {
      pe.signal(words + 1, 7, SignalOp::add, 1 - pe.my_pe());
      pe.signal(words + 1, 7, SignalOp::add, 1 - pe.my_pe());
    }
    pe.block().barrier_all();
  }
};

TEST(PutSignal, WithoutDataIsTheSignalAlone) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    auto words = c.allocate<std::uint64_t>(2);
    if (!words) return words.error();
    if (auto ran = c.launch(SignalAlone{*words}, {.blocks = 1, .threads = 64}); !ran) return ran;
    if (auto ok = test::is(c, *words, 5, "set"); !ok) return ok;
    return test::is(c, *words + 1, 14, "added");
  });
}

TEST(Compare, HoldsForEachRelation) {
  EXPECT_TRUE(holds(3, Compare::eq, 3) && !holds(3, Compare::eq, 4));
  EXPECT_TRUE(holds(3, Compare::ne, 4) && !holds(3, Compare::ne, 3));
  EXPECT_TRUE(holds(4, Compare::gt, 3) && !holds(3, Compare::gt, 3));
  EXPECT_TRUE(holds(3, Compare::ge, 3) && !holds(2, Compare::ge, 3));
  EXPECT_TRUE(holds(-1, Compare::lt, 0) && !holds(0, Compare::lt, 0));
  EXPECT_TRUE(holds(0, Compare::le, 0) && !holds(1, Compare::le, 0));
  EXPECT_FALSE(holds(~0u, Compare::lt, 0u));  // unsigned words compare unsigned
}

// PE 0 waits; the other PEs write one word each, in their own time.
struct WriteAndWait {
  int* words;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) {
      wait(pe);
    } else {
      expect(pe, pe.put_value(words + pe.my_pe(), 10 * pe.my_pe(), 0).ok());
      pe.quiet();
    }
  }

  template <class Pe>
  GDAKIT_DEVICE void wait(Pe& pe) const {
    const int skip[4] = {1, 0, 0, 0};
    std::size_t index = 0;
    expect(pe, pe.wait_until_any(words, 4, skip, Compare::ne, 0, &index).ok());
    expect(pe, index >= 1 && index <= 3);
    std::size_t indices[4] = {};
    std::size_t found = 0;
    expect(pe, pe.wait_until_some(words, 4, skip, Compare::gt, 0, indices, &found).ok());
    expect(pe, found >= 1 && found <= 3);
    expect(pe, pe.wait_until_all(words, 4, skip, Compare::ge, 10).ok());
    expect(pe, pe.test_all(words + 1, 3, nullptr, Compare::gt, 0));
    expect(pe, !pe.test(words, Compare::ne, 0));
    expect(pe, pe.test_any(words, 4, nullptr, Compare::eq, 20) == 2);
    expect(pe, pe.test_any(words, 4, nullptr, Compare::eq, 99) == ~std::size_t{0});
    expect(pe, pe.test_some(words, 4, nullptr, Compare::gt, 10, indices) == 2);
    expect(pe, indices[0] == 2 && indices[1] == 3);
    const int skip_all[4] = {1, 1, 1, 1};  // a wait for nothing ends at once
    expect(pe, pe.wait_until_any(words, 4, skip_all, Compare::eq, 5, &index).ok());
    expect(pe, index == ~std::size_t{0});
    expect(pe, pe.wait_until_all(words, 0, nullptr, Compare::eq, 5).ok());
  }
};

TEST(WaitUntil, AllAnyAndSomeFindTheWordsThatOthersWrite) {
  expect_job(4, job_options(), [](Context& c) -> Result<void> {
    auto words = c.allocate<int>(4);
    auto checks = Checks::make(c);
    if (!words || !checks) return mismatch("allocate");
    Result<void> ran =
        c.launch(WriteAndWait{*words, checks->expect()}, {.blocks = 1, .threads = 1});
    if (!ran) return ran;
    return checks->all_held(c.my_pe() == 0 ? 14 : 1);
  });
}

constexpr int kBarriers = 30;

struct TellRounds {
  int* rounds;  // [pe]
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    for (int round = 1; round <= kBarriers; ++round) {
      if (pe.machine().thread_index() == 0) {
        for (int to = 0; to < pe.n_pes(); ++to) pe.put_value(rounds + pe.my_pe(), round, to);
      }
      expect(pe, pe.block().barrier_all().ok());
      for (int from = 0; from < pe.n_pes(); ++from) expect(pe, rounds[from] == round);
      expect(pe, pe.block().sync_all().ok());
    }
  }
};

class Barrier : public testing::TestWithParam<int> {};

// In each round every PE tells all others its round; after the barrier all must have it.
TEST_P(Barrier, LetsNobodyPassBeforeAllHaveCome) {
  expect_job(GetParam(), job_options(), [](Context& c) -> Result<void> {
    const auto n = static_cast<std::size_t>(c.n_pes());
    auto rounds = c.allocate<int>(n);
    auto checks = Checks::make(c);
    if (!rounds || !checks) return mismatch("allocate");
    Result<void> ran =
        c.launch(TellRounds{*rounds, checks->expect()}, {.blocks = 1, .threads = 40});
    if (!ran) return ran;
    if (auto ok = checks->all_held(kBarriers * 40 * (n + 2)); !ok) return ok;
    return all_are(c, *rounds, n, "round of PE", [](std::size_t) { return kBarriers; });
  });
}

INSTANTIATE_TEST_SUITE_P(Pes, Barrier, testing::Values(1, 2, 3, 5, 8));

// A put to the right, a fence, and a barrier, whose count goes the same way.
struct FenceAndMeet {
  std::uint64_t* word;
  bool waits;  // for what was put
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const int right = (pe.my_pe() + 1) % pe.n_pes();
    const QueueState* const state = pe.context().queues[right].state;
    const std::uint64_t before = m.load(order::RelaxedGpu{}, &state->completed);
    expect(pe, pe.put_value(word, std::uint64_t{7}, right).ok());
    expect(pe, pe.fence().ok());
    const std::uint64_t completed = m.load(order::RelaxedGpu{}, &state->completed);
    const std::uint64_t posted = m.load(order::RelaxedGpu{}, &state->reserved);
    expect(pe, completed == (waits ? posted : before));
    expect(pe, pe.barrier_all().ok());
    expect(pe, *word == 7);
  }
};

class Placed : public testing::TestWithParam<Placement> {};

TEST_P(Placed, AFenceWaitsWherePutsArriveInAnyOrder) {
  Options options = job_options();
  options.placement = GetParam();
  if (options.transport == TransportChoice::direct) GTEST_SKIP() << "nothing goes by a queue";
  expect_job(3, options, [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    auto checks = Checks::make(c);
    if (!word || !checks) return mismatch("allocate");
    const bool waits = GetParam() == Placement::any;
    Result<void> ran =
        c.launch(FenceAndMeet{*word, waits, checks->expect()}, {.blocks = 1, .threads = 1});
    return ran ? checks->all_held(5) : ran;
  });
}

INSTANTIATE_TEST_SUITE_P(Placements, Placed, testing::Values(Placement::in_order, Placement::any),
                         [](const auto& placement) {
                           return placement.param == Placement::any ? "any" : "in_order";
                         });

}  // namespace
}  // namespace gdakit
