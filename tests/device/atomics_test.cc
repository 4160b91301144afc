// Atomics through the NIC: every operation on both sizes against a sequential model, and exact
// sums.
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::all_are;
using test::Checks;
using test::download;
using test::expect_job;
using test::in_turn;
using test::job_options;
using test::mismatch;
using test::upload;

template <class T>
class Atomics : public testing::Test {};
using Words = testing::Types<std::uint32_t, std::uint64_t, std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(Atomics, Words);

// An operation on a word of PE 1, without and with its result: what the kernels below run.
template <class T>
struct Add {
  T value;
  template <class Pe>
  GDAKIT_DEVICE Status plain(Pe& pe, T* w) const {
    return pe.atomic_add(w, value, 1);
  }
  template <class Pe>
  GDAKIT_DEVICE T fetching(Pe& pe, T* w, Status* s) const {
    return pe.atomic_fetch_add(w, value, 1, s);
  }
};

template <class T>
struct Inc {
  template <class Pe>
  GDAKIT_DEVICE Status plain(Pe& pe, T* w) const {
    return pe.atomic_inc(w, 1);
  }
  template <class Pe>
  GDAKIT_DEVICE T fetching(Pe& pe, T* w, Status* s) const {
    return pe.atomic_fetch_inc(w, 1, s);
  }
};

template <class T>
struct Set {
  T value;
  template <class Pe>
  GDAKIT_DEVICE Status plain(Pe& pe, T* w) const {
    return pe.atomic_set(w, value, 1);
  }
  template <class Pe>
  GDAKIT_DEVICE T fetching(Pe& pe, T* w, Status* s) const {
    return pe.atomic_swap(w, value, 1, s);
  }
};

template <class T>
struct And {
  T value;
  template <class Pe>
  GDAKIT_DEVICE Status plain(Pe& pe, T* w) const {
    return pe.atomic_and(w, value, 1);
  }
  template <class Pe>
  GDAKIT_DEVICE T fetching(Pe& pe, T* w, Status* s) const {
    return pe.atomic_fetch_and(w, value, 1, s);
  }
};

template <class T>
struct Or {
  T value;
  template <class Pe>
  GDAKIT_DEVICE Status plain(Pe& pe, T* w) const {
    return pe.atomic_or(w, value, 1);
  }
  template <class Pe>
  GDAKIT_DEVICE T fetching(Pe& pe, T* w, Status* s) const {
    return pe.atomic_fetch_or(w, value, 1, s);
  }
};

template <class T>
struct Xor {
  T value;
  template <class Pe>
  GDAKIT_DEVICE Status plain(Pe& pe, T* w) const {
    return pe.atomic_xor(w, value, 1);
  }
  template <class Pe>
  GDAKIT_DEVICE T fetching(Pe& pe, T* w, Status* s) const {
    return pe.atomic_fetch_xor(w, value, 1, s);
  }
};

// Runs `act(pe, word, expect)` on one thread of PE 0, on a word of PE 1 that holds `start`; expects
// `finish` there, and that all of `checked` expectations held.
template <class T, class Act>
struct OnWord {
  Act act;
  T* word;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    act(pe, word, expect);
  }
};

template <class T, class Act>
void on_remote_word(T start, T finish, std::uint64_t checked, Act act) {
  expect_job(2, in_turn(job_options()), [&](Context& c) -> Result<void> {
    auto words = c.allocate<T>(3);  // the neighbours must stay as they are
    auto checks = Checks::make(c);
    if (!words || !checks) return mismatch("allocate");
    if (auto ok = upload(c, *words, {T{77}, start, T{77}}); !ok) return ok;
    if (auto met = c.barrier(); !met) return met;
    if (c.my_pe() == 0) {
      Result<void> ran =
          c.launch(OnWord<T, Act>{act, *words + 1, checks->expect()}, {.blocks = 1, .threads = 1});
      if (!ran) return ran;
      if (auto ok = checks->all_held(checked); !ok) return ok;
    }
    if (auto met = c.barrier(); !met) return met;
    if (c.my_pe() == 0) return {};
    return all_are(c, *words, 3, "the word and its neighbours, number",
                   [&](std::size_t i) { return i == 1 ? finish : T{77}; });
  });
}

template <class T, class Operation>
struct WithoutResult {
  Operation operation;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe, T* word, test::Expect expect) const {
    expect(pe, operation.plain(pe, word).ok());
    expect(pe, pe.quiet().ok());
  }
};

template <class T, class Operation>
struct WithResult {
  T start;
  Operation operation;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe, T* word, test::Expect expect) const {
    Status status{StatusCode::stalled};
    expect(pe, operation.fetching(pe, word, &status) == start);
    expect(pe, status.ok());
  }
};

// The same operation with and without its result.
template <class T, class Operation>
void expect_operation(T start, T finish, Operation operation) {
  on_remote_word(start, finish, 2, WithoutResult<T, Operation>{operation});
  on_remote_word(start, finish, 2, WithResult<T, Operation>{start, operation});
}

TYPED_TEST(Atomics, AddWrapsAround) {
  using T = TypeParam;
  const T big = static_cast<T>(~T{0} - 2);
  expect_operation(big, static_cast<T>(big + T{9}), Add<T>{T{9}});
}

TYPED_TEST(Atomics, IncAddsOne) {
  using T = TypeParam;
  expect_operation(T{41}, T{42}, Inc<T>{});
}

TYPED_TEST(Atomics, SetAndSwapReplace) {
  using T = TypeParam;
  expect_operation(static_cast<T>(0x5a5a5a5a), static_cast<T>(-3), Set<T>{static_cast<T>(-3)});
}

TYPED_TEST(Atomics, AndOrXorChangeTheRightBits) {
  using T = TypeParam;
  const T start = static_cast<T>(0xf0f012345678ull);
  const T v = static_cast<T>(0x8f1e2d3c4b5a6978ull);
  expect_operation(start, static_cast<T>(start & v), And<T>{v});
  expect_operation(start, static_cast<T>(start | v), Or<T>{v});
  expect_operation(start, static_cast<T>(start ^ v), Xor<T>{v});
}

template <class T>
struct SwapTwice {
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe, T* w, test::Expect expect) const {
    expect(pe, pe.atomic_compare_swap(w, T{5}, T{6}, 1) == T{5});
    expect(pe, pe.atomic_compare_swap(w, T{5}, T{9}, 1) == T{6});
  }
};

TYPED_TEST(Atomics, CompareSwapSwapsOnlyWhatWasExpected) {
  using T = TypeParam;
  on_remote_word(T{5}, T{6}, 2, SwapTwice<T>{});
}

template <class T>
struct FetchOnly {
  T start;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe, T* w, test::Expect expect) const {
    expect(pe, pe.atomic_fetch(w, 1) == start);
  }
};

TYPED_TEST(Atomics, FetchReadsAndChangesNothing) {
  using T = TypeParam;
  const T start = static_cast<T>(-2);
  on_remote_word(start, start, 1, FetchOnly<T>{start});
}

struct SwapDouble {
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe, double* w, test::Expect expect) const {
    expect(pe, pe.atomic_fetch(w, 1) == 1.25);
    expect(pe, pe.atomic_swap(w, -0.5, 1) == 1.25);
  }
};

TEST(AtomicsOnFloats, SetSwapAndFetchKeepTheBits) {
  on_remote_word(1.25, -0.5, 2, SwapDouble{});
  on_remote_word(1.25f, -0.5f, 2, WithoutResult<float, Set<float>>{{-0.5f}});
}

constexpr unsigned kRounds = 4;
constexpr unsigned kTotal = 4096;  // of all threads of all PEs

struct TakeTickets {
  std::uint64_t* sum;
  std::uint32_t* small_sum;
  std::uint32_t* tickets;
  std::uint32_t* given;  // [ticket], how often this PE got it

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    for (unsigned i = 0; i < kRounds; ++i) {
      pe.atomic_add(sum, 3, 0);
      pe.atomic_inc(small_sum, 2);
      const std::uint32_t ticket = pe.atomic_fetch_inc(tickets, 1);
      if (ticket < kTotal) pe.machine().fetch_add(order::RelaxedGpu{}, given + ticket, 1u);
    }
    pe.quiet();
  }
};

// Every thread of every PE adds to one word and takes tickets from another: sums are exact and no
// ticket is given twice.
TEST(AtomicsFromAllPes, CountExactlyAndGiveEachTicketOnce) {
  constexpr unsigned kPes = 4;
  constexpr LaunchShape kShape{4, 64};
  static_assert(kTotal == kPes * kShape.blocks * kShape.threads * kRounds);
  Options options = job_options();
  options.emulator_workers = 2;
  std::vector<std::atomic<std::uint32_t>> given(kTotal);
  expect_job(kPes, in_turn(options), [&](Context& c) -> Result<void> {
    auto sum = c.allocate<std::uint64_t>(1);
    auto small_sum = c.allocate<std::uint32_t>(1);
    auto tickets = c.allocate<std::uint32_t>(1);
    auto mine = c.allocate<std::uint32_t>(kTotal);
    if (!sum || !small_sum || !tickets || !mine) return mismatch("allocate");
    if (auto ran = c.launch(TakeTickets{*sum, *small_sum, *tickets, *mine}, kShape); !ran) {
      return ran;
    }
    auto got = download(c, *mine, kTotal);
    if (!got) return got.error();
    for (unsigned i = 0; i < kTotal; ++i) given[i] += (*got)[i];
    if (auto met = c.barrier(); !met) return met;
    if (c.my_pe() == 0) return test::is(c, *sum, std::uint64_t{3} * kTotal, "sum");
    if (c.my_pe() == 1) return test::is(c, *tickets, kTotal, "tickets");
    if (c.my_pe() == 2) return test::is(c, *small_sum, kTotal, "4-byte sum");
    return {};
  });
  if (testing::Test::IsSkipped()) return;
  for (unsigned i = 0; i < kTotal; ++i) ASSERT_EQ(given[i], 1u) << "ticket " << i;
}

}  // namespace
}  // namespace gdakit
