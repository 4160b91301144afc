// GpuDevice: what the GPU DMA port needs of a GPU: pinned memory, in-order streams, copies by the
// copy engine, word writes, and the two helper kernels. CUDA stands behind it in gpu_cuda.cu; tests
// have one of their own.
//
// Contract. Everything on one stream happens in the order issued, but that copies and words do not
// wait for kernels; calls return at once, whatever the program's own threads do in CUDA. Copies
// have one side in host memory, or the two sides on two GPUs, so that they never need a kernel.
// Calls may come from any thread. Once a call has failed, failed() says why and further calls do
// nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "backends/softnic/gpu/gpu_batch.h"

namespace gdakit::softnic {

using GpuStream = std::uint32_t;

// What a stream is for. CUDA has few hardware queues for streams with kernels; where two share one,
// a kernel of one that waits for its turn stops the other.
enum class StreamFor : std::uint8_t { copies, copies_and_kernels };

inline constexpr std::uint32_t kGpuLaunchSlots = 16;

// A store of 4 or 8 bytes.
struct GpuWord {
  std::uint64_t to = 0;
  std::uint64_t value = 0;
  std::uint32_t size = 0;
};
inline constexpr std::size_t kGpuWordsAtOnce = 8;

class GpuDevice {
 public:
  virtual ~GpuDevice() = default;

  // Pinned host memory, zeroed, until the device's end; null if there is none left.
  virtual void* pinned(std::size_t bytes) = 0;
  virtual GpuStream make_stream(StreamFor purpose) = 0;
  // The gate of launch slot 0 .. kGpuLaunchSlots - 1.
  virtual GpuGate* gate(std::uint32_t slot) = 0;

  // A copy to the GPU of one word, as two_row_copy.h has it, takes milliseconds while a kernel
  // runs: write_words is for those of 4 and 8 bytes.
  virtual void copy_in(GpuStream stream, std::uint64_t to, const void* from, std::size_t size) = 0;
  virtual void copy_out(GpuStream stream, void* to, std::uint64_t from, std::size_t size) = 0;
  // Between two GPUs.
  virtual void copy_across(GpuStream stream, std::uint64_t to, std::uint64_t from,
                           std::size_t size) = 0;
  // Up to kGpuWordsAtOnce stores, each after everything before it on the stream has become visible
  // (release).
  virtual void write_words(GpuStream stream, const GpuWord* words, std::size_t count) = 0;
  void write_word(GpuStream stream, const GpuWord& word) { write_words(stream, &word, 1); }
  // On streams for kernels.
  virtual void launch_batch(GpuStream stream, const GpuLaunch& launch) = 0;
  virtual void launch_bulk(GpuStream stream, const GpuLaunch& launch) = 0;

  // Whether the memory lies on this GPU; false for another GPU's.
  virtual bool owns(std::uint64_t address) = 0;

  virtual bool failed() const = 0;
  virtual std::string failure() const = 0;
};

}  // namespace gdakit::softnic
