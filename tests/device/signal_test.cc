// Put with signal, signals alone, waiting for words, and the barriers.
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;
using test::mismatch;
using test::same;

// The left neighbour's data must be there when its signal is seen, every time.
template <class Send>
void expect_data_before_signal(LaunchShape shape, SignalOp op, Send send) {
  constexpr int kRounds = 50;
  constexpr std::size_t kCount = 3000;
  expect_job(3, job_options(), [&](Context& c) -> Result<void> {
    auto data = c.allocate<std::uint32_t>(kCount);
    auto source = c.allocate<std::uint32_t>(kCount);
    auto word = c.allocate<std::uint64_t>(1);
    if (!data || !source || !word) return mismatch("allocate");
    std::atomic<int> wrong = 0;
    Result<void> ran = c.launch(
        [&](auto& pe) {
          auto& m = pe.machine();
          const int right = (pe.my_pe() + 1) % pe.n_pes();
          for (int round = 1; round <= kRounds; ++round) {
            const auto mark = static_cast<std::uint32_t>(round);
            for (std::size_t i = m.thread_index(); i < kCount; i += m.block_threads()) {
              (*source)[i] = mark + static_cast<std::uint32_t>(i);
            }
            const std::uint64_t value = op == SignalOp::set ? mark : 1;
            wrong += !send(pe, *data, *source, kCount, *word, value, op, right).ok();
            wrong += !pe.wait_until(*word, Compare::ge, static_cast<std::uint64_t>(round)).ok();
            for (std::size_t i = 0; i < kCount; i += 997) {
              wrong += (*data)[i] != mark + static_cast<std::uint32_t>(i);
            }
            wrong += !pe.block().barrier_all().ok();
          }
        },
        shape);
    if (!ran) return ran;
    if (auto ok = same(wrong.load(), 0, "wrong words or calls"); !ok) return ok;
    return same(**word, std::uint64_t{kRounds}, "signal");
  });
}

TEST(PutSignal, ByAThreadBringsDataBeforeTheSignal) {
  const auto send = [](auto& pe, auto... arguments) { return pe.put_signal_nbi(arguments...); };
  expect_data_before_signal({1, 1}, SignalOp::set, send);
  expect_data_before_signal({1, 1}, SignalOp::add, send);
}

TEST(PutSignal, ByAWarpBringsDataBeforeTheSignal) {
  const auto send = [](auto& pe, auto... arguments) {
    return pe.warp().put_signal_nbi(arguments...);
  };
  expect_data_before_signal({1, 32}, SignalOp::set, send);
  expect_data_before_signal({1, 20}, SignalOp::add, send);
}

TEST(PutSignal, ByABlockBringsDataBeforeTheSignal) {
  const auto send = [](auto& pe, auto... arguments) { return pe.block().put_signal(arguments...); };
  expect_data_before_signal({1, 96}, SignalOp::set, send);
  expect_data_before_signal({1, 96}, SignalOp::add, send);
}

TEST(PutSignal, WithoutDataIsTheSignalAlone) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(2);
    if (!word) return word.error();
    Result<void> ran = c.launch(
        [&](auto& pe) {
          pe.block().put_signal_nbi(static_cast<int*>(nullptr), static_cast<const int*>(nullptr), 0,
                                    *word, 5, SignalOp::set, 1 - pe.my_pe());
          if (pe.machine().thread_index() == 0) {
            pe.signal(*word + 1, 7, SignalOp::add, 1 - pe.my_pe());
            pe.signal(*word + 1, 7, SignalOp::add, 1 - pe.my_pe());
          }
          pe.block().barrier_all();
        },
        {.blocks = 1, .threads = 64});
    if (!ran) return ran;
    if (auto ok = same((*word)[0], 5u, "set"); !ok) return ok;
    return same((*word)[1], 14u, "added");
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
TEST(WaitUntil, AllAnyAndSomeFindTheWordsThatOthersWrite) {
  expect_job(4, job_options(), [](Context& c) -> Result<void> {
    auto words = c.allocate<int>(4);
    if (!words) return words.error();
    std::atomic<int> wrong = 0;
    Result<void> ran = c.launch(
        [&](auto& pe) {
          if (pe.my_pe() != 0) {
            wrong += !pe.put_value(*words + pe.my_pe(), 10 * pe.my_pe(), 0).ok();
            pe.quiet();
            return;
          }
          const int skip[4] = {1, 0, 0, 0};
          std::size_t index = 0;
          wrong += !pe.wait_until_any(*words, 4, skip, Compare::ne, 0, &index).ok();
          wrong += index == 0 || index > 3;
          std::size_t indices[4];
          std::size_t found = 0;
          wrong += !pe.wait_until_some(*words, 4, skip, Compare::gt, 0, indices, &found).ok();
          wrong += found == 0 || found > 3;
          wrong += !pe.wait_until_all(*words, 4, skip, Compare::ge, 10).ok();
          wrong += !pe.test_all(*words + 1, 3, nullptr, Compare::gt, 0);
          wrong += pe.test(*words, Compare::ne, 0);
          wrong += pe.test_any(*words, 4, nullptr, Compare::eq, 20) != 2;
          wrong += pe.test_any(*words, 4, nullptr, Compare::eq, 99) != ~std::size_t{0};
          wrong += pe.test_some(*words, 4, nullptr, Compare::gt, 10, indices) != 2;
          wrong += indices[0] != 2 || indices[1] != 3;
          const int skip_all[4] = {1, 1, 1, 1};  // a wait for nothing ends at once
          wrong += !pe.wait_until_any(*words, 4, skip_all, Compare::eq, 5, &index).ok();
          wrong += index != ~std::size_t{0};
          wrong += !pe.wait_until_all(*words, 0, nullptr, Compare::eq, 5).ok();
        },
        {.blocks = 1, .threads = 1});
    if (!ran) return ran;
    return same(wrong.load(), 0, "wrong answers");
  });
}

class Barrier : public testing::TestWithParam<int> {};

// In each round every PE tells all others its round; after the barrier all must have it.
TEST_P(Barrier, LetsNobodyPassBeforeAllHaveCome) {
  expect_job(GetParam(), job_options(), [](Context& c) -> Result<void> {
    const auto n = static_cast<std::size_t>(c.n_pes());
    auto rounds = c.allocate<int>(n);
    if (!rounds) return rounds.error();
    std::atomic<int> wrong = 0;
    Result<void> ran = c.launch(
        [&](auto& pe) {
          for (int round = 1; round <= 30; ++round) {
            if (pe.machine().thread_index() == 0) {
              for (int to = 0; to < pe.n_pes(); ++to) {
                pe.put_value(*rounds + pe.my_pe(), round, to);
              }
            }
            wrong += !pe.block().barrier_all().ok();
            for (std::size_t i = 0; i < n; ++i) wrong += (*rounds)[i] != round;
            wrong += !pe.block().sync_all().ok();
          }
        },
        {.blocks = 1, .threads = 40});
    if (!ran) return ran;
    return same(wrong.load(), 0, "rounds that were not there");
  });
}

INSTANTIATE_TEST_SUITE_P(Pes, Barrier, testing::Values(1, 2, 3, 5, 8));

}  // namespace
}  // namespace gdakit
