// Atomics on PE 1's memory: the latency of those that return, and the rate of adds by many threads,
// to one word and to words of their own.
#include "bench/nvshmem/perf.cuh"

namespace perf {
namespace {

constexpr int kAddsOfThread = 64;

// Latencies are means over words that lie apart: how long an atomic takes depends on its word's
// place in the other GPU's cache.
constexpr int kWordsApart = 32;
constexpr int kPlaces = 64;
constexpr int kRounds = 16;

// One add behind the other: what each fetched decides what the next one adds, which is 1.
__global__ void fetch_adds(std::uint64_t* words, int rounds, int peer, std::uint64_t* took_ns) {
  const std::uint64_t begin = now_ns();
  std::uint64_t old = 0;
  for (int i = 0; i < rounds * kPlaces; ++i) {
    std::uint64_t* const word = words + i % kPlaces * kWordsApart;
    old = nvshmem_uint64_atomic_fetch_add(word, old == ~std::uint64_t{0} ? 2 : 1, peer);
  }
  *took_ns = now_ns() - begin;
}

// Each swap succeeds: all words hold the same, and one more after each round.
__global__ void compare_swaps(std::uint64_t* words, int rounds, int peer, std::uint64_t* took_ns) {
  const std::uint64_t begin = now_ns();
  std::uint64_t value = nvshmem_uint64_atomic_fetch_add(words, 0, peer);
  for (int i = 0; i < rounds; ++i, ++value) {
    for (int place = 0; place < kPlaces; ++place) {
      std::uint64_t* const word = words + place * kWordsApart;
      value = nvshmem_uint64_atomic_compare_swap(word, value, value + 1, peer);
    }
  }
  *took_ns = now_ns() - begin;
}

// `spread`: 1 for a word of each thread's own, 0 for the first one.
__global__ void __launch_bounds__(kMaxThreads)
    adds(std::uint64_t* words, unsigned spread, int repetitions, int peer) {
  const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
  std::uint64_t* const word = words + std::size_t{thread} * spread;
  for (int i = 0; i < repetitions; ++i) nvshmem_uint64_atomic_add(word, 1, peer);
  nvshmem_quiet();
}

// How often median_of_runs starts a kernel.
std::uint64_t kernels_of(const Perf& perf) { return 1 + static_cast<std::uint64_t>(runs_of(perf)); }

// PE 1 holds `count` words that lie `apart` words apart against what the kernels of PE 0 must have
// made of them.
void expect_all(Perf& perf, const Symmetric& words, int count, int apart, std::uint64_t sum,
                const char* test) {
  nvshmem_barrier_all();
  if (perf.acts()) return;
  std::vector<std::uint64_t> found(static_cast<std::size_t>((count - 1) * apart + 1));
  check(cudaMemcpyAsync(found.data(), words.words(), found.size() * sizeof(found[0]),
                        cudaMemcpyDeviceToHost, perf.stream),
        "cudaMemcpy");
  finish(perf, test);
  bool holds = true;
  for (int i = 0; i < count; ++i) {
    holds = holds && found[static_cast<std::size_t>(i * apart)] == sum;
  }
  expect(perf, holds, test, sizeof(found[0]));
}

using Latency = void (*)(std::uint64_t*, int, int, std::uint64_t*);

void measure_latency(Perf& perf, const char* test, Latency kernel) {
  const int rounds = perf.repetitions(kRounds);
  const Symmetric words(kPlaces * kWordsApart * sizeof(std::uint64_t));
  words.clear(perf);
  nvshmem_barrier_all();
  if (perf.acts()) {
    const double ns = median_of_runs(perf, [&] {
      kernel<<<1, 1, 0, perf.stream>>>(words.words(), rounds, perf.peer(), perf.words);
      return static_cast<double>(reported(perf, test));
    });
    report(perf, test, sizeof(std::uint64_t), "thread", ns / rounds / kPlaces * 1e-3, "us");
  }
  const std::uint64_t sum = static_cast<std::uint64_t>(rounds) * kernels_of(perf);
  expect_all(perf, words, kPlaces, kWordsApart, sum, test);
}

void measure_rate(Perf& perf, const char* scope, unsigned spread) {
  const auto blocks = static_cast<unsigned>(perf.options.blocks);
  const auto threads = static_cast<unsigned>(perf.options.threads);
  const std::size_t all_threads = std::size_t{blocks} * threads;
  const int repetitions = perf.repetitions(kAddsOfThread);
  const Symmetric words(all_threads * sizeof(std::uint64_t));
  words.clear(perf);
  nvshmem_barrier_all();
  if (perf.acts()) {
    const double seconds = median_of_runs(perf, [&] {
      return seconds_of(perf, [&] {
        adds<<<blocks, threads, 0, perf.stream>>>(words.words(), spread, repetitions, perf.peer());
      });
    });
    const double count = static_cast<double>(all_threads) * repetitions;
    report(perf, "atomic_add_rate", sizeof(std::uint64_t), scope, count / seconds * 1e-6, "M/s");
  }
  const std::size_t count = spread == 0 ? 1 : all_threads;
  const std::uint64_t adders = all_threads / count;  // of each word
  const std::uint64_t sum = adders * static_cast<std::uint64_t>(repetitions) * kernels_of(perf);
  expect_all(perf, words, static_cast<int>(count), 1, sum, "atomic_add");
}

}  // namespace

void atomic_latency(Perf& perf) {
  measure_latency(perf, "fetch_add", fetch_adds);
  measure_latency(perf, "compare_swap", compare_swaps);
}

void atomic_rate(Perf& perf) {
  measure_rate(perf, "one_word", 0);
  measure_rate(perf, "word_each", 1);
}

}  // namespace perf
