#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "backends/softnic/gpu/copy_context.h"
#include "backends/softnic/gpu/gpu_cuda.cuh"
#include "backends/softnic/gpu/gpu_kernels.cuh"
#include "backends/softnic/gpu/gpu_launcher.h"
#include "core/base/bits.h"
#include "core/base/wait_clock.h"
#include "core/host/gpu/cuda_driver.h"
#include "core/host/gpu/cuda_stream.h"

namespace gdakit::softnic {
namespace {

constexpr std::size_t kSlabBytes = 64 * 1024;

// A capture of a CUDA graph under way in another thread must not refuse this thread's calls.
void relax_capture() {
  static thread_local bool relaxed = false;
  if (relaxed) return;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  relaxed = true;
}

// Makes the GPU the thread's current one for a call or two.
class OnDevice {
 public:
  explicit OnDevice(int ordinal) {
    relax_capture();
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

class CudaDevice final : public GpuDevice {
 public:
  explicit CudaDevice(int ordinal) : ordinal_(ordinal) {}

  ~CudaDevice() override {
    launcher_.reset();
    const OnDevice here(ordinal_);
    for (const Stream& stream : streams_) destroy(stream);
    for (void* const block : blocks_) cudaFreeHost(block);
    cudaFree(gates_);
  }

  Result<void> start() {
    const OnDevice here(ordinal_);
    Result<std::unique_ptr<CopyContext>> context = CopyContext::create(ordinal_);
    if (!context) return context.error().within("a context for the soft NIC's copies");
    context_ = std::move(*context);
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
    if (Result<void> done = clear(gates, gate_bytes); !done) return done;
    scratch_ = static_cast<std::uint64_t*>(pinned(sizeof *scratch_));
    if (scratch_ == nullptr) return Error(Code::exhausted, "no pinned memory left");
    launcher_.emplace(
        GpuLauncher::Actions{[this](const GpuLaunchRequest& request) { launch_now(request); },
                             [this] { return kernels_run(); }});
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

  GpuStream make_stream(StreamFor purpose) override {
    const std::lock_guard lock(mutex_);
    const OnDevice here(ordinal_);
    int lowest = 0;
    int highest = 0;
    note(cudaDeviceGetStreamPriorityRange(&lowest, &highest));
    Stream stream;
    note(context_->make_stream(highest, stream.copies));
    if (purpose == StreamFor::copies_and_kernels) {
      note(cudaStreamCreateWithPriority(&stream.kernels, cudaStreamNonBlocking, highest));
    }
    if (streams_.size() == kMaxStreams) note(cudaErrorMemoryAllocation);
    if (failed()) {
      destroy(stream);
      return 0;
    }
    streams_.push_back(stream);
    const auto made = static_cast<GpuStream>(streams_.size() - 1);
    warm_up(made);
    return made;
  }

  GpuGate* gate(std::uint32_t slot) override { return gates_ + slot; }

  void copy_in(GpuStream stream, std::uint64_t to, const void* from, std::size_t size) override {
    in_context(stream, [=, this](const auto& on) { return context_->copy_in(on, to, from, size); });
  }
  void copy_out(GpuStream stream, void* to, std::uint64_t from, std::size_t size) override {
    in_context(stream,
               [=, this](const auto& on) { return context_->copy_out(on, to, from, size); });
  }
  void copy_across(GpuStream stream, std::uint64_t to, std::uint64_t from,
                   std::size_t size) override {
    in_context(stream,
               [=, this](const auto& on) { return context_->copy_across(on, to, from, size); });
  }
  void write_words(GpuStream stream, const GpuWord* words, std::size_t count) override {
    in_context(stream,
               [=, this](const auto& on) { return context_->write_words(on, words, count); });
  }

  void launch_batch(GpuStream stream, const GpuLaunch& launch) override {
    submit({stream, /*bulk=*/false, /*behind_copies=*/false, launch});
  }
  void launch_bulk(GpuStream stream, const GpuLaunch& launch) override {
    submit({stream, /*bulk=*/true, /*behind_copies=*/false, launch});
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

  // Copies and kernels of one stream are on two of CUDA's, in two contexts.
  struct Stream {
    CopyContext::Stream copies;
    cudaStream_t kernels = nullptr;  // null: it is for copies alone
    bool copied = false;             // since the last launch
  };

  void destroy(const Stream& stream) {
    if (stream.kernels != nullptr) cudaStreamDestroy(stream.kernels);
    context_->destroy_stream(stream.copies);
  }

  template <class Act>
  void in_context(GpuStream stream, const Act& act) {
    if (failed()) return;
    relax_capture();
    streams_[stream].copied = true;
    note(act(streams_[stream].copies));
  }

  void submit(GpuLaunchRequest request) {
    if (failed()) return;
    Stream& stream = streams_[request.stream];
    request.behind_copies = std::exchange(stream.copied, false);
    if (request.behind_copies) note(context_->record(stream.copies));
    launcher_->submit(request);
  }

  // In the launcher's thread.
  void launch_now(const GpuLaunchRequest& request) {
    if (failed()) return;
    const OnDevice here(ordinal_);
    const Stream& stream = streams_[request.stream];
    last_launched_ = request.stream;
    if (request.behind_copies) {
      note(cudaStreamWaitEvent(stream.kernels, stream.copies.event, /*flags=*/0));
    }
    const auto launch = request.bulk ? launch_bulk_kernel : launch_batch_kernel;
    launch(stream.kernels, request.launch, multiprocessors_);
    __atomic_store_n(&request.launch.control->issued_ns, steady_ns(), __ATOMIC_RELEASE);
    note(cudaGetLastError());
  }
  // Finds out, too, when the program's context has failed: copies would go on without it.
  bool kernels_run() {
    const cudaError_t code = cudaStreamQuery(streams_[last_launched_].kernels);
    if (code != cudaErrorNotReady) note(code);
    return code == cudaErrorNotReady;
  }

  // The memory is zero when this returns: no stream of the program's is waited for.
  static Result<void> clear(void* memory, std::size_t bytes) {
    cudaStream_t stream = nullptr;
    auto made = cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking),
                            "cudaStreamCreateWithFlags");
    if (!made) return made;
    const std::lock_guard lock(cuda::first_work());
    auto cleared = cuda::check(cudaMemsetAsync(memory, 0, bytes, stream), "cudaMemsetAsync");
    if (cleared) cleared = cuda::check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    cudaStreamDestroy(stream);
    return cleared;
  }

  // The first use of a stream for each purpose takes a fraction of a millisecond, and longer where
  // something is loaded: nothing of that is left for later.
  void warm_up(GpuStream stream) {
    const auto gate = reinterpret_cast<std::uintptr_t>(gates_ + kGpuLaunchSlots);
    copy_out(stream, scratch_, gate, sizeof *scratch_);
    copy_in(stream, gate, scratch_, sizeof *scratch_);
    write_word(stream, {gate, 0, 8});
    write_word(stream, {gate, 0, 4});
    note(context_->synchronize(streams_[stream].copies));
    if (streams_[stream].kernels == nullptr) return;
    const std::lock_guard lock(cuda::first_work());
    note(load_kernels(streams_[stream].kernels));
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
  void note(CUresult code) { note(static_cast<cudaError_t>(code)); }  // the enumerations agree
  void note(cudaError_t code) {
    if (code == cudaSuccess) return;
    cudaError_t none = cudaSuccess;
    failure_.compare_exchange_strong(none, code, std::memory_order_relaxed);
  }

  const int ordinal_;
  int multiprocessors_ = 1;
  std::unique_ptr<CopyContext> context_;
  GpuGate* gates_ = nullptr;
  std::uint64_t* scratch_ = nullptr;  // pinned
  std::mutex mutex_;                  // makers of streams and pinned memory
  std::vector<Stream> streams_;       // never moves: readers need no lock
  GpuStream last_launched_ = 0;       // the launcher's own
  std::vector<void*> blocks_;
  std::byte* slab_ = nullptr;
  std::size_t slab_used_ = 0;
  std::atomic<cudaError_t> failure_{cudaSuccess};
  std::optional<GpuLauncher> launcher_;  // last: its thread uses all of the others
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
