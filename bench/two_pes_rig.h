// What benchmarks of Google Benchmark do with two PEs (two_pes.h): kernels on PE 0, timed by its
// own clock.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

#include <benchmark/benchmark.h>

#include "bench/two_pes.h"

namespace gdakit::bench {

// Runs `kernel` on PE 0 and reports the seconds that it says it took.
template <class Kernel>
void run(benchmark::State& state, TwoPes& pes, const Kernel& kernel) {
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

// Shows the seconds of one of the `count` things of a launch as `name`.
inline void show_seconds_of_one(benchmark::State& state, const char* name, int count) {
  state.counters[name] = benchmark::Counter(
      count, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// `trips` times one 8-byte put and quiet.
inline void run_round_trips(benchmark::State& state, TwoPes& pes, int trips) {
  run(state, pes, [&pes, trips](auto& pe) {
    for (int i = 0; i < trips; ++i) {
      pe.put_value(pes.words(), static_cast<std::uint64_t>(i), 1);
      pe.quiet();
    }
  });
}

// `name`: "RoundTrip/threads".
inline benchmark::internal::Benchmark* register_with(const std::string& name,
                                                     void (*bench)(benchmark::State&, TwoPes*),
                                                     TwoPes* pes) {
  return benchmark::RegisterBenchmark(name.c_str(), bench, pes)->UseManualTime();
}

// The exit status of a program that has no PEs.
inline int say(const std::string& error) { return std::fprintf(stderr, "%s\n", error.c_str()), 1; }

// Runs what is registered; the exit status of the program.
inline int run_registered(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace gdakit::bench
