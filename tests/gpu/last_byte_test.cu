// The end of a message under the eyes of GPU threads: once its last byte is there, nothing of the
// message is missing, whichever method of the soft NIC's DMA port brought it.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cuda/atomic>
#include <cuda_runtime_api.h>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/bits.h"
#include "tests/gpu/dma_port.cuh"

namespace gdakit::softnic::test {
namespace {

// A kernel ends by itself after this.
constexpr std::uint64_t kLimitCycles = std::uint64_t{20} << 30;
// Each fills the message with its number.
constexpr std::uint32_t kRounds = 250;

// Memory that is zero at first.
class Bytes : public Words {
 public:
  explicit Bytes(std::size_t size, Place place = Place::gpu)
      : Words(divide_up(size, sizeof(std::uint64_t)), place) {}
  std::uint8_t* data() const { return reinterpret_cast<std::uint8_t*>(Words::data()); }
};

// By all threads of a block: waits for each new value of one byte, then counts which of the first
// `size` bytes are older. Returns the last value seen, to the first thread.
__device__ std::uint32_t watch(std::uint8_t* byte, const std::uint8_t* first, std::uint32_t size,
                               std::uint64_t* older) {
  __shared__ std::uint32_t newest;
  const std::uint64_t begin = clock64();
  std::uint32_t last = 0;
  while (last < kRounds) {
    if (threadIdx.x == 0) {
      cuda::atomic_ref<std::uint8_t, cuda::thread_scope_device> watched(*byte);
      do {
        newest = watched.load(cuda::memory_order_acquire);
      } while (newest == last && clock64() - begin < kLimitCycles);
    }
    __syncthreads();
    const std::uint32_t now = newest;
    if (now == last) break;
    std::uint32_t count = 0;
    for (std::uint32_t i = threadIdx.x; i < size; i += blockDim.x) {
      count += __ldcg(first + i) < now ? 1 : 0;
    }
    if (count != 0) atomicAdd_system(reinterpret_cast<unsigned long long*>(older), count);
    last = now;
    __syncthreads();
  }
  return last;
}

__global__ void watch_end(std::uint8_t* message, std::uint32_t size, std::uint64_t* seen,
                          std::uint64_t* older) {
  const std::uint32_t last = watch(message + size - 1, message, size, older);
  if (threadIdx.x == 0) *seen = last;
}

// One behind the other in memory.
struct Messages {
  std::uint32_t sizes[3];
};

// Block k watches a byte of message k + 1, so many eighths of its size behind its first one, and
// counts in the messages before it.
__global__ void watch_order(std::uint8_t* first, Messages messages, std::uint32_t eighths,
                            std::uint64_t* seen, std::uint64_t* older) {
  std::uint32_t size = 0;
  for (std::uint32_t i = 0; i <= blockIdx.x; ++i) size += messages.sizes[i];
  const std::uint32_t place = messages.sizes[blockIdx.x + 1] / 8 * eighths;
  const std::uint32_t last = watch(first + size + place, first, size, older);
  if (threadIdx.x == 0) seen[blockIdx.x] = last;
}

class LastByte : public GpuDma {
 protected:
  static constexpr std::size_t kShift = 5;
  static constexpr std::size_t kSizes[] = {9,    13,   16,   24,    64,       100,    128,     256,
                                           1000, 4096, 9000, 20000, 1u << 16, 100001, 1u << 20};

  // A message of bytes that all are the round's number, and where else it lies.
  struct Message {
    DmaAddress to;
    std::vector<std::uint8_t> bytes;
    const Bytes& on_gpu;  // room for it
    const Bytes& pinned;  // holds it
    std::size_t size() const { return bytes.size(); }
  };

  template <class Queue>
  void watch(std::size_t size, std::size_t shift, const Queue& queue) {
    const Bytes to(size + 64);
    const Bytes on_gpu(size);
    const Bytes pinned(size, Bytes::Place::pinned);
    const Bytes told(16, Bytes::Place::pinned);
    auto* const counts = reinterpret_cast<std::uint64_t*>(told.data());
    const OwnedStream stream = make_stream();
    watch_end<<<1, 512, 0, stream.get()>>>(to.data() + shift, static_cast<std::uint32_t>(size),
                                           counts, counts + 1);
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      const auto byte = static_cast<std::uint8_t>(round);
      std::fill_n(pinned.data(), size, byte);
      queue(Message{to.at(shift), std::vector<std::uint8_t>(size, byte), on_gpu, pinned});
      settle();
    }
    check(cudaStreamSynchronize(stream.get()));
    EXPECT_EQ(counts[0], kRounds) << size << " at " << shift;
    EXPECT_EQ(counts[1], 0u) << size << " at " << shift;
  }
  template <class Queue>
  void watch_all(const Queue& queue) {
    for (const std::size_t size : kSizes) {
      for (const std::size_t shift : {std::size_t{0}, kShift}) watch(size, shift, queue);
    }
  }

  void watch_messages(const Messages& messages, std::uint32_t eighths) {
    const std::size_t size = messages.sizes[0] + messages.sizes[1] + messages.sizes[2];
    const Bytes to(size);
    const Bytes from(size);
    const Bytes told(32, Bytes::Place::pinned);
    auto* const counts = reinterpret_cast<std::uint64_t*>(told.data());
    const OwnedStream stream = make_stream();
    watch_order<<<2, 512, 0, stream.get()>>>(to.data(), messages, eighths, counts, counts + 2);
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      const std::vector<std::uint8_t> bytes(size, static_cast<std::uint8_t>(round));
      port_->write(from.at(0), bytes.data(), size);
      settle();
      std::uint64_t at = 0;
      for (const std::uint32_t each : messages.sizes) {
        port_->copy_last(to.at(at), from.at(at), each);
        at += each;
      }
      settle();
    }
    check(cudaStreamSynchronize(stream.get()));
    const std::string sizes =
        testing::PrintToString(messages.sizes) + " at " + std::to_string(eighths);
    EXPECT_EQ(counts[0], kRounds) << sizes;
    EXPECT_EQ(counts[1], kRounds) << sizes;
    EXPECT_EQ(counts[2], 0u) << sizes;
  }
};

INSTANTIATE_TEST_SUITE_P(Gpu, LastByte, every_dma_method(), name_of_dma_method);

TEST_P(LastByte, OfAMessageByValueIsSeenLast) {
  watch_all([this](const Message& message) {
    port_->write_last(message.to, message.bytes.data(), message.size());
  });
}

TEST_P(LastByte, OfACopyWithinTheGpuIsSeenLast) {
  watch_all([this](const Message& message) {
    port_->write(message.on_gpu.at(0), message.bytes.data(), message.size());
    port_->copy_last(message.to, message.on_gpu.at(0), message.size());
  });
}

TEST_P(LastByte, NoByteOfAMessageIsSeenBeforeTheOnesBeforeItAreWhole) {
  for (const Messages& messages :
       {Messages{256, 256, 256}, Messages{4096, 4096, 4096}, Messages{9008, 9008, 9008},
        Messages{9001, 9001, 9001}, Messages{1u << 16, 1u << 16, 1u << 16},
        Messages{1u << 20, 20000, 1u << 18}, Messages{1u << 20, 1u << 20, 1u << 20}}) {
    for (const std::uint32_t eighths : {0, 5}) watch_messages(messages, eighths);
  }
}

TEST_P(LastByte, OfACopyFromPinnedMemoryIsSeenLast) {
  watch_all([this](const Message& message) {
    port_->copy_last(message.to, message.pinned.at(0), message.size());
  });
}

TEST_P(LastByte, OfACopyToPinnedMemoryIsSeenLastByTheHost) {
  for (const std::size_t size : kSizes) {
    const Bytes from(size);
    const Bytes to(size, Bytes::Place::pinned);
    std::vector<std::uint8_t> bytes(size);
    std::size_t older = 0;
    for (std::uint32_t round = 1; round <= kRounds; ++round) {
      std::fill(bytes.begin(), bytes.end(), static_cast<std::uint8_t>(round));
      port_->write(from.at(0), bytes.data(), size);
      settle();
      port_->copy_last(to.at(0), from.at(0), size);
      port_->submit();
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
      while (__atomic_load_n(to.data() + size - 1, __ATOMIC_ACQUIRE) != round) {
        port_->poll();
        ASSERT_LT(std::chrono::steady_clock::now(), limit);
      }
      older += static_cast<std::size_t>(std::count_if(
          to.data(), to.data() + size, [round](std::uint8_t byte) { return byte < round; }));
      settle();
    }
    EXPECT_EQ(older, 0u) << size;
  }
}

}  // namespace
}  // namespace gdakit::softnic::test
