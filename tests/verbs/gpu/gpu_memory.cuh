// Memory of the GPU, and a dma-buf of it, by CUDA's own means.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

namespace gdakit::verbs_gpu {

// As cuMemGetHandleForAddressRange demands it.
inline constexpr std::size_t kGpuPage = 65536;

class GpuBuffer {
 public:
  explicit GpuBuffer(std::size_t bytes) : bytes_(bytes) {
    void* memory = nullptr;
    EXPECT_EQ(cudaMalloc(&memory, bytes + kGpuPage), cudaSuccess);
    memory_ = memory;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    begin_ = (begin + kGpuPage - 1) / kGpuPage * kGpuPage;
    EXPECT_EQ(cudaMemset(data(), 0, bytes), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  }
  ~GpuBuffer() { cudaFree(memory_); }
  GpuBuffer(const GpuBuffer&) = delete;
  GpuBuffer& operator=(const GpuBuffer&) = delete;

  std::uint64_t address() const { return begin_; }
  void* data() const { return reinterpret_cast<void*>(begin_); }
  std::size_t size() const { return bytes_; }

  void put(const std::vector<std::uint8_t>& bytes, std::size_t at = 0) const {
    EXPECT_EQ(cudaMemcpy(reinterpret_cast<void*>(begin_ + at), bytes.data(), bytes.size(),
                         cudaMemcpyHostToDevice),
              cudaSuccess);
  }
  std::vector<std::uint8_t> get(std::size_t at, std::size_t size) const {
    std::vector<std::uint8_t> bytes(size);
    EXPECT_EQ(cudaMemcpy(bytes.data(), reinterpret_cast<const void*>(begin_ + at), size,
                         cudaMemcpyDeviceToHost),
              cudaSuccess);
    return bytes;
  }

  // A descriptor of all of it, to be closed by the caller; -1 if CUDA refuses.
  int dma_buf() const {
    void* function = nullptr;
    cudaDriverEntryPointQueryResult found{};
    EXPECT_EQ(cudaGetDriverEntryPointByVersion("cuMemGetHandleForAddressRange", &function, 12000,
                                               cudaEnableDefault, &found),
              cudaSuccess);
    auto* const export_range = reinterpret_cast<decltype(&cuMemGetHandleForAddressRange)>(function);
    int file = -1;
    const std::size_t whole = (bytes_ + kGpuPage - 1) / kGpuPage * kGpuPage;
    const CUresult code =
        export_range(&file, begin_, whole, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    return code == CUDA_SUCCESS ? file : -1;
  }

 private:
  std::size_t bytes_;
  void* memory_ = nullptr;
  std::uint64_t begin_ = 0;
};

}  // namespace gdakit::verbs_gpu
