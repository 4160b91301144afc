// Memory of one GPU. Blocks of Place::device come from cudaMalloc, of Place::shared from pinned
// host memory that the GPU maps at the same address. Ranges are virtual memory: a large
// reservation, filled chunk by chunk with physical memory that other processes and the GPUs beside
// can map.
#pragma once

#include "core/host/cuda_driver.h"
#include "core/host/memory.h"

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
  MemoryKind kind_of(const void* pointer) const override;

  // Fills memory of this GPU with zeros and waits for it.
  Result<void> clear(void* base, std::uint64_t bytes);
  const cuda::Driver& driver() const { return driver_; }

 private:
  CudaMemoryProvider(int ordinal, const cuda::Driver& driver)
      : ordinal_(ordinal), driver_(driver) {}
  Result<void> start();

  int ordinal_;
  const cuda::Driver& driver_;
  std::uint64_t granularity_ = 0;
  cudaStream_t stream_ = nullptr;  // of its own, so that copies never wait for kernels
};

}  // namespace gdakit
