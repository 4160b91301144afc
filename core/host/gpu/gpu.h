// One GPU as a PE uses it: its memory, the stream of its kernels. The CUDA parts stand behind this
// interface (cuda_gpu.cc); a library built without CUDA has no GPUs (gpu_absent.cc).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/host/memory/memory_provider.h"

struct CUstream_st;

namespace gdakit {

// A cudaStream_t.
using Stream = CUstream_st*;

// A GPU that this process can use.
struct GpuInfo {
  int ordinal = 0;  // as CUDA counts them here, after CUDA_VISIBLE_DEVICES
  std::string name;
  int compute_major = 0;
  int compute_minor = 0;
  std::uint64_t memory_bytes = 0;
  std::string bus;  // PCI address
  bool exports_dma_buf = false;
  bool shares_memory = false;  // by file descriptors, with other processes
};

struct GpuReport {
  std::vector<GpuInfo> gpus;
  std::string driver;    // version, or empty
  std::string sentence;  // why there are none; empty if there are some
};

// Never fails: a machine without a driver has no GPUs, and the sentence says so.
GpuReport report_gpus();

class Gpu {
 public:
  // Errors: no such GPU, no driver, or a library without CUDA (unavailable).
  static Result<std::unique_ptr<Gpu>> open(int ordinal);
  virtual ~Gpu() = default;
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  virtual int ordinal() const = 0;
  virtual const std::string& name() const = 0;
  virtual const std::string& bus() const = 0;  // PCI address: the same in every process

  // What about this process's CUDA may stop kernels that wait for each other; empty if nothing.
  virtual std::string warning() const = 0;

  // The PE's own stream, which waits for no other.
  virtual Stream stream() const = 0;
  // Makes this the calling thread's current CUDA device, as launches want it.
  virtual Result<void> make_current() = 0;
  // Comes before each launch on a stream: one that is new gets its first work, so that its kernels
  // wait for those of no other stream (cuda_stream.h).
  virtual Result<void> prepare(Stream stream) = 0;
  // Waits until all that was launched on `stream` has ended; reports a kernel that was aborted.
  virtual Result<void> synchronize(Stream stream) = 0;

  virtual Result<std::unique_ptr<MemoryProvider>> make_memory() = 0;

 protected:
  Gpu() = default;
};

}  // namespace gdakit
