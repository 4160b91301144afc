// Atomics through the soft NIC: every operation on both sizes against a sequential model, and exact
// sums.
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;
using test::mismatch;
using test::same;

template <class T>
class Atomics : public testing::Test {};
using Words = testing::Types<std::uint32_t, std::uint64_t, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(Atomics, Words);

// Runs `act(pe, word)` on one thread of PE 0, on a word of PE 1 that holds `start`; expects
// `finish`.
template <class T, class Act>
void on_remote_word(T start, T finish, Act act) {
  expect_job(2, job_options(), [&](Context& c) -> Result<void> {
    auto words = c.allocate<T>(3);  // the neighbours must stay as they are
    if (!words) return words.error();
    T* const word = *words + 1;
    std::fill(*words, *words + 3, T{77});
    *word = start;
    if (auto met = c.barrier(); !met) return met;
    if (c.my_pe() == 0) {
      if (auto ran = c.launch([&](auto& pe) { act(pe, word); }, {.blocks = 1, .threads = 1});
          !ran) {
        return ran;
      }
    }
    if (auto met = c.barrier(); !met) return met;
    if (c.my_pe() == 0) return {};
    if (auto ok = same((*words)[0], T{77}, "word before"); !ok) return ok;
    if (auto ok = same((*words)[2], T{77}, "word behind"); !ok) return ok;
    return same(*word, finish, "word");
  });
}

// The same operation with and without its result.
template <class T, class Plain, class Fetching>
void expect_operation(T start, T finish, Plain plain, Fetching fetching) {
  on_remote_word<T>(start, finish, [&](auto& pe, T* word) {
    EXPECT_TRUE(plain(pe, word).ok());
    EXPECT_TRUE(pe.quiet().ok());
  });
  on_remote_word<T>(start, finish, [&](auto& pe, T* word) {
    Status status;
    EXPECT_EQ(fetching(pe, word, &status), start);
    EXPECT_TRUE(status.ok());
  });
}

TYPED_TEST(Atomics, AddWrapsAround) {
  using T = TypeParam;
  const T big = static_cast<T>(~T{0} - 2);
  expect_operation<T>(
      big, static_cast<T>(big + T{9}), [](auto& pe, T* w) { return pe.atomic_add(w, T{9}, 1); },
      [](auto& pe, T* w, Status* s) { return pe.atomic_fetch_add(w, T{9}, 1, s); });
}

TYPED_TEST(Atomics, IncAddsOne) {
  using T = TypeParam;
  expect_operation<T>(
      T{41}, T{42}, [](auto& pe, T* w) { return pe.atomic_inc(w, 1); },
      [](auto& pe, T* w, Status* s) { return pe.atomic_fetch_inc(w, 1, s); });
}

TYPED_TEST(Atomics, SetAndSwapReplace) {
  using T = TypeParam;
  expect_operation<T>(
      static_cast<T>(0x5a5a5a5a), static_cast<T>(-3),
      [](auto& pe, T* w) { return pe.atomic_set(w, static_cast<T>(-3), 1); },
      [](auto& pe, T* w, Status* s) { return pe.atomic_swap(w, static_cast<T>(-3), 1, s); });
}

TYPED_TEST(Atomics, AndOrXorChangeTheRightBits) {
  using T = TypeParam;
  const T start = static_cast<T>(0xf0f012345678ull);
  const T v = static_cast<T>(0x8f1e2d3c4b5a6978ull);
  expect_operation<T>(
      start, static_cast<T>(start & v), [v](auto& pe, T* w) { return pe.atomic_and(w, v, 1); },
      [v](auto& pe, T* w, Status* s) { return pe.atomic_fetch_and(w, v, 1, s); });
  expect_operation<T>(
      start, static_cast<T>(start | v), [v](auto& pe, T* w) { return pe.atomic_or(w, v, 1); },
      [v](auto& pe, T* w, Status* s) { return pe.atomic_fetch_or(w, v, 1, s); });
  expect_operation<T>(
      start, static_cast<T>(start ^ v), [v](auto& pe, T* w) { return pe.atomic_xor(w, v, 1); },
      [v](auto& pe, T* w, Status* s) { return pe.atomic_fetch_xor(w, v, 1, s); });
}

TYPED_TEST(Atomics, CompareSwapSwapsOnlyWhatWasExpected) {
  using T = TypeParam;
  on_remote_word<T>(T{5}, T{6}, [](auto& pe, T* w) {
    EXPECT_EQ(pe.atomic_compare_swap(w, T{5}, T{6}, 1), T{5});
    EXPECT_EQ(pe.atomic_compare_swap(w, T{5}, T{9}, 1), T{6});
  });
}

TYPED_TEST(Atomics, FetchReadsAndChangesNothing) {
  using T = TypeParam;
  on_remote_word<T>(static_cast<T>(-2), static_cast<T>(-2),
                    [](auto& pe, T* w) { EXPECT_EQ(pe.atomic_fetch(w, 1), static_cast<T>(-2)); });
}

TEST(AtomicsOnFloats, SetSwapAndFetchKeepTheBits) {
  on_remote_word<double>(1.25, -0.5, [](auto& pe, double* w) {
    EXPECT_EQ(pe.atomic_fetch(w, 1), 1.25);
    EXPECT_EQ(pe.atomic_swap(w, -0.5, 1), 1.25);
  });
  on_remote_word<float>(1.25f, -0.5f, [](auto& pe, float* w) {
    EXPECT_TRUE(pe.atomic_set(w, -0.5f, 1).ok());
    EXPECT_TRUE(pe.quiet().ok());
  });
}

// Every thread of every PE adds to one word and takes tickets from another: sums are exact and no
// ticket is given twice.
TEST(AtomicsFromAllPes, CountExactlyAndGiveEachTicketOnce) {
  constexpr unsigned kBlocks = 4;
  constexpr unsigned kThreads = 64;
  constexpr unsigned kRounds = 4;
  constexpr unsigned kPes = 4;
  constexpr unsigned kTotal = kBlocks * kThreads * kRounds * kPes;
  Options options = job_options();
  options.emulator_workers = 2;
  std::vector<std::atomic<int>> given(kTotal);
  expect_job(kPes, options, [&](Context& c) -> Result<void> {
    auto sum = c.allocate<std::uint64_t>(1);
    auto small_sum = c.allocate<std::uint32_t>(1);
    auto tickets = c.allocate<std::uint32_t>(1);
    if (!sum || !small_sum || !tickets) return mismatch("allocate");
    Result<void> ran = c.launch(
        [&](auto& pe) {
          for (unsigned i = 0; i < kRounds; ++i) {
            pe.atomic_add(*sum, 3, 0);
            pe.atomic_inc(*small_sum, 2);
            const std::uint32_t ticket = pe.atomic_fetch_inc(*tickets, 1);
            if (ticket < kTotal) ++given[ticket];
          }
          pe.quiet();
        },
        {.blocks = kBlocks, .threads = kThreads});
    if (!ran) return ran;
    if (auto met = c.barrier(); !met) return met;
    if (c.my_pe() == 0) return same(**sum, std::uint64_t{3} * kTotal, "sum");
    if (c.my_pe() == 1) return same(**tickets, kTotal, "tickets");
    if (c.my_pe() == 2) return same(**small_sum, kTotal, "4-byte sum");
    return {};
  });
  for (unsigned i = 0; i < kTotal; ++i) ASSERT_EQ(given[i], 1) << "ticket " << i;
}

}  // namespace
}  // namespace gdakit
