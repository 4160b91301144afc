// What does it cost a GPU thread to post one 8-byte put? The NIC is out of the way: a block of the
// kernel completes what was announced, so that nobody waits for long. Every cell stands beside the
// bound that the hardware sets, measured in the same run.
#include <algorithm>

#include "bench/gpu/chain_publication.cuh"
#include "bench/gpu/posting_bounds.cuh"
#include "bench/gpu/posting_rig.cuh"
#include "bench/program.h"

namespace gdakit::bench {
namespace {

constexpr std::uint32_t kDepth = 32768;
constexpr std::uint32_t kOwnDepth = 1024;
constexpr std::uint32_t kBatch = 32;
constexpr int kMaxThreads = 256;

struct PostTask {
  DeviceContext context;
  std::uint64_t* heap;
  std::uint32_t puts;        // of each thread
  std::uint32_t ring_every;  // 1: a doorbell for each put
  unsigned* finished;
  long long* cycles;  // of block 0's first thread
  Counts* counts;
};

// Which handle posts.
template <class Publication>
struct Handle {
  template <class M>
  __device__ static auto of(M& m, const DeviceContext& context) {
    return Pe<M, ThreadGroup, Publication>(m, context);
  }
};
template <>
struct Handle<ExclusivePublication> {
  template <class M>
  __device__ static auto of(M& m, const DeviceContext& context) {
    return Pe<M>(m, context).exclusively_on(queue_of_block(context.mapped_queues, blockIdx.x));
  }
};

template <class M, class Publication>
__device__ void post_all(M& m, const PostTask& task) {
  auto pe = Handle<Publication>::of(m, task.context);
  std::uint64_t* const word = task.heap + blockIdx.x * 1024 + threadIdx.x;
  const long long begin = clock64();
  std::uint32_t left = task.ring_every;
  for (std::uint32_t i = 0; i < task.puts; ++i) {
    --left;
    pe.put_nbi(word, word, 1, 0, left == 0 ? Batch::last : Batch::more);
    if (left == 0) left = task.ring_every;
  }
  if (blockIdx.x == 0 && threadIdx.x == 0) *task.cycles = clock64() - begin;
}

// The last block stands in for the NIC.
template <class M, class Publication>
__device__ void post_or_complete(const PostTask& task) {
  const unsigned posters = gridDim.x - 1;
  if (blockIdx.x == posters) {
    complete_all(task.context, task.finished, posters);
    return;
  }
  M m(task.context);
  post_all<M, Publication>(m, task);
  if constexpr (std::is_base_of_v<CountingMachine, M>) m.add_to(task.counts);
  __syncthreads();
  if (threadIdx.x == 0) atomicAdd(task.finished, 1u);
}

template <class M, class Publication>
__global__ void post_kernel(PostTask task) {
  post_or_complete<M, Publication>(task);
}

// Counters take registers, of which there must be enough for two blocks on an SM: else the last one
// finds no room. They count the same.
template <class M, class Publication>
__global__ void __launch_bounds__(kMaxThreads, 2) count_kernel(PostTask task) {
  post_or_complete<M, Publication>(task);
}

using Kernel = void (*)(PostTask);

struct Policy {
  const char* name;
  Sharing sharing;
  std::uint64_t first_word;
  Kernel together, alone, counting_together, counting_alone;
  bool quadratic;  // its time grows with the square of the posters: few puts are enough
};

template <class P>
Policy policy(const char* name, std::uint64_t first_word, bool quadratic) {
  return {name,
          P::sharing,
          first_word,
          post_kernel<CudaMachine, P>,
          post_kernel<Alone<CudaMachine>, P>,
          count_kernel<CountingMachine, P>,
          count_kernel<Alone<CountingMachine>, P>,
          quadratic};
}

struct CellShape {
  const char* name;
  std::uint32_t blocks, threads;
  bool together;  // lanes of a warp post together
  bool own_queues;
  std::uint32_t puts;  // of each thread

  std::uint32_t crews() const { return blocks * (together ? (threads + 31) / 32 : threads); }
};

constexpr CellShape kOneThread{"1 thread", 1, 1, true, false, 4000};
constexpr CellShape kOwn{"132 x 1 thread, own QPs", 132, 1, true, true, 4000};
constexpr CellShape kShapes[] = {
    kOneThread,
    {"1 warp together", 1, 32, true, false, 4000},
    {"1 block, 8 warps together", 1, 256, true, false, 2000},
    {"132 x 1 thread", 132, 1, true, false, 2000},
    {"132 x 32 threads alone", 132, 32, false, false, 100},
    {"132 x 8 warps together", 132, 256, true, false, 400},
    {"132 x 1 warp together", 132, 32, true, false, 1000},
    kOwn,
};

struct Figures {
  double ns_per_put;  // of one thread of block 0
  double cycles_per_put;
  double puts_per_s;  // of all threads
  Counts counts;      // of all threads
  double puts;        // of all threads, while counting
};

Result<double> run_once(const CellShape& shape, const Policy& policy, Kernel kernel,
                        std::uint32_t puts, std::uint32_t ring_every, long long* cycles,
                        Counts* counts) {
  PostingRig rig;
  DeviceMemory<unsigned> finished;
  PinnedMemory<long long> spent;
  DeviceMemory<Counts> sums;
  GpuTimer timer;
  const auto made = first_error(
      rig.create(shape.own_queues ? shape.blocks : 1, shape.own_queues ? kOwnDepth : kDepth,
                 policy.sharing, policy.first_word),
      finished.allocate(1), spent.allocate(1), sums.allocate(1), timer.create());
  if (!made) return made.error();
  const PostTask task{rig.context(),  rig.heap(),  puts,      ring_every,
                      finished.get(), spent.get(), sums.get()};
  auto ms = timer.measure([&] { kernel<<<shape.blocks + 1, shape.threads>>>(task); });
  if (!ms) return ms.error();
  if (auto healthy = rig.check_stalls(); !healthy) return healthy.error();
  *cycles = *spent.get();
  const auto read =
      check(cudaMemcpy(counts, sums.get(), sizeof(*counts), cudaMemcpyDeviceToHost), "cudaMemcpy");
  if (!read) return read.error();
  return ms.value() * 1e6;
}

Result<Figures> measure(const CellShape& shape, const Policy& policy, std::uint32_t ring_every,
                        bool quick) {
  const bool few = policy.quadratic && shape.crews() > 8;
  const std::uint32_t least = few ? 4 : 2 * kBatch;
  const std::uint32_t wanted = few ? 8 : std::max(least, shape.puts / (quick ? 20 : 1));
  const std::uint32_t puts = wanted < kBatch ? wanted : wanted / kBatch * kBatch;
  const double all = double{1} * puts * shape.blocks * shape.threads;
  Figures best{};
  long long cycles = 0;
  for (int repetition = 0; repetition < (quick || few ? 1 : 3); ++repetition) {
    Counts unused{};
    auto ns = run_once(shape, policy, shape.together ? policy.together : policy.alone, puts,
                       ring_every, &cycles, &unused);
    if (!ns) return ns.error();
    if (best.puts_per_s != 0 && all / ns.value() * 1e9 < best.puts_per_s) continue;
    best.puts_per_s = all / ns.value() * 1e9;
    best.ns_per_put = ns.value() / puts;
    best.cycles_per_put = static_cast<double>(cycles) / puts;
  }
  auto counted =
      run_once(shape, policy, shape.together ? policy.counting_together : policy.counting_alone,
               least, ring_every, &cycles, &best.counts);
  if (!counted) return counted.error();
  best.puts = double{1} * least * shape.blocks * shape.threads;
  return best;
}

// The bound of one cell in puts a second, and what sets it.
struct Bound {
  double puts_per_s;
  const char* name;
};

Bound bound_of(const CellShape& shape, const Policy& policy, std::uint32_t ring_every,
               const Bounds& bounds, const AtomicRate& atomics) {
  const double lanes = shape.together ? std::min(shape.threads, 32u) : 1;
  const bool alone = shape.crews() == 1 || shape.own_queues;
  if (alone && ring_every == 1) {
    const double queues = shape.own_queues ? shape.blocks : 1;
    return {queues * lanes * 1e9 / bounds.ring_ns, "two fences, record, doorbell"};
  }
  if (policy.sharing == Sharing::exclusive) {
    return {shape.blocks * 1e9 / bounds.wqe_ns, "WQE stores"};
  }
  if (shape.own_queues)
    return {shape.blocks * 1e9 / bounds.atomic_ns / 2, "two atomics, own words"};
  return {atomics.per_s / 2 * lanes, "two atomics, one word each"};
}

Result<void> add_row(Table& table, const CellShape& shape, const Policy& policy,
                     std::uint32_t ring_every, const Bounds& bounds, bool quick) {
  auto figures = measure(shape, policy, ring_every, quick);
  if (!figures) {
    return figures.error().within(std::string(shape.name) + ", " + policy.name);
  }
  auto atomics = measure_atomics(shape.blocks, std::max(1u, shape.crews() / shape.blocks), quick);
  if (!atomics) return atomics.error();
  const Figures& got = figures.value();
  const Bound bound = bound_of(shape, policy, ring_every, bounds, atomics.value());
  const auto per_put = [&got](unsigned long long count) {
    return static_cast<double>(count) / got.puts;
  };
  table.add_row({shape.name, policy.name, ring_every == 1 ? "each" : "32nd", got.ns_per_put,
                 got.cycles_per_put, got.puts_per_s / 1e6, per_put(got.counts.atomics),
                 per_put(got.counts.fences), per_put(got.counts.loads), per_put(got.counts.mmio),
                 bound.puts_per_s / 1e6, bound.puts_per_s / got.puts_per_s, bound.name});
  return {};
}

Result<void> run(Report& report, bool quick) {
  auto bounds = measure_bounds(report, quick);
  if (!bounds) return bounds.error();
  Table& table = report.add_table("posting an 8-byte put",
                                  {{"posters"},
                                   {"policy"},
                                   {"doorbell"},
                                   {"a put", "ns"},
                                   {"a put", "SM cycles"},
                                   {"puts", "M/s"},
                                   {"atomics"},
                                   {"fences"},
                                   {"loads"},
                                   {"doorbells"},
                                   {"bound", "M/s"},
                                   {"bound/figure"},
                                   {"what bounds"}},
                                  "posting");
  const Policy exclusive = policy<ExclusivePublication>("exclusive", 0, false);
  const Policy shared = policy<SharedPublication>("shared", kInitialReadyWord, false);
  const Policy chain = policy<ChainPublication>("chain", 0, true);
  for (const CellShape& shape : kShapes) {
    for (const Policy* const each : {&exclusive, &shared, &chain}) {
      const bool one_poster = shape.threads == 1 && (shape.blocks == 1 || shape.own_queues);
      if (each == &exclusive && !one_poster) continue;
      for (const std::uint32_t ring_every : {1u, kBatch}) {
        if (each == &chain && ring_every > 1) continue;  // it rings by a rule of its own
        auto done = add_row(table, shape, *each, ring_every, bounds.value(), quick);
        if (!done) return done;
      }
    }
  }
  report.add_note(
      "Queues, records and CQEs lie in GPU memory, doorbells in pinned host memory. A block of the "
      "kernel completes what a record announces. Counts are per put; fences count those inside "
      "releasing stores and atomics. The chain is the publication of the best public device code, "
      "with its own rule of when to ring.");
  return {};
}

}  // namespace
}  // namespace gdakit::bench

int main(int argc, char** argv) {
  using namespace gdakit::bench;
  Program program("posting_gpu_bench", "What does it cost a GPU thread to post one put?");
  return program.main(argc, argv,
                      [&program](Report& report) { return run(report, program.quick()); });
}
