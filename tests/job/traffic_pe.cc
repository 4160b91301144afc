// One PE of a job that keeps its queues busy: atomics from all PEs on one word, puts with signal
// and gets around a ring, barriers, in a heap that grows meanwhile. `traffic_pe ROUNDS [PE]`: after
// the first half of the rounds, that PE kills itself.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "gdakit.h"

namespace {

using namespace gdakit;

constexpr std::size_t kCount = 20'000;    // elements of a put: many packets between processes
constexpr std::size_t kUnused = 200'000;  // elements that make the heap grow sooner
constexpr std::uint32_t kRoundsPerBuffer = 5;
constexpr unsigned kThreads = 64;

struct Round {
  std::uint64_t* sum;
  std::uint64_t* signal;
  std::uint64_t* wrong;  // elements that were not the neighbours'
  std::uint32_t* source;
  std::uint32_t* target;
  std::uint32_t* fetched;
  std::uint32_t number;

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
    pe.block().barrier_all();  // every PE has written its source, and read its target
    pe.block().get(fetched, source, kCount, right);
    check(m, fetched);
    pe.block().barrier_all();  // nobody reads the source any more
  }

  template <class Machine>
  GDAKIT_DEVICE void check(Machine& m, const std::uint32_t* got) const {
    for (std::size_t i = m.thread_index(); i < kCount; i += kThreads) {
      if (got[i] != number + i) m.fetch_add(order::RelaxedGpu{}, wrong, 1);
    }
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

Result<void> run(Context& context, std::uint32_t rounds, int victim) {
  auto words = context.allocate<std::uint64_t>(3);
  if (!words) return words.error();
  Round round{*words, *words + 1, *words + 2, nullptr, nullptr, nullptr, 0};
  for (round.number = 1; round.number <= rounds; ++round.number) {
    if (round.number > rounds / 2 && context.my_pe() == victim) ::raise(SIGKILL);
    if (round.number % kRoundsPerBuffer == 1) {
      if (Result<void> taken = take_buffers(context, round); !taken) return taken;
    }
    if (Result<void> ran = context.launch(round, {.blocks = 1, .threads = kThreads}); !ran) {
      return ran;
    }
  }
  if (Result<void> right = expect(context, round.wrong, 0, "wrong elements"); !right) return right;
  if (Result<void> met = context.barrier(); !met) return met;
  const std::uint64_t expected =
      std::uint64_t{kThreads} * rounds * static_cast<unsigned>(context.n_pes());
  return context.my_pe() == 0 ? expect(context, round.sum, expected, "the sum") : Result<void>();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  std::printf("pid %d\n", static_cast<int>(::getpid()));
  std::fflush(stdout);
  auto context = init();
  const Result<void> done = context ? run(**context, static_cast<std::uint32_t>(std::atoi(argv[1])),
                                          argc > 2 ? std::atoi(argv[2]) : -1)
                                    : context.error();
  if (!done) {
    std::fprintf(stderr, "%s\n", done.error().message().c_str());
    if (context) (*context)->abort(done.error().message());
    return 1;
  }
  std::printf("PE %d is done on %s\n", (*context)->my_pe(), (*context)->device_name().c_str());
  return 0;
}
