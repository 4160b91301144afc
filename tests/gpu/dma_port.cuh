// The soft NIC's DMA port on a GPU, and memory of a GPU for it: what the tests of the port share.
#pragma once

#include <chrono>
#include <cstdint>
#include <cuda_runtime_api.h>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/gpu/gpu_dma.h"
#include "backends/softnic/gpu/gpu_port.h"

namespace gdakit::softnic::test {

inline void check(cudaError_t code) { ASSERT_EQ(code, cudaSuccess) << cudaGetErrorString(code); }

// `count` words of GPU memory or of pinned host memory, zero at first.
class Words {
 public:
  enum class Place { gpu, pinned };
  explicit Words(std::size_t count, Place place = Place::gpu) : count_(count), place_(place) {
    void* data = nullptr;
    const std::size_t bytes = count * sizeof(std::uint64_t);
    check(place == Place::gpu ? cudaMalloc(&data, bytes)
                              : cudaHostAlloc(&data, bytes, cudaHostAllocMapped));
    data_ = static_cast<std::uint64_t*>(data);
    check(cudaMemset(data_, 0, bytes));
    check(cudaDeviceSynchronize());
  }
  ~Words() { place_ == Place::gpu ? cudaFree(data_) : cudaFreeHost(data_); }
  Words(const Words&) = delete;
  Words& operator=(const Words&) = delete;

  std::uint64_t* data() const { return data_; }
  std::size_t bytes() const { return count_ * sizeof(std::uint64_t); }
  DmaAddress at(std::uint64_t offset = 0) const {
    const std::uint64_t bit = place_ == Place::gpu ? kGpuMemoryBit : kPinnedMemoryBit;
    return {(reinterpret_cast<std::uintptr_t>(data_) | bit) + offset};
  }
  std::vector<std::uint8_t> read() const {
    std::vector<std::uint8_t> out(bytes());
    check(cudaMemcpy(out.data(), data_, out.size(), cudaMemcpyDefault));
    return out;
  }
  std::uint64_t word(std::size_t index) const {
    std::uint64_t out = 0;
    check(cudaMemcpy(&out, data_ + index, sizeof out, cudaMemcpyDefault));
    return out;
  }
  void fill(const std::vector<std::uint8_t>& from) {
    check(cudaMemcpy(data_, from.data(), from.size(), cudaMemcpyDefault));
  }

 private:
  std::size_t count_;
  Place place_;
  std::uint64_t* data_ = nullptr;
};

struct FreeStream {
  void operator()(cudaStream_t stream) const { cudaStreamDestroy(stream); }
};
using OwnedStream = std::unique_ptr<CUstream_st, FreeStream>;

inline OwnedStream make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return OwnedStream(stream);
}

class GpuDma : public testing::TestWithParam<DmaMethod> {
 protected:
  void SetUp() override {
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) GTEST_SKIP() << "no GPU";
    port_ = open();
  }

  std::unique_ptr<DmaPort> open() {
    GpuDmaOptions options;
    options.method = GetParam();
    options.domain = domain_;
    Result<std::unique_ptr<DmaPort>> port = make_gpu_dma(options);
    if (port) return std::move(*port);
    EXPECT_TRUE(port) << port.error().message();
    return nullptr;
  }

  static bool settle(DmaPort& port) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    const DmaOp last = port.fence();
    while (last.id != 0 && !port.done(last)) {
      port.submit();
      port.poll();
      if (std::chrono::steady_clock::now() > limit) return false;
    }
    return true;
  }
  void settle() { ASSERT_TRUE(settle(*port_)); }

  GpuOrder::Counts counts() const { return dynamic_cast<GpuPort&>(*port_).order().counts(); }

  std::shared_ptr<GpuOrderDomain> domain_ = make_gpu_order_domain();
  std::unique_ptr<DmaPort> port_;
};

inline auto every_dma_method() {
  return testing::Values(DmaMethod::automatic, DmaMethod::copy_engine, DmaMethod::kernels);
}
inline std::string name_of_dma_method(const testing::TestParamInfo<DmaMethod>& method) {
  std::string name = dma_method_name(method.param);
  std::erase(name, '-');
  return name;
}

}  // namespace gdakit::softnic::test
