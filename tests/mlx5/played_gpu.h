// A GPU as a test wants it: memory, of which the driver exports dma-bufs or not, and registers that
// it maps or not.
#pragma once

#include <cstddef>
#include <fcntl.h>

#include "core/host/memory/host_memory.h"

namespace gdakit::mlx5 {

// The host's memory, which is said to be a GPU's.
class PlayedGpu final : public MemoryProvider {
 public:
  std::uint64_t granularity() const override { return host_.granularity(); }
  Result<std::unique_ptr<MemoryBlock>> allocate(std::uint64_t bytes, Place place) override {
    return host_.allocate(bytes, place);
  }
  Result<std::unique_ptr<AddressRange>> reserve(std::uint64_t bytes) override {
    return host_.reserve(bytes);
  }
  Result<void> copy(void* to, const void* from, std::uint64_t bytes) override {
    return host_.copy(to, from, bytes);
  }
  std::optional<int> gpu() const override { return 0; }
  MemoryKind kind_of(const void*) const override { return MemoryKind::gpu; }
  Result<int> export_dma_buf(void* base, std::uint64_t bytes) override {
    exported_base = base;
    exported_bytes = bytes;
    if (!exports) return Error(Code::unavailable, "cuMemGetHandleForAddressRange: not supported");
    return ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  Result<void*> map_registers(void* page, std::uint64_t bytes) override {
    mapped_page = page;
    mapped_bytes = bytes;
    if (!maps || mapped == most_mapped)
      return Error(Code::unavailable, "cudaHostRegister: 800, not permitted");
    ++mapped;
    return static_cast<char*>(page) + kGpuView;
  }
  Result<void> unmap_registers(void*) override {
    --mapped;
    return {};
  }
  bool orders_nic_writes() const override { return orders; }

  static constexpr std::ptrdiff_t kGpuView = 1 << 30;
  bool orders = true;
  bool exports = true;
  bool maps = true;
  int mapped = 0;
  int most_mapped = 1000;  // at a time
  void* mapped_page = nullptr;
  std::uint64_t mapped_bytes = 0;
  void* exported_base = nullptr;
  std::uint64_t exported_bytes = 0;

 private:
  HostMemoryProvider host_;
};

}  // namespace gdakit::mlx5
