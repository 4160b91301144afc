// Ping-pong by put_signal: half of the time until a message has come back, by a thread and by a
// block; and the latency of barriers, by a block of each PE.
#include "bench/nvshmem/perf.cuh"

namespace perf {
namespace {

constexpr int kRepetitions = 500;
constexpr int kWarmUp = 20;  // round trips until both PEs are there
constexpr std::size_t kMaxBytes = std::size_t{256} << 10;

// Messages alternate; the n-th one adds 1 to the signal, which was `base` before the first.
__global__ void ping_pong_by_thread(char* dest, const char* source, std::size_t bytes,
                                    std::uint64_t* signal, std::uint64_t base, int repetitions,
                                    int me, int peer, std::uint64_t* took_ns) {
  std::uint64_t begin = 0;
  for (int i = 0; i < kWarmUp + repetitions; ++i) {
    if (i == kWarmUp) begin = now_ns();
    const std::uint64_t next = base + static_cast<std::uint64_t>(i) + 1;
    if (me != 0) nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, next);
    nvshmem_putmem_signal_nbi(dest, source, bytes, signal, 1, NVSHMEM_SIGNAL_ADD, peer);
    if (me == 0) nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, next);
  }
  *took_ns = now_ns() - begin;
  nvshmem_quiet();
}

__global__ void __launch_bounds__(kMaxThreads)
    ping_pong_by_block(char* dest, const char* source, std::size_t bytes, std::uint64_t* signal,
                       std::uint64_t base, int repetitions, int me, int peer,
                       std::uint64_t* took_ns) {
  std::uint64_t begin = 0;
  for (int i = 0; i < 2 * (kWarmUp + repetitions); ++i) {
    if (i == 2 * kWarmUp) begin = now_ns();
    if (i % 2 == me) {
      nvshmemx_putmem_signal_nbi_block(dest, source, bytes, signal, 1, NVSHMEM_SIGNAL_ADD, peer);
    } else if (threadIdx.x == 0) {
      const std::uint64_t next = base + static_cast<std::uint64_t>(i / 2) + 1;
      nvshmem_signal_wait_until(signal, NVSHMEM_CMP_GE, next);
    }
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  *took_ns = now_ns() - begin;
  nvshmem_quiet();
}

__global__ void barriers_of_block(int repetitions, std::uint64_t* took_ns) {
  std::uint64_t begin = 0;
  for (int i = 0; i < kWarmUp + repetitions; ++i) {
    if (i == kWarmUp) begin = now_ns();
    nvshmemx_barrier_all_block();
  }
  if (threadIdx.x == 0) *took_ns = now_ns() - begin;
}

using PingPong = void (*)(char*, const char*, std::size_t, std::uint64_t*, std::uint64_t, int, int,
                          int, std::uint64_t*);

struct Case {
  const char* scope;
  PingPong kernel;
  int threads;
  std::size_t max_bytes;
};

// One kernel on both PEs, for all sizes. The signal goes on counting over kernels.
void measure(Perf& perf, const Case& one, const Symmetric& dest, const Symmetric& source,
             const Symmetric& signal) {
  const int repetitions = perf.repetitions(kRepetitions);
  std::uint64_t base = 0;
  for (std::size_t bytes = 8; bytes <= one.max_bytes; bytes *= 8) {
    dest.clear(perf);
    fill(perf, source, bytes, bytes + static_cast<std::size_t>(perf.me));
    const double ns = median_of_runs(perf, [&] {
      nvshmem_barrier_all();
      launch_together(perf, one.kernel, one.threads, dest.bytes(), source.bytes(), bytes,
                      signal.words(), base, repetitions, perf.me, perf.peer(), perf.words);
      base += static_cast<std::uint64_t>(kWarmUp + repetitions);
      return static_cast<double>(reported(perf, "put_signal"));
    });
    report(perf, "put_signal", bytes, one.scope, ns / repetitions / 2 * 1e-3, "us");
    nvshmem_barrier_all();
    const std::uint64_t seed = bytes + static_cast<std::size_t>(perf.peer());
    expect(perf, has_pattern(perf, dest, bytes, seed), "put_signal", bytes);
  }
}

}  // namespace

void signal_ping_pong(Perf& perf) {
  const Symmetric dest(kMaxBytes);
  const Symmetric source(kMaxBytes);
  for (const Case& one : {Case{"thread", ping_pong_by_thread, 1, 512},
                          Case{"block", ping_pong_by_block, kMaxThreads, kMaxBytes}}) {
    const Symmetric signal(sizeof(std::uint64_t));
    signal.clear(perf);
    nvshmem_barrier_all();
    measure(perf, one, dest, source, signal);
  }
}

void barrier_latency(Perf& perf) {
  constexpr int kThreads = 32;
  const int repetitions = perf.repetitions(kRepetitions);
  const double ns = median_of_runs(perf, [&] {
    nvshmem_barrier_all();
    launch_together(perf, barriers_of_block, kThreads, repetitions, perf.words);
    return static_cast<double>(reported(perf, "barrier"));
  });
  report(perf, "barrier_all", 0, "block", ns / repetitions * 1e-3, "us");
}

}  // namespace perf
