// Operations that the host asks for, at once and on a stream.
#include "host_calls/host_calls.h"

#include "tests/support/job.h"

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

TEST(HostCalls, PutAndGet) {
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

TEST(HostCalls, SignalsAndWaits) {
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

TEST(HostCalls, Atomics) {
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

TEST(HostCalls, CollectivesOfATeam) {
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
    return now.put_value(*word, 1, 0);
  });
}

}  // namespace
}  // namespace gdakit
