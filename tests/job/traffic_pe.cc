// One PE of a job that keeps its queues busy: atomics from all PEs on one word, puts with signal
// and gets around a ring, barriers, in a heap that grows meanwhile. `traffic_pe ROUNDS [PE]`: after
// the first half of the rounds, that PE kills itself. `traffic_pe 5s`: as many rounds as PE 0 can
// begin in so many seconds.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <unistd.h>

#include "gdakit.h"

namespace {

using namespace gdakit;

constexpr std::size_t kCount = 20'000;    // elements of a put: many packets between processes
constexpr std::size_t kUnused = 200'000;  // elements that make the heap grow sooner
constexpr std::uint32_t kRoundsPerBuffer = 5;
constexpr std::uint32_t kMostBuffers = 100;  // 100 MB; later rounds go on with the last one
constexpr unsigned kThreads = 64;

struct Round {
  std::uint64_t* sum;
  std::uint64_t* signal;
  std::uint64_t* wrong;  // elements that were not the neighbours'
  std::uint32_t* source;
  std::uint32_t* target;
  std::uint32_t* fetched;
  std::uint64_t* last;  // the number of the last round, once PE 0 has begun it
  std::uint64_t* seen;  // what this PE's kernel read there, for its host
  std::uint32_t number;
  bool is_last;  // as PE 0 knows before it begins a round, which nobody ends before

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const int right = (pe.my_pe() + 1) % pe.n_pes();
    for (std::size_t i = m.thread_index(); i < kCount; i += kThreads) {
      source[i] = number + static_cast<std::uint32_t>(i);
    }
    pe.atomic_add(sum, 1, 0);
    pe.block().put_signal_nbi(target, source, kCount, signal, 1, SignalOp::add, right);
    pe.wait_until(signal, Compare::ge, number);
    check(m, target);
    if (is_last && m.thread_index() == 0) {
      for (int other = 0; other < pe.n_pes(); ++other) pe.put_value(last, number, other);
    }
    pe.block().barrier_all();  // every PE has written its source, and read its target
    pe.block().get(fetched, source, kCount, right);
    check(m, fetched);
    pe.block().barrier_all();  // nobody reads the source any more
    if (m.thread_index() == 0) m.store_weak(seen, m.load(order::RelaxedSystem{}, last));
  }

  template <class Machine>
  GDAKIT_DEVICE void check(Machine& m, const std::uint32_t* got) const {
    for (std::size_t i = m.thread_index(); i < kCount; i += kThreads) {
      if (got[i] != number + i) m.fetch_add(order::RelaxedGpu{}, wrong, 1);
    }
  }
};

// Nothing that this PE has posted is under way any more, the last barrier's messages included.
struct Rest {
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.quiet();
  }
};

// New buffers, most likely in memory that the heap has just got.
Result<void> take_buffers(Context& context, Round& round) {
  auto data = context.allocate<std::uint32_t>(3 * kCount + kUnused);
  if (!data) return data.error();
  round.source = *data;
  round.target = *data + kCount;
  round.fetched = *data + 2 * kCount;
  return {};
}

Result<void> expect(Context& context, const std::uint64_t* word, std::uint64_t expected,
                    const char* what) {
  std::uint64_t value = 0;
  if (Result<void> done = context.download(&value, word, 1); !done) return done;
  if (value == expected) return {};
  return Error(Code::internal, std::string(what) + ": " + std::to_string(value) + " instead of " +
                                   std::to_string(expected));
}

struct Plan {
  std::uint32_t rounds = std::numeric_limits<std::uint32_t>::max();
  std::chrono::steady_clock::duration time = std::chrono::steady_clock::duration::max();
  int victim = -1;
};

Plan plan_of(int argc, char** argv) {
  Plan plan;
  const int number = std::atoi(argv[1]);
  if (std::string_view(argv[1]).ends_with('s')) {
    plan.time = std::chrono::seconds(number);
  } else {
    plan.rounds = static_cast<std::uint32_t>(number);
  }
  if (argc > 2) plan.victim = std::atoi(argv[2]);
  return plan;
}

// Runs round after round until one was the last, whose number is then round.number.
Result<void> run_rounds(Context& context, const Plan& plan, Round& round) {
  const auto begin = std::chrono::steady_clock::now();
  std::uint64_t last = 0;
  do {
    ++round.number;
    if (round.number > plan.rounds / 2 && context.my_pe() == plan.victim) ::raise(SIGKILL);
    if (round.number % kRoundsPerBuffer == 1 && round.number < kMostBuffers * kRoundsPerBuffer) {
      if (Result<void> taken = take_buffers(context, round); !taken) return taken;
    }
    round.is_last = context.my_pe() == 0 && (round.number == plan.rounds ||
                                             std::chrono::steady_clock::now() - begin >= plan.time);
    if (Result<void> ran = context.launch(round, {.blocks = 1, .threads = kThreads}); !ran) {
      return ran;
    }
    if (Result<void> read = context.download(&last, round.seen, 1); !read) return read;
  } while (round.number != last);
  return {};
}

Result<void> run(Context& context, const Plan& plan) {
  auto words = context.allocate<std::uint64_t>(5);
  if (!words) return words.error();
  Round round{*words,  *words + 1, *words + 2, nullptr, nullptr,
              nullptr, *words + 3, *words + 4, 0,       false};
  if (Result<void> ran = run_rounds(context, plan, round); !ran) return ran;
  if (Result<void> rests = context.launch(Rest{}, {.blocks = 1, .threads = 1}); !rests) {
    return rests;
  }
  if (Result<void> right = expect(context, round.wrong, 0, "wrong elements"); !right) return right;
  if (Result<void> met = context.barrier(); !met) return met;
  const std::uint64_t expected =
      std::uint64_t{kThreads} * round.number * static_cast<unsigned>(context.n_pes());
  return context.my_pe() == 0 ? expect(context, round.sum, expected, "the sum") : Result<void>();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::printf("pid %d\n", static_cast<int>(::getpid()));
  std::fflush(stdout);
  auto context = init();
  const Result<void> done =
      context ? run(**context, plan_of(argc, argv)) : Result<void>(context.error());
  if (!done) {
    std::fprintf(stderr, "%s\n", done.error().message().c_str());
    if (context) (*context)->abort(done.error().message());
    return 1;
  }
  std::printf("PE %d is done on %s\n", (*context)->my_pe(), (*context)->device_name().c_str());
  return 0;
}
