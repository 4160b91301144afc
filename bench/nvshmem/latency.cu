// Latency of one operation at a time: put and quiet, get and g, by a thread and by a block.
#include "bench/nvshmem/perf.cuh"

namespace perf {
namespace {

constexpr int kRepetitions = 1000;
constexpr std::size_t kMaxBytes = std::size_t{256} << 10;

// Repetition i reads at source + i * step.
using Kernel = void (*)(char* dest, const char* source, std::size_t bytes, std::size_t step,
                        int repetitions, int peer, std::uint64_t* took_ns);

__global__ void put_by_thread(char* dest, const char* source, std::size_t bytes, std::size_t,
                              int repetitions, int peer, std::uint64_t* took_ns) {
  const std::uint64_t begin = now_ns();
  for (int i = 0; i < repetitions; ++i) {
    nvshmem_putmem_nbi(dest, source, bytes, peer);
    nvshmem_quiet();
  }
  *took_ns = now_ns() - begin;
}

__global__ void __launch_bounds__(kMaxThreads)
    put_by_block(char* dest, const char* source, std::size_t bytes, std::size_t, int repetitions,
                 int peer, std::uint64_t* took_ns) {
  const std::uint64_t begin = now_ns();
  for (int i = 0; i < repetitions; ++i) {
    nvshmemx_putmem_nbi_block(dest, source, bytes, peer);
    __syncthreads();
    if (threadIdx.x == 0) nvshmem_quiet();
    __syncthreads();
  }
  if (threadIdx.x == 0) *took_ns = now_ns() - begin;
}

// Each address depends on the value before it, which is 0.
__global__ void get_word(char* dest, const char* source, std::size_t, std::size_t step,
                         int repetitions, int peer, std::uint64_t* took_ns) {
  const std::uint64_t begin = now_ns();
  std::uint64_t last = 0;
  for (int i = 0; i < repetitions; ++i, source += step) {
    last = nvshmem_uint64_g(reinterpret_cast<const std::uint64_t*>(source) + last, peer);
  }
  *took_ns = now_ns() - begin;
  *reinterpret_cast<std::uint64_t*>(dest) = last;
}

__global__ void __launch_bounds__(kMaxThreads)
    get_by_block(char* dest, const char* source, std::size_t bytes, std::size_t step,
                 int repetitions, int peer, std::uint64_t* took_ns) {
  const std::uint64_t begin = now_ns();
  for (int i = 0; i < repetitions; ++i, source += step) {
    nvshmemx_getmem_block(dest, source, bytes, peer);
    __syncthreads();
  }
  if (threadIdx.x == 0) *took_ns = now_ns() - begin;
}

struct Case {
  const char* test;
  const char* scope;
  Kernel kernel;
  int threads;
  std::size_t min_bytes;
  std::size_t max_bytes;
};

// How far from each other sources lie of which nothing else may come along: more than a line.
constexpr std::size_t kBytesApart = 256;

// The most that is read in one measurement of addresses that are read once.
constexpr std::size_t kOnceBytes = std::size_t{64} << 20;

double nanoseconds(const Perf& perf, const Case& one, const Symmetric& dest,
                   const Symmetric& source, std::size_t bytes, bool once) {
  const std::size_t step = once ? std::max(bytes, kBytesApart) : 0;
  const int room = once ? static_cast<int>(kOnceBytes / step) : kRepetitions;
  const int repetitions = std::min(room, perf.repetitions(kRepetitions));
  return median_of_runs(perf, [&] {
    one.kernel<<<1, static_cast<unsigned>(one.threads), 0, perf.stream>>>(
        dest.bytes(), source.bytes(), bytes, step, repetitions, perf.peer(), perf.words);
    return static_cast<double>(reported(perf, one.test)) / repetitions;
  });
}

// PE 0 measures; PE 1 waits, for one size at a time, because a wait has a limit.
template <std::size_t kCases>
void measure_all(Perf& perf, const Case (&cases)[kCases], bool once = false) {
  const Symmetric dest(kMaxBytes);
  const Symmetric source(once ? kOnceBytes : kMaxBytes);
  source.clear(perf);
  dest.clear(perf);
  nvshmem_barrier_all();
  for (const Case& one : cases) {
    for (std::size_t bytes = one.min_bytes; bytes <= one.max_bytes; bytes *= 8) {
      if (perf.acts()) {
        const double ns = nanoseconds(perf, one, dest, source, bytes, once);
        report(perf, one.test, bytes, one.scope, ns * 1e-3, "us");
      }
      nvshmem_barrier_all();
    }
  }
}

}  // namespace

void put_latency(Perf& perf) {
  constexpr Case kCases[] = {
      {"put_latency", "thread", put_by_thread, 1, 8, 512},
      {"put_latency", "block", put_by_block, kMaxThreads, 8, kMaxBytes},
  };
  measure_all(perf, kCases);
}

void get_latency(Perf& perf) {
  constexpr Case kCases[] = {
      {"g_latency", "thread", get_word, 1, 8, 8},
      {"get_latency", "block", get_by_block, kMaxThreads, 8, kMaxBytes},
  };
  measure_all(perf, kCases);
}

void get_latency_once(Perf& perf) {
  constexpr Case kCases[] = {
      {"g_latency_once", "thread", get_word, 1, 8, 8},
      {"get_latency_once", "block", get_by_block, kMaxThreads, 8, kMaxBytes},
  };
  measure_all(perf, kCases, true);
}

}  // namespace perf
