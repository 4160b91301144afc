// Doorbell pages in pinned host memory.
#include <algorithm>
#include <cuda_runtime_api.h>
#include <mutex>
#include <vector>

#include "backends/softnic/gpu/gpu_dma.h"
#include "core/format/doorbell.h"
#include "core/host/gpu/cuda_driver.h"

namespace gdakit::softnic {
namespace {

constexpr std::size_t kPagesPerBlock = 16;

// Pages go back to the pool, and blocks to CUDA at its end: freeing one waits for running kernels.
class PinnedPages final : public HostPages {
 public:
  ~PinnedPages() override {
    for (void* const block : blocks_) cudaFreeHost(block);
  }

  Result<void*> take() override {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) {
      if (Result<void> grown = grow(); !grown) return grown.error();
    }
    void* const page = free_.back();
    free_.pop_back();
    std::fill_n(static_cast<std::byte*>(page), format::kUarPageBytes, std::byte{0});
    return page;
  }

  void give_back(void* page) override {
    const std::lock_guard lock(mutex_);
    free_.push_back(page);
  }

 private:
  Result<void> grow() {
    void* block = nullptr;
    const auto flags = cudaHostAllocPortable | cudaHostAllocMapped;
    const std::size_t bytes = kPagesPerBlock * format::kUarPageBytes;
    if (Result<void> done = cuda::check(cudaHostAlloc(&block, bytes, flags), "cudaHostAlloc");
        !done) {
      return done.error().within("alloc_uar");
    }
    blocks_.push_back(block);
    for (std::size_t i = 0; i != kPagesPerBlock; ++i) {
      free_.push_back(static_cast<std::byte*>(block) + i * format::kUarPageBytes);
    }
    return {};
  }

  std::mutex mutex_;
  std::vector<void*> blocks_;
  std::vector<void*> free_;
};

}  // namespace

Result<std::shared_ptr<HostPages>> make_gpu_pages() {
  int count = 0;
  if (Result<void> done = cuda::check(cudaGetDeviceCount(&count), "make_gpu_pages"); !done) {
    return Error(Code::unavailable, done.error().message());
  }
  return std::shared_ptr<HostPages>(std::make_shared<PinnedPages>());
}

}  // namespace gdakit::softnic
