// One PE of a job that keeps its queues busy: atomics from all PEs on one word, puts with signal
// around a ring, barriers. `traffic_pe ROUNDS [PE]`: after the first half of the rounds, that PE
// kills itself.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include "gdakit.h"

namespace {

using namespace gdakit;

constexpr std::size_t kCount = 20'000;  // elements of a put: many packets between processes
constexpr unsigned kThreads = 64;

struct Round {
  std::uint64_t* sum;
  std::uint64_t* signal;
  std::uint64_t* wrong;  // elements that were not the left neighbour's
  std::uint32_t* source;
  std::uint32_t* target;
  std::uint32_t number;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (std::size_t i = m.thread_index(); i < kCount; i += kThreads) {
      source[i] = number + static_cast<std::uint32_t>(i);
    }
    pe.atomic_add(sum, 1, 0);
    pe.block().put_signal_nbi(target, source, kCount, signal, 1, SignalOp::add,
                              (pe.my_pe() + 1) % pe.n_pes());
    pe.wait_until(signal, Compare::ge, number);
    for (std::size_t i = m.thread_index(); i < kCount; i += kThreads) {
      if (target[i] != number + i) m.fetch_add(order::RelaxedGpu{}, wrong, 1);
    }
    pe.block().barrier_all();  // before the left neighbour overwrites the target
  }
};

Result<void> run(Context& context, std::uint32_t rounds, int victim) {
  auto words = context.allocate<std::uint64_t>(3);
  if (!words) return words.error();
  auto data = context.allocate<std::uint32_t>(2 * kCount);
  if (!data) return data.error();
  Round round{*words, *words + 1, *words + 2, *data, *data + kCount, 0};
  for (round.number = 1; round.number <= rounds; ++round.number) {
    if (round.number > rounds / 2 && context.my_pe() == victim) ::raise(SIGKILL);
    if (Result<void> ran = context.launch(round, {.blocks = 1, .threads = kThreads}); !ran)
      return ran;
  }
  if (*round.wrong != 0) {
    return Error(Code::internal, std::to_string(*round.wrong) + " elements are wrong");
  }
  if (Result<void> met = context.barrier(); !met) return met;
  const std::uint64_t expected =
      std::uint64_t{kThreads} * rounds * static_cast<unsigned>(context.n_pes());
  if (context.my_pe() == 0 && *round.sum != expected) {
    return Error(Code::internal, "the sum is " + std::to_string(*round.sum));
  }
  return {};
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
  std::printf("PE %d is done\n", (*context)->my_pe());
  return 0;
}
