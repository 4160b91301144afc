// What does the whole path cost, from a kernel's call through the NIC's thread to completion?
//
//   RoundTrip       one 8-byte put and quiet, seconds each
//   Bandwidth       large puts kept in flight, bytes a second, held against memcpy of the same
//   bytes
//
// "threads": both PEs in this process, payload by reference. "processes": a child is the other PE,
// payload through shared memory.
#include <cstring>
#include <memory>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <benchmark/benchmark.h>

#include "bench/two_pes.h"

namespace gdakit::bench {
namespace {

constexpr std::size_t kBytes = 8 << 20;  // beyond the caches' size together with its copy
constexpr int kBatch = 16;

// Runs `kernel` on PE 0 and reports the seconds that it says it took.
template <class Kernel>
void run(benchmark::State& state, TwoPes& pes, Kernel kernel) {
  for (auto _ : state) {
    double seconds = 0;
    const Result<void> ran = pes.launch([&](auto& pe) {
      const std::uint64_t begin = pe.machine().clock_ns();
      kernel(pe);
      seconds = static_cast<double>(pe.machine().clock_ns() - begin) * 1e-9;
    });
    if (!ran) return state.SkipWithError(ran.error().message().c_str());
    state.SetIterationTime(seconds);
  }
}

void RoundTrip(benchmark::State& state, TwoPes* pes) {
  constexpr int kTrips = 200;
  run(state, *pes, [pes](auto& pe) {
    for (int i = 0; i < kTrips; ++i) {
      pe.put_value(pes->words(), static_cast<std::uint64_t>(i), 1);
      pe.quiet();
    }
  });
  state.counters["per_trip"] = benchmark::Counter(
      kTrips, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void Bandwidth(benchmark::State& state, TwoPes* pes) {
  const auto message = static_cast<std::size_t>(state.range(0));
  run(state, *pes, [pes, message](auto& pe) {
    for (std::size_t at = 0; at < kBytes; at += message) {
      const bool last = (at / message) % kBatch == kBatch - 1;
      pe.put_nbi(pes->target() + at, pes->source() + at, message, 1,
                 last ? Batch::last : Batch::more);
    }
    pe.quiet();
  });
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kBytes));
}

void Memcpy(benchmark::State& state, TwoPes* pes) {
  const auto message = static_cast<std::size_t>(state.range(0));
  for (auto _ : state) {
    for (std::size_t at = 0; at < kBytes; at += message) {
      std::memcpy(pes->target() + at, pes->source() + at, message);
    }
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * kBytes));
}

void register_all(const std::string& where, TwoPes* pes) {
  benchmark::RegisterBenchmark(("RoundTrip/" + where).c_str(), RoundTrip, pes)->UseManualTime();
  benchmark::RegisterBenchmark(("Bandwidth/" + where).c_str(), Bandwidth, pes)
      ->UseManualTime()
      ->Arg(4096)
      ->Arg(65536)
      ->Arg(1 << 20);
  benchmark::RegisterBenchmark(("Memcpy/" + where).c_str(), Memcpy, pes)->Arg(65536);
}

int main(int argc, char** argv) {
  // The child is made first, while this process has one thread.
  Result<std::unique_ptr<TwoPes>> processes = TwoPes::as_processes(2 * kBytes);
  if (!processes) return std::fprintf(stderr, "%s\n", processes.error().message().c_str()), 1;
  Result<std::unique_ptr<TwoPes>> threads = TwoPes::as_threads(2 * kBytes);
  if (!threads) return std::fprintf(stderr, "%s\n", threads.error().message().c_str()), 1;
  register_all("threads", threads->get());
  register_all("processes", processes->get());
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace
}  // namespace gdakit::bench

int main(int argc, char** argv) { return gdakit::bench::main(argc, argv); }
