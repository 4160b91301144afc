// What the performance programs of this folder share. They use NVSHMEM's public interface and the
// CUDA runtime, nothing of gdakit, so that the same sources build with gdakit::nvshmem and with
// NVIDIA's NVSHMEM (scripts/compare-nvshmem): C++17, with or without relocatable device code.
//
// A test is a function of Perf. PE 0 acts, PE 1 is acted upon; others wait, except in barriers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda/std/chrono>
#include <cuda_runtime.h>
#include <nvshmem.h>
#include <nvshmemx.h>
#include <string>
#include <tuple>
#include <vector>

namespace perf {

constexpr int kMaxThreads = 512;  // of a block: leaves each of them 128 registers

struct Options {
  std::string test;  // empty: all
  int rank = -1;     // -1: whatever nvshmem_init finds
  int size = 0;
  std::string id_file;  // how the unique id travels, with a rank
  std::size_t min_bytes = 1024;
  std::size_t max_bytes = std::size_t{64} << 20;
  int blocks = 64;
  int threads = kMaxThreads;
  bool csv = false;
  bool quick = false;  // a few repetitions of a few sizes: does it work at all?
};

// The PE, and what all tests need.
struct Perf {
  Options options;
  int me = 0;
  int n_pes = 0;
  cudaStream_t stream = nullptr;
  std::uint64_t* words = nullptr;  // kWords of the GPU's memory, for what kernels report
  int failures = 0;

  int peer() const { return 1 - me; }
  bool acts() const { return me == 0; }
  int repetitions(int usual) const { return options.quick ? 4 : usual; }
};
constexpr int kWords = 4;

// Ends the program, and the job with it, if a call failed.
inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  nvshmem_global_exit(1);
  std::exit(1);
}
inline void finish(const Perf& perf, const char* what) {
  check(cudaGetLastError(), what);
  check(cudaStreamSynchronize(perf.stream), what);
}

// One line of the table, or of CSV; by PE 0.
void report(const Perf& perf, const char* test, std::size_t bytes, const char* scope, double value,
            const char* unit);
// A failure, if data are not what they must be.
void expect(Perf& perf, bool holds, const char* test, std::size_t bytes);

// Symmetric memory for as long as a test needs it. Collective.
class Symmetric {
 public:
  explicit Symmetric(std::size_t bytes) : memory_(nvshmem_malloc(bytes)), bytes_(bytes) {
    if (memory_ != nullptr) return;
    std::fprintf(stderr, "there are no %zu bytes in the symmetric heap\n", bytes);
    nvshmem_global_exit(1);
  }
  ~Symmetric() { nvshmem_free(memory_); }
  Symmetric(const Symmetric&) = delete;
  Symmetric& operator=(const Symmetric&) = delete;

  char* bytes() const { return static_cast<char*>(memory_); }
  std::uint64_t* words() const { return static_cast<std::uint64_t*>(memory_); }

  // On this PE; others may write only behind the next barrier.
  void clear(const Perf& perf) const {
    check(cudaMemsetAsync(memory_, 0, bytes_, perf.stream), "cudaMemset");
    finish(perf, "clearing memory");
  }

 private:
  void* memory_;
  std::size_t bytes_;
};

// Fills with a pattern in which no two words are the same; and whether the memory begins with what
// stands in the pattern from byte `from` on. On this PE.
void fill(const Perf& perf, const Symmetric& memory, std::size_t bytes, std::uint64_t seed);
bool has_pattern(const Perf& perf, const Symmetric& memory, std::size_t bytes, std::uint64_t seed,
                 std::size_t from = 0);

// Launches a kernel of one block on all PEs, whose blocks meet.
template <class... Parameters, class... Arguments>
void launch_together(const Perf& perf, void (*kernel)(Parameters...), int threads,
                     Arguments... arguments) {
  std::tuple<Parameters...> values(arguments...);
  std::apply(
      [&](auto&... value) {
        void* addresses[] = {&value...};
        const int status = nvshmemx_collective_launch(reinterpret_cast<const void*>(kernel),
                                                      dim3(1), dim3(static_cast<unsigned>(threads)),
                                                      addresses, 0, perf.stream);
        if (status != 0) check(cudaErrorLaunchFailure, "nvshmemx_collective_launch");
      },
      values);
}

// What the last kernel wrote into words[0], waiting for it.
std::uint64_t reported(const Perf& perf, const char* what);

// The median of the runs of `measure`, after one that does not count.
inline int runs_of(const Perf& perf) { return perf.options.quick ? 1 : 5; }
template <class Measure>
double median_of_runs(const Perf& perf, const Measure& measure) {
  std::vector<double> runs;
  measure();
  for (int i = 0; i < runs_of(perf); ++i) runs.push_back(measure());
  std::sort(runs.begin(), runs.end());
  return runs[runs.size() / 2];
}

// Seconds that the GPU takes for what `launch` puts into the stream.
template <class Launch>
double seconds_of(const Perf& perf, const Launch& launch) {
  cudaEvent_t begin = nullptr;
  cudaEvent_t end = nullptr;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  check(cudaEventRecord(begin, perf.stream), "cudaEventRecord");
  launch();
  check(cudaEventRecord(end, perf.stream), "cudaEventRecord");
  finish(perf, "a timed kernel");
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  check(cudaEventDestroy(begin), "cudaEventDestroy");
  check(cudaEventDestroy(end), "cudaEventDestroy");
  return static_cast<double>(milliseconds) * 1e-3;
}

// The GPU's clock of nanoseconds.
__device__ inline std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(
      cuda::std::chrono::system_clock::now().time_since_epoch().count());
}

// The tests, each under its name on the command line.
void put_bandwidth(Perf& perf);
void get_bandwidth(Perf& perf);
void get_bandwidth_once(Perf& perf);
void put_latency(Perf& perf);
void get_latency(Perf& perf);
void get_latency_once(Perf& perf);
void signal_ping_pong(Perf& perf);
void atomic_latency(Perf& perf);
void atomic_rate(Perf& perf);
void barrier_latency(Perf& perf);

}  // namespace perf
