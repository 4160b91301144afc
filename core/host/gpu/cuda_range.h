// The virtual memory behind a symmetric heap on a GPU.
#pragma once

#include <vector>

#include "core/host/gpu/cuda_memory.h"

namespace gdakit {

// What a chunk of physical memory of this GPU must be: pinned, reachable by NICs, shareable by file
// descriptor.
CUmemAllocationProp chunk_properties(int ordinal);

// Lets this GPU and those beside it that can reach its memory read and write [base, base + bytes).
Result<void> allow_access(const cuda::Driver& driver, int ordinal, CUdeviceptr base,
                          std::uint64_t bytes);

class CudaRange final : public AddressRange {
 public:
  static Result<std::unique_ptr<CudaRange>> reserve(CudaMemoryProvider& provider,
                                                    std::uint64_t bytes);
  ~CudaRange() override;

  Result<void> commit(std::uint64_t bytes) override;
  Result<SharedChunk> export_chunk(std::uint64_t offset) override;  // cuda_share.cc
  Result<void> import_chunk(const SharedChunk& chunk) override;     // cuda_share.cc

 private:
  struct Chunk {
    std::uint64_t offset;
    std::uint64_t bytes;
    CUmemGenericAllocationHandle memory;
  };

  CudaRange(CudaMemoryProvider& provider, char* base, std::uint64_t size)
      : AddressRange(base, size), provider_(provider) {}
  CUdeviceptr address(std::uint64_t offset) const {
    return reinterpret_cast<CUdeviceptr>(base_) + offset;
  }

  CudaMemoryProvider& provider_;
  std::vector<Chunk> chunks_;
};

}  // namespace gdakit
