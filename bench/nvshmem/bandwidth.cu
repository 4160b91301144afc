// Bandwidth: blocks of PE 0 write to PE 1, or read from it, each block its share of a message.
#include <algorithm>

#include "bench/nvshmem/perf.cuh"

namespace perf {
namespace {

// The source of repetition i is the message at (i % messages) * bytes.
using Kernel = void (*)(char* dest, const char* source, std::size_t bytes, std::size_t messages,
                        int repetitions, int peer);

// One block's bytes of a message. Sizes and block counts are powers of two by default; what is
// left over otherwise is the last block's.
struct Share {
  std::size_t first;
  std::size_t bytes;
};

__device__ Share share_of_block(std::size_t bytes) {
  const std::size_t each = bytes / gridDim.x / 16 * 16;
  const std::size_t first = each * blockIdx.x;
  return {first, blockIdx.x + 1 == gridDim.x ? bytes - first : each};
}

// Completes what all threads of the block have done.
__device__ void quiet_of_block() {
  __syncthreads();
  if (threadIdx.x == 0) nvshmem_quiet();
}

__global__ void __launch_bounds__(kMaxThreads)
    put_kernel(char* dest, const char* source, std::size_t bytes, std::size_t, int repetitions,
               int peer) {
  const Share share = share_of_block(bytes);
  for (int i = 0; i < repetitions; ++i) {
    nvshmemx_putmem_nbi_block(dest + share.first, source + share.first, share.bytes, peer);
  }
  quiet_of_block();
}

__global__ void __launch_bounds__(kMaxThreads)
    get_kernel(char* dest, const char* source, std::size_t bytes, std::size_t messages,
               int repetitions, int peer) {
  const Share share = share_of_block(bytes);
  const char* const begin = source + share.first;
  const char* const end = begin + messages * bytes;
  const char* from = begin;
  for (int i = 0; i < repetitions; ++i) {
    nvshmemx_getmem_nbi_block(dest + share.first, from, share.bytes, peer);
    from += bytes;
    if (from == end) from = begin;
  }
  quiet_of_block();
}

// Enough messages that the launch does not count.
int repetitions_of(const Perf& perf, std::size_t bytes) {
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  return perf.repetitions(static_cast<int>(std::clamp<std::size_t>(kBytes / bytes, 20, 2000)));
}

// GB/s of messages of `bytes` bytes. A block's share is 512 bytes or more.
double gigabytes_per_second(const Perf& perf, Kernel kernel, const Symmetric& dest,
                            const Symmetric& source, std::size_t bytes, std::size_t messages) {
  constexpr std::size_t kLeastShare = 512;
  const int repetitions = repetitions_of(perf, bytes);
  const auto most = static_cast<std::size_t>(perf.options.blocks);
  const auto blocks = static_cast<unsigned>(std::clamp<std::size_t>(bytes / kLeastShare, 1, most));
  const double seconds = median_of_runs(perf, [&] {
    return seconds_of(perf, [&] {
      kernel<<<blocks, static_cast<unsigned>(perf.options.threads), 0, perf.stream>>>(
          dest.bytes(), source.bytes(), bytes, messages, repetitions, perf.peer());
    });
  });
  return static_cast<double>(bytes) * repetitions / seconds * 1e-9;
}

// More than the caches of a GPU hold.
std::size_t once_bytes(const Perf& perf) {
  return (perf.options.quick ? std::size_t{16} : std::size_t{256}) << 20;
}

// `receiver` finds the data of the other PE in its dest. With `once` the source is larger than a
// GPU's caches, and read from its begin to its end and again; otherwise it is one message.
void measure(Perf& perf, const char* test, Kernel kernel, int receiver, bool once = false) {
  const std::size_t source_bytes =
      std::max(perf.options.max_bytes, once ? once_bytes(perf) : std::size_t{0});
  const Symmetric source(source_bytes);
  const Symmetric dest(perf.options.max_bytes);
  const std::size_t factor = perf.options.quick ? 1024 : 2;
  for (std::size_t bytes = perf.options.min_bytes; bytes <= perf.options.max_bytes;
       bytes *= factor) {
    const std::size_t messages = once ? source_bytes / bytes : 1;
    fill(perf, source, messages * bytes, bytes + static_cast<std::size_t>(perf.me));
    dest.clear(perf);
    nvshmem_barrier_all();
    if (perf.acts()) {
      report(perf, test, bytes, "block",
             gigabytes_per_second(perf, kernel, dest, source, bytes, messages), "GB/s");
    }
    nvshmem_barrier_all();
    if (perf.me != receiver) continue;
    const std::size_t last = static_cast<std::size_t>(repetitions_of(perf, bytes) - 1) % messages;
    const std::uint64_t seed = bytes + static_cast<std::size_t>(perf.peer());
    expect(perf, has_pattern(perf, dest, bytes, seed, last * bytes), test, bytes);
  }
}

}  // namespace

void put_bandwidth(Perf& perf) { measure(perf, "put_bw", put_kernel, 1); }
void get_bandwidth(Perf& perf) { measure(perf, "get_bw", get_kernel, 0); }
void get_bandwidth_once(Perf& perf) { measure(perf, "get_bw_once", get_kernel, 0, true); }

}  // namespace perf
