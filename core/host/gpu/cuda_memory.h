// Memory of one GPU. Ranges are virtual memory: a large reservation, filled chunk by chunk with
// physical memory that other processes and the GPUs beside can map. Blocks of Place::device lie in
// ranges, too: those belong to no CUDA context, and a NIC that copies in a context of its own waits
// for nobody there. Blocks of Place::shared are pinned host memory that the GPU maps at the same
// address.
#pragma once

#include <memory>
#include <mutex>

#include "core/host/gpu/cuda_driver.h"
#include "core/host/memory/memory_provider.h"

namespace gdakit {

class CudaMemoryProvider final : public MemoryProvider {
 public:
  static Result<std::unique_ptr<CudaMemoryProvider>> open(int ordinal);
  ~CudaMemoryProvider() override;

  std::uint64_t granularity() const override { return granularity_; }
  Result<std::unique_ptr<MemoryBlock>> allocate(std::uint64_t bytes, Place place) override;
  Result<std::unique_ptr<AddressRange>> reserve(std::uint64_t bytes) override;
  Result<void> copy(void* to, const void* from, std::uint64_t bytes) override;
  Result<int> export_dma_buf(void* base, std::uint64_t bytes) override;
  std::optional<int> gpu() const override { return ordinal_; }
  std::string bus() const override;
  GpuReach reach(const std::string& bus) const override;
  Result<bool> pin(void* base, std::uint64_t bytes) override;
  Result<void> unpin(void* base) override;
  Result<void*> map_registers(void* page, std::uint64_t bytes) override;
  Result<void> unmap_registers(void* page) override;
  bool orders_nic_writes() const override;
  MemoryKind kind_of(const void* pointer) const override;

  // Fills memory of this GPU with zeros and waits for it.
  Result<void> clear(void* base, std::uint64_t bytes);
  const cuda::Driver& driver() const { return driver_; }

 private:
  CudaMemoryProvider(int ordinal, const cuda::Driver& driver)
      : ordinal_(ordinal), driver_(driver) {}
  Result<void> start();
  Result<std::shared_ptr<AddressRange>> make_range(std::uint64_t bytes);
  Result<std::unique_ptr<MemoryBlock>> allocate_on_device(std::uint64_t bytes);

  int ordinal_;
  const cuda::Driver& driver_;
  std::uint64_t granularity_ = 0;
  cudaStream_t stream_ = nullptr;       // of its own, so that copies never wait for kernels
  std::mutex mutex_;                    // of what follows
  std::shared_ptr<AddressRange> slab_;  // of small blocks
  std::uint64_t slab_used_ = 0;         // bytes of it that blocks have had
};

}  // namespace gdakit
