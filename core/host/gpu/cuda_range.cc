#include "core/host/gpu/cuda_range.h"

#include <string>

#include "core/base/bits.h"

namespace gdakit {

CUmemAllocationProp chunk_properties(int ordinal) {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, ordinal};
  int rdma = 0;
  const cudaError_t asked =
      cudaDeviceGetAttribute(&rdma, cudaDevAttrGPUDirectRDMASupported, ordinal);
  properties.allocFlags.gpuDirectRDMACapable = asked == cudaSuccess && rdma != 0 ? 1 : 0;
  return properties;
}

Result<void> allow_access(const cuda::Driver& driver, int ordinal, CUdeviceptr base,
                          std::uint64_t bytes) {
  int count = 0;
  if (auto got = cuda::check(cudaGetDeviceCount(&count), "cudaGetDeviceCount"); !got) return got;
  std::vector<CUmemAccessDesc> who;
  for (int other = 0; other < count; ++other) {
    int reaches = other == ordinal ? 1 : 0;
    if (other != ordinal) {
      auto asked =
          cuda::check(cudaDeviceCanAccessPeer(&reaches, other, ordinal), "cudaDeviceCanAccessPeer");
      if (!asked) return asked;
    }
    if (reaches == 0) continue;
    CUmemAccessDesc access{};
    access.location = {CU_MEM_LOCATION_TYPE_DEVICE, other};
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    who.push_back(access);
  }
  return cuda::check(driver, driver.set_access(base, bytes, who.data(), who.size()),
                     "cuMemSetAccess of " + std::to_string(bytes) + " bytes");
}

Result<std::unique_ptr<CudaRange>> CudaRange::reserve(CudaMemoryProvider& provider,
                                                      std::uint64_t bytes) {
  const std::uint64_t size = round_up(bytes, provider.granularity());
  CUdeviceptr base = 0;
  auto reserved =
      cuda::check(provider.driver(),
                  provider.driver().address_reserve(&base, size, provider.granularity(), 0, 0),
                  "cuMemAddressReserve of " + std::to_string(size) + " bytes");
  if (!reserved) return reserved.error();
  return std::unique_ptr<CudaRange>(new CudaRange(provider, reinterpret_cast<char*>(base), size));
}

CudaRange::~CudaRange() {
  const cuda::Driver& driver = provider_.driver();
  for (const Chunk& chunk : chunks_) {
    driver.unmap(address(chunk.offset), chunk.bytes);
    driver.release(chunk.memory);
  }
  driver.address_free(address(0), size_);
}

Result<void> CudaRange::commit(std::uint64_t bytes) {
  if (Result<void> fits = check_commit(bytes); !fits) return fits;
  const cuda::Driver& driver = provider_.driver();
  const int ordinal = *provider_.gpu();
  const CUmemAllocationProp properties = chunk_properties(ordinal);
  const std::string what = " of " + std::to_string(bytes) + " bytes";
  Chunk chunk{committed_, bytes, 0};
  auto made = cuda::check(driver, driver.create(&chunk.memory, bytes, &properties, 0),
                          "cuMemCreate" + what);
  if (!made) return made;
  auto mapped = cuda::check(driver, driver.map(address(chunk.offset), bytes, 0, chunk.memory, 0),
                            "cuMemMap" + what);
  if (!mapped) {
    driver.release(chunk.memory);
    return mapped;
  }
  Result<void> ready = allow_access(driver, ordinal, address(chunk.offset), bytes);
  if (ready) ready = provider_.clear(base_ + chunk.offset, bytes);
  if (!ready) {
    driver.unmap(address(chunk.offset), bytes);
    driver.release(chunk.memory);
    return ready;
  }
  chunks_.push_back(chunk);
  committed_ += bytes;
  return {};
}

}  // namespace gdakit
