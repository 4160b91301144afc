// Operations that the host asks for, at once and on a stream.
#include "host_calls/host_calls.h"

#include "tests/support/job.h"
#include "tests/support/limited_backend.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::is;
using test::job_options;
using test::mismatch;
using test::same;

constexpr std::size_t kCount = 6;

// Symmetric words: those a PE gives, and those that others write.
struct Words {
  std::int32_t* source;
  std::int32_t* dest;
  std::uint64_t* signal;

  static Result<Words> make(Context& c) {
    Result<std::int32_t*> source = c.allocate<std::int32_t>(16 * kCount);
    if (!source) return source.error();
    Result<std::int32_t*> dest = c.allocate<std::int32_t>(16 * kCount);
    if (!dest) return dest.error();
    Result<std::uint64_t*> signal = c.allocate<std::uint64_t>(1);
    if (!signal) return signal.error();
    const auto value = [&c](std::size_t i) { return 100 * c.my_pe() + static_cast<int>(i); };
    if (auto done = test::fill(c, *source, 16 * kCount, value); !done) return done.error();
    if (auto done = c.barrier(); !done) return done.error();
    return Words{*source, *dest, *signal};
  }
};

// Runs `body(context, words, calls, next PE, last PE)` on three PEs, blocking and on the stream.
template <class Body>
void expect_calls(Body body) {
  for (const bool blocking : {true, false}) {
    expect_job(3, job_options(), [&](Context& c) -> Result<void> {
      auto words = Words::make(c);
      if (!words) return words.error();
      const HostCalls calls =
          blocking ? HostCalls::blocking(c) : HostCalls::on_stream(c, c.stream());
      const int next = (c.my_pe() + 1) % 3;
      return body(c, *words, calls, next, (c.my_pe() + 2) % 3);
    });
  }
}

// Waits for what the calls have put into the stream, and for all PEs.
Result<void> finish(Context& c, const HostCalls& calls) {
  if (auto met = calls.barrier_all(); !met) return met;
  return c.synchronize(c.stream());
}

TEST(HostCalls, PutsAndGetsArriveInEveryForm) {
  expect_calls(
      [](Context& c, Words& w, const HostCalls& calls, int next, int last) -> Result<void> {
        Result<void> done = calls.put(w.dest, w.source, kCount, next);
        if (done) done = calls.put_nbi(w.dest + kCount, w.source + kCount, kCount, next);
        if (done) done = calls.iput(w.dest + 2 * kCount, w.source, 2, 1, 3, next);
        if (done) done = calls.put_value(w.dest + 4 * kCount, 7 + c.my_pe(), next);
        if (done) done = calls.get(w.dest + 5 * kCount, w.source, kCount, next);
        if (done) done = calls.get_nbi(w.dest + 6 * kCount, w.source, kCount, next);
        if (done) done = calls.iget(w.dest + 7 * kCount, w.source, 1, 2, 3, next);
        if (done) done = calls.quiet();
        if (done) done = finish(c, calls);
        if (!done) return done;
        const auto got = test::download(c, w.dest, 8 * kCount);
        if (!got) return got.error();
        for (std::size_t i = 0; i < 2 * kCount && done; ++i) {
          done = same((*got)[i], 100 * last + static_cast<int>(i), "put " + std::to_string(i));
        }
        for (std::size_t i = 0; i < 3 && done; ++i) {
          const int index = static_cast<int>(i);
          done = same((*got)[2 * kCount + 2 * i], 100 * last + index, "iput");
          if (done) done = same((*got)[7 * kCount + i], 100 * next + 2 * index, "iget");
        }
        if (done) done = same((*got)[4 * kCount], 7 + last, "put_value");
        for (std::size_t i = 0; i < 2 * kCount && done; ++i) {
          done = same((*got)[5 * kCount + i], 100 * next + static_cast<int>(i % kCount), "get");
        }
        const Result<std::int32_t> value = calls.get_value(w.source + 3, next);
        if (!value) return value.error();
        return done ? same(*value, 100 * next + 3, "get_value") : done;
      });
}

TEST(HostCalls, BytesSignalsAndStridesArrive) {
  expect_calls([](Context& c, Words& w, const HostCalls& calls, int next,
                  int last) -> Result<void> {
    constexpr std::size_t kBytes = kCount * sizeof(std::int32_t);
    const auto dest = [&w](std::size_t place) { return w.dest + place * kCount; };
    Result<void> done = calls.put_bytes(dest(0), w.source, kBytes, next);
    if (done) done = calls.put_bytes_nbi(dest(1), w.source, kBytes - 3, next);
    if (done) done = calls.get_bytes(dest(2), w.source, kBytes, next);
    if (done) done = calls.get_bytes_nbi(dest(3), w.source, kBytes, next);
    if (done) {
      done = calls.put_signal_bytes(dest(4), w.source, kBytes, w.signal, 2, SignalOp::add, next);
    }
    if (done) {
      done =
          calls.put_signal_bytes_nbi(dest(5), w.source, kBytes, w.signal, 3, SignalOp::add, next);
    }
    if (done) done = calls.iput_nbi(dest(6), w.source, 2, 1, 3, next);
    if (done) done = calls.iget_nbi(dest(7), w.source, 1, 2, 3, next);
    if (done) done = calls.quiet();
    if (done) done = finish(c, calls);
    if (done) done = is(c, w.signal, 5, "signal");
    if (!done) return done;
    const auto got = test::download(c, w.dest, 8 * kCount);
    if (!got) return got.error();
    for (std::size_t i = 0; i < 6 * kCount && done; ++i) {
      const bool is_get = i / kCount == 2 || i / kCount == 3;
      int expected = 100 * (is_get ? next : last) + static_cast<int>(i % kCount);
      if (i == 2 * kCount - 1) expected &= 0xff;  // three bytes were not put
      done = same((*got)[i], expected, "word " + std::to_string(i));
    }
    for (std::size_t i = 0; i < 3 && done; ++i) {
      const int index = static_cast<int>(i);
      done = same((*got)[6 * kCount + 2 * i], 100 * last + index, "iput_nbi");
      if (done) done = same((*got)[7 * kCount + i], 100 * next + 2 * index, "iget_nbi");
    }
    return done;
  });
}

TEST(HostCalls, WaitsEndWhenTheSignalsHaveCome) {
  expect_calls([](Context& c, Words& w, const HostCalls& calls, int next,
                  int last) -> Result<void> {
    Result<void> done =
        calls.put_signal(w.dest, w.source, kCount, w.signal, 1, SignalOp::add, next);
    if (done)
      done =
          calls.put_signal_nbi(w.dest + kCount, w.source, kCount, w.signal, 1, SignalOp::add, next);
    if (done) done = calls.signal(w.signal, 3, SignalOp::add, next);
    if (done) done = calls.wait_until(w.signal, Compare::eq, 5);
    if (done) done = calls.wait_until_all(w.signal, 1, nullptr, Compare::gt, 4);
    if (done) done = calls.wait_until_all_vector(w.signal, 1, nullptr, Compare::ge, w.signal);
    if (done) done = finish(c, calls);
    if (!done) return done;
    return test::all_are(c, w.dest, 2 * kCount, "data", [last](std::size_t i) {
      return 100 * last + static_cast<int>(i % kCount);
    });
  });
}

// Four words, one of them left out, asked and waited for by every form.
template <class T>
Result<void> ask_words(Context& c, const HostCalls& calls) {
  constexpr std::size_t kNone = ~std::size_t{0};
  Result<T*> words = c.allocate<T>(8);
  if (!words) return words.error();
  Result<int*> skip = c.allocate<int>(4);
  if (!skip) return skip.error();
  Result<std::size_t*> indices = c.allocate<std::size_t>(4);
  if (!indices) return indices.error();
  // The highest bit tells signed types from others.
  const T high = static_cast<T>(T{1} << (8 * sizeof(T) - 1));
  const std::vector<T> held{5, high, 7, 9, 5, 0, 7, 8};
  if (auto done = test::upload(c, *words, held); !done) return done;
  if (auto done = test::upload(c, *skip, {0, 1, 0, 0}); !done) return done;

  T* const w = *words;
  T* const values = *words + 4;
  Result<void> done;
  const auto expect = [&done]<class Got>(const Result<Got>& got, std::type_identity_t<Got> want,
                                         const char* what) {
    if (done && !got) done = got.error();
    if (done) done = same(*got, want, what);
  };
  const auto expect_indices = [&](std::vector<std::size_t> want) {
    const auto got = test::download(c, *indices, want.size());
    for (std::size_t i = 0; i < want.size() && done; ++i) done = same((*got)[i], want[i], "index");
  };
  using enum Compare;
  constexpr bool kSigned = std::is_signed_v<T>;
  expect(calls.test(w + 1, lt, T{1}), kSigned, "test by sign");
  expect(calls.test_all(w, 4, *skip, ge, T{5}), true, "test_all");
  expect(calls.test_all(w, 4, nullptr, ge, T{5}), !kSigned, "test_all with a negative one");
  expect(calls.test_all_vector(w, 3, *skip, eq, values), true, "test_all_vector");
  expect(calls.test_all_vector(w, 4, *skip, eq, values), false, "test_all_vector with another");
  expect(calls.test_any(w, 4, *skip, gt, T{6}), 2u, "test_any");
  expect(calls.test_any(w, 4, *skip, gt, T{9}), kNone, "test_any of none");
  expect(calls.test_any_vector(w, 4, *skip, gt, values), 3u, "test_any_vector");
  expect(calls.test_some(w, 4, *skip, ne, T{7}, *indices), 2u, "test_some");
  expect_indices({0, 3});
  expect(calls.test_some_vector(w, 4, *skip, le, values, *indices), 2u, "test_some_vector");
  expect_indices({0, 2});
  expect(calls.wait_until_any(w, 4, *skip, eq, T{9}), 3u, "wait_until_any");
  expect(calls.wait_until_any(w, 0, *skip, eq, T{9}), kNone, "wait_until_any of none");
  expect(calls.wait_until_any_vector(w, 4, *skip, ne, values), 3u, "wait_until_any_vector");
  expect(calls.wait_until_some(w, 4, *skip, lt, T{9}, *indices), 2u, "wait_until_some");
  expect_indices({0, 2});
  expect(calls.wait_until_some_vector(w, 4, *skip, ge, values, *indices), 3u,
         "wait_until_some_vector");
  expect_indices({0, 2, 3});
  if (done) done = calls.wait_until_all(w, 4, *skip, ge, T{5});
  if (done) done = calls.wait_until_all_vector(w, 3, *skip, eq, values);
  return done;
}

TEST(HostCalls, AskWordsOfEveryType) {
  expect_calls([](Context& c, Words&, const HostCalls& calls, int, int) {
    Result<void> done = ask_words<std::int8_t>(c, calls);
    if (done) done = ask_words<std::uint8_t>(c, calls);
    if (done) done = ask_words<std::int16_t>(c, calls);
    if (done) done = ask_words<std::uint16_t>(c, calls);
    if (done) done = ask_words<std::int32_t>(c, calls);
    if (done) done = ask_words<std::uint32_t>(c, calls);
    if (done) done = ask_words<long>(c, calls);
    if (done) done = ask_words<unsigned long long>(c, calls);
    return done;
  });
}

TEST(HostCalls, WaitForWhatOthersSend) {
  expect_calls(
      [](Context& c, Words& w, const HostCalls& calls, int next, int last) -> Result<void> {
        Result<void> done = calls.put_value(w.dest + 2, 7 + c.my_pe(), next);
        if (done) done = calls.put_signal(w.dest, w.source, 2, w.signal, 9, SignalOp::set, next);
        if (!done) return done;
        const auto any = calls.wait_until_any(w.dest + 1, 2, nullptr, Compare::eq, 7 + last);
        if (!any) return any.error();
        const auto woken = calls.signal_wait_until(w.signal, Compare::gt, 8);
        if (!woken) return woken.error();
        const auto signal = calls.signal_fetch(w.signal);
        if (!signal) return signal.error();
        done = same(*any, std::size_t{1}, "the word that was sent");
        if (done) done = same(*woken, std::uint64_t{9}, "the signal that was waited for");
        if (done) done = same(*signal, std::uint64_t{9}, "the signal");
        if (done) done = is(c, w.dest + 1, 100 * last + 1, "data behind the signal");
        return done ? finish(c, calls) : done;
      });
}

TEST(HostCalls, AtomicsWhoseResultsComeLater) {
  expect_calls([](Context& c, Words& w, const HostCalls& calls, int next, int) -> Result<void> {
    using atomics::Op;
    std::uint64_t* const word = w.signal;
    Result<std::uint64_t*> fetched = c.allocate<std::uint64_t>(2);
    if (!fetched) return fetched.error();
    Result<float*> real = c.allocate<float>(2);
    if (!real) return real.error();
    Result<void> done = calls.atomic(Op::set, word, 5, next);
    if (done) done = calls.atomic_fetch_nbi(Op::add, *fetched, word, 3, next);
    if (done) done = calls.fence();
    if (done) done = calls.atomic_compare_swap_nbi(*fetched + 1, word, 8, 2, next);
    if (done) done = calls.atomic(Op::set, *real, 1.5f, next);
    if (done) done = calls.atomic_fetch_nbi(Op::set, *real + 1, *real, 4.0f, next);
    if (done) done = calls.quiet();
    if (done) done = finish(c, calls);
    if (done) done = is(c, *fetched, std::uint64_t{5}, "the old value of an add");
    if (done) done = is(c, *fetched + 1, std::uint64_t{8}, "the old value of a compare-and-swap");
    if (done) done = is(c, word, std::uint64_t{2}, "the word");
    if (done) done = is(c, *real + 1, 1.5f, "the old value of a swap");
    return done ? is(c, *real, 4.0f, "the float") : done;
  });
}

TEST(HostCalls, AtomicsChangeTheWordAndReturnTheOldOne) {
  expect_calls([](Context& c, Words& w, const HostCalls& calls, int next, int) -> Result<void> {
    using atomics::Op;
    std::int32_t* const word = w.dest;
    Result<void> done = calls.atomic(Op::add, word, 12, next);
    if (done) done = calls.atomic(Op::bit_or, word, 3, next);
    if (!done) return done;
    const auto was = [&](const Result<std::int32_t>& old, int expected) -> Result<void> {
      return old ? same(*old, expected, "old value") : Result<void>(old.error());
    };
    done = was(calls.atomic_fetch(Op::add, word, 1, next), 15);
    if (done) done = was(calls.atomic_fetch(Op::set, word, 40, next), 16);
    if (done) done = was(calls.atomic_compare_swap(word, 41, 5, next), 40);
    if (done) done = was(calls.atomic_compare_swap(word, 40, 6, next), 40);
    if (done) done = calls.atomic(Op::bit_xor, word, 5, next);
    if (done) done = finish(c, calls);
    return done ? is(c, word, 3, "word") : done;
  });
}

TEST(HostCalls, EachCollectiveOfATeamGivesItsResult) {
  expect_calls([](Context& c, Words& w, const HostCalls& calls, int, int) -> Result<void> {
    const HostTeamCalls team = calls.team(kTeamWorld);
    const auto at = [&w](std::size_t place) { return w.dest + place * kCount; };
    Result<void> done = team.broadcast(at(0), w.source, 2, 1);
    if (done) done = team.fcollect(at(1), w.source, 2);
    if (done) done = team.collect(at(2), w.source, static_cast<std::size_t>(c.my_pe()));
    if (done) done = team.alltoall(at(3), w.source, 1);
    if (done) done = team.alltoalls(at(4), w.source, 2, 1, 1);
    if (done) done = team.reduce(at(5), w.source, 2, ReduceOp::max);
    if (done) done = team.reduce_scatter(at(6), w.source, 1, ReduceOp::sum);
    if (done) done = team.sync();
    if (done) done = finish(c, calls);
    if (!done) return done;
    const auto got = test::download(c, w.dest, 7 * kCount);
    if (!got) return got.error();
    const int me = c.my_pe();
    const std::vector<std::vector<int>> expected{{100, 101},
                                                 {0, 1, 100, 101, 200, 201},
                                                 {100, 200, 201},
                                                 {me, 100 + me, 200 + me},
                                                 {me, 0, 100 + me, 0, 200 + me},
                                                 {200, 201},
                                                 {300 + 3 * me}};
    for (std::size_t place = 0; place < expected.size(); ++place) {
      for (std::size_t i = 0; i < expected[place].size() && done; ++i) {
        done = same((*got)[place * kCount + i], expected[place][i],
                    "operation " + std::to_string(place) + ", element " + std::to_string(i));
      }
    }
    return done;
  });
}

// PE 2 is no direct peer, so that puts among the others go directly and signals through the NIC.
TEST(HostCalls, APutWithSignalIsDoneWhenTheCallReturns) {
  Options options = job_options();
  options.transport = TransportChoice::direct;
  options.symmetric_size = options.heap_chunk = 16 << 20;
  test::LimitedProvider provider([](int pe) {
    BackendLimits limits{};
    limits.direct_peers = pe != 2;
    return limits;
  });
  expect_job(3, options, provider, [](Context& c) -> Result<void> {
    constexpr std::size_t kMany = 1 << 20;
    Result<std::int32_t*> source = c.allocate<std::int32_t>(kMany);
    if (!source) return source.error();
    Result<std::int32_t*> dest = c.allocate<std::int32_t>(kMany);
    if (!dest) return dest.error();
    Result<std::uint64_t*> signal = c.allocate<std::uint64_t>(1);
    if (!signal) return signal.error();
    const auto ones = [](std::size_t) { return 1; };
    if (auto done = test::fill(c, *source, kMany, ones); !done) return done;
    if (auto done = c.barrier(); !done) return done;
    const HostCalls now = HostCalls::blocking(c);
    if (c.my_pe() == 0) {
      auto done = now.put_signal(*dest, *source, kMany, *signal, 1, SignalOp::set, 1);
      if (!done) return done;
      if (auto reused = test::fill(c, *source, kMany, [](std::size_t) { return 2; }); !reused) {
        return reused;
      }
    } else if (c.my_pe() == 1) {
      if (auto came = now.wait_until(*signal, Compare::eq, 1); !came) return came;
      if (auto all = test::all_are(c, *dest, kMany, "data", ones); !all) return all;
    }
    return c.barrier();
  });
}

TEST(HostCalls, RefuseMoreElementsThanThereCanBe) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    constexpr std::size_t kTooMany = (std::size_t{1} << 61) + 1;
    const HostCalls now = HostCalls::blocking(c);
    Result<std::uint64_t*> memory = c.allocate<std::uint64_t>(8);
    if (!memory) return memory.error();
    std::uint64_t* const m = *memory;
    const auto refused = [&](const Result<void>& done, const char* what) -> Result<void> {
      if (done) return mismatch(std::string(what) + " was taken");
      c.clear_reports();
      return {};
    };
    Result<void> done = refused(now.put(m, m + 4, kTooMany, 0), "put");
    if (done) {
      done = refused(now.put_signal(m, m + 4, kTooMany, m + 2, 1, SignalOp::set, 0), "put_signal");
    }
    if (done) done = refused(now.iput(m, m + 4, 1, 1, kTooMany, 0), "iput");
    if (done) done = refused(now.team(kTeamWorld).fcollect(m, m + 4, kTooMany), "fcollect");
    if (done) done = refused(now.team(kTeamWorld).broadcast(m, m + 4, kTooMany, 0), "broadcast");
    if (done) done = refused(now.team(kTeamWorld).collect(m, m + 4, kTooMany), "collect");
    return done ? now.put(m, m + 4, 1, 0) : done;
  });
}

TEST(HostCalls, OnlySetAndFetchFloats) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    using atomics::Op;
    const HostCalls now = HostCalls::blocking(c);
    Result<double*> word = c.allocate<double>(1);
    if (!word) return word.error();
    if (auto set = now.atomic(Op::set, *word, 1.5, 0); !set) return set;
    const bool taken = now.atomic(Op::add, *word, 1.0, 0) ||
                       now.atomic(Op::bit_or, *word, 1.0, 0) ||
                       now.atomic_fetch(Op::add, *word, 1.0, 0) ||
                       now.atomic_fetch_nbi(Op::add, *word, *word, 1.0, 0) ||
                       now.atomic(Op::compare_swap, *word, 1.0, 0);
    if (taken) return mismatch("an operation on the bits of a double was taken");
    const Result<double> fetched = now.atomic_fetch(*word, 0);
    if (!fetched) return fetched.error();
    return same(*fetched, 1.5, "the double");
  });
}

TEST(HostCalls, SayWhatFailed) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    const HostCalls now = HostCalls::blocking(c);
    Result<std::int32_t*> word = c.allocate<std::int32_t>(1);
    if (!word) return word.error();
    const Result<void> put = now.put(*word, *word, 1, 7);
    if (put || put.error().message().find("PE 7") == std::string::npos) {
      return mismatch("a put to a PE that is not there");
    }
    c.clear_reports();
    if (now.team(Team{6}).barrier()) return mismatch("a barrier of a team that is not there");
    c.clear_reports();
    const std::int32_t* const null = nullptr;
    const Result<std::size_t> some =
        now.test_some_vector(*word, 1, nullptr, Compare::eq, null, nullptr);
    if (some || some.error().message().find("null pointer") == std::string::npos) {
      return mismatch("a test of words that has nowhere to write to");
    }
    if (now.wait_until(null, Compare::eq, 1)) return mismatch("a wait for a null pointer");
    return now.put_value(*word, 1, 0);
  });
}

}  // namespace
}  // namespace gdakit
