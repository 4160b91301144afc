#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <vector>

#include "backends/softnic/gpu_cuda.cuh"
#include "backends/softnic/gpu_kernels.cuh"
#include "core/base/bits.h"
#include "core/host/cuda_driver.h"

namespace gdakit::softnic {
namespace {

constexpr std::size_t kSlabBytes = 64 * 1024;

// Makes the GPU the thread's current one for a call or two.
class OnDevice {
 public:
  explicit OnDevice(int ordinal) {
    // A capture of a CUDA graph under way in another thread must not refuse this thread's calls.
    static thread_local bool relaxed = false;
    if (!relaxed) {
      cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
      cudaThreadExchangeStreamCaptureMode(&mode);
      relaxed = true;
    }
    cudaGetDevice(&before_);
    if (before_ != ordinal) cudaSetDevice(ordinal);
    changed_ = before_ != ordinal;
  }
  ~OnDevice() {
    if (changed_) cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int before_ = 0;
  bool changed_ = false;
};

CUstreamBatchMemOpParams memory_operation(const GpuWord& word) {
  CUstreamBatchMemOpParams out{};
  out.writeValue.address = word.to;
  out.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  if (word.size == 8) {
    out.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    out.writeValue.value64 = word.value;
  } else {
    out.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    out.writeValue.value = static_cast<cuuint32_t>(word.value);
  }
  return out;
}

class CudaDevice final : public GpuDevice {
 public:
  explicit CudaDevice(int ordinal) : ordinal_(ordinal) {}

  ~CudaDevice() override {
    const OnDevice here(ordinal_);
    for (const cudaStream_t stream : streams_) cudaStreamDestroy(stream);
    for (void* const block : blocks_) cudaFreeHost(block);
    cudaFree(gates_);
  }

  Result<void> start() {
    const OnDevice here(ordinal_);
    const Result<const cuda::Driver*> driver = cuda::driver();
    if (!driver) return driver.error();
    driver_ = *driver;
    if (Result<void> done = cuda::check(
            cudaDeviceGetAttribute(&multiprocessors_, cudaDevAttrMultiProcessorCount, ordinal_),
            "cudaDeviceGetAttribute");
        !done) {
      return done;
    }
    void* gates = nullptr;
    // One more than there are slots: the last is for warming up.
    const std::size_t gate_bytes = (kGpuLaunchSlots + 1) * sizeof(GpuGate);
    if (Result<void> done = cuda::check(cudaMalloc(&gates, gate_bytes), "cudaMalloc"); !done) {
      return done;
    }
    gates_ = static_cast<GpuGate*>(gates);
    streams_.reserve(kMaxStreams);
    if (Result<void> done = cuda::check(cudaMemset(gates, 0, gate_bytes), "cudaMemset"); !done) {
      return done;
    }
    scratch_ = static_cast<std::uint64_t*>(pinned(sizeof *scratch_));
    if (scratch_ == nullptr) return Error(Code::exhausted, "no pinned memory left");
    make_stream();
    return failed() ? Result<void>(Error(Code::system, failure())) : Result<void>();
  }

  void* pinned(std::size_t bytes) override {
    const std::lock_guard lock(mutex_);
    const std::size_t rounded = round_up(bytes, 128);
    if (rounded > kSlabBytes / 2) return allocate(rounded);
    if (slab_ == nullptr || slab_used_ + rounded > kSlabBytes) {
      slab_ = static_cast<std::byte*>(allocate(kSlabBytes));
      slab_used_ = 0;
      if (slab_ == nullptr) return nullptr;
    }
    slab_used_ += rounded;
    return slab_ + slab_used_ - rounded;
  }

  GpuStream make_stream() override {
    const std::lock_guard lock(mutex_);
    const OnDevice here(ordinal_);
    int lowest = 0;
    int highest = 0;
    note(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    cudaStream_t stream = nullptr;
    note(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, highest));
    if (streams_.size() == kMaxStreams) note(cudaErrorMemoryAllocation);
    if (failed()) return 0;
    streams_.push_back(stream);
    const auto made = static_cast<GpuStream>(streams_.size() - 1);
    warm_up(made);
    return made;
  }

  GpuGate* gate(std::uint32_t slot) override { return gates_ + slot; }

  void copy_in(GpuStream stream, std::uint64_t to, const void* from, std::size_t size) override {
    copy(stream, reinterpret_cast<void*>(to), from, size, cudaMemcpyHostToDevice);
  }
  void copy_out(GpuStream stream, void* to, std::uint64_t from, std::size_t size) override {
    copy(stream, to, reinterpret_cast<const void*>(from), size, cudaMemcpyDeviceToHost);
  }
  void copy_across(GpuStream stream, std::uint64_t to, std::uint64_t from,
                   std::size_t size) override {
    copy(stream, reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), size,
         cudaMemcpyDefault);
  }

  void write_words(GpuStream stream, const GpuWord* words, std::size_t count) override {
    if (failed()) return;
    const OnDevice here(ordinal_);
    std::array<CUstreamBatchMemOpParams, kGpuWordsAtOnce> operations;
    std::transform(words, words + count, operations.begin(), memory_operation);
    const CUresult code = driver_->stream_words(streams_[stream], static_cast<unsigned>(count),
                                                operations.data(), /*flags=*/0);
    // The two enumerations agree.
    note(static_cast<cudaError_t>(code));
  }

  void launch_batch(GpuStream stream, const GpuLaunch& launch) override {
    if (failed()) return;
    const OnDevice here(ordinal_);
    launch_batch_kernel(streams_[stream], launch, multiprocessors_);
    note(cudaGetLastError());
  }
  void launch_bulk(GpuStream stream, const GpuLaunch& launch) override {
    if (failed()) return;
    const OnDevice here(ordinal_);
    launch_bulk_kernel(streams_[stream], launch, multiprocessors_);
    note(cudaGetLastError());
  }

  bool owns(std::uint64_t address) override {
    cudaPointerAttributes attributes{};
    const cudaError_t code =
        cudaPointerGetAttributes(&attributes, reinterpret_cast<const void*>(address));
    return code == cudaSuccess && attributes.device == ordinal_;
  }

  bool failed() const override { return failure_.load(std::memory_order_relaxed) != cudaSuccess; }
  std::string failure() const override {
    return std::string("GPU ") + std::to_string(ordinal_) + ": " +
           cudaGetErrorString(failure_.load(std::memory_order_relaxed));
  }

 private:
  static constexpr std::size_t kMaxStreams = 256;

  void copy(GpuStream stream, void* to, const void* from, std::size_t size, cudaMemcpyKind kind) {
    if (failed()) return;
    const OnDevice here(ordinal_);
    note(cudaMemcpyAsync(to, from, size, kind, streams_[stream]));
  }

  // The first use of a stream for each purpose takes a fraction of a millisecond, and longer where
  // something is loaded: nothing of that is left for later.
  void warm_up(GpuStream stream) {
    const auto gate = reinterpret_cast<std::uintptr_t>(gates_ + kGpuLaunchSlots);
    copy_out(stream, scratch_, gate, sizeof *scratch_);
    copy_in(stream, gate, scratch_, sizeof *scratch_);
    write_word(stream, {gate, 0, 8});
    write_word(stream, {gate, 0, 4});
    note(load_kernels(streams_[stream]));
  }

  void* allocate(std::size_t bytes) {
    const OnDevice here(ordinal_);
    void* block = nullptr;
    const auto flags = cudaHostAllocPortable | cudaHostAllocMapped;
    if (cudaHostAlloc(&block, bytes, flags) != cudaSuccess) return nullptr;
    blocks_.push_back(block);
    std::fill_n(static_cast<std::byte*>(block), bytes, std::byte{0});
    return block;
  }

  // The first failure counts: after it a CUDA context fails everything.
  void note(cudaError_t code) {
    if (code == cudaSuccess) return;
    cudaError_t none = cudaSuccess;
    failure_.compare_exchange_strong(none, code, std::memory_order_relaxed);
  }

  const int ordinal_;
  int multiprocessors_ = 1;
  const cuda::Driver* driver_ = nullptr;
  GpuGate* gates_ = nullptr;
  std::uint64_t* scratch_ = nullptr;   // pinned
  std::mutex mutex_;                   // makers of streams and pinned memory
  std::vector<cudaStream_t> streams_;  // never moves: readers need no lock
  std::vector<void*> blocks_;
  std::byte* slab_ = nullptr;
  std::size_t slab_used_ = 0;
  std::atomic<cudaError_t> failure_{cudaSuccess};
};

}  // namespace

Result<std::unique_ptr<GpuDevice>> make_cuda_device(int ordinal) {
  int count = 0;
  if (Result<void> done = cuda::check(cudaGetDeviceCount(&count), "cudaGetDeviceCount"); !done) {
    return Error(Code::unavailable, done.error().message());
  }
  if (ordinal < 0 || ordinal >= count) {
    return Error(Code::unavailable, "there is no GPU " + std::to_string(ordinal) +
                                        "; this process has " + std::to_string(count));
  }
  auto device = std::make_unique<CudaDevice>(ordinal);
  if (Result<void> started = device->start(); !started) return started.error();
  return std::unique_ptr<GpuDevice>(std::move(device));
}

}  // namespace gdakit::softnic
