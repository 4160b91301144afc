#include "core/host/gpu/cuda_memory.h"

#include <cstring>
#include <string>
#include <utility>

#include "core/base/bits.h"
#include "core/host/gpu/cuda_range.h"
#include "core/host/gpu/cuda_stream.h"

namespace gdakit {
namespace {

std::string text(const char* call, std::uint64_t bytes) {
  return std::string(call) + " of " + std::to_string(bytes) + " bytes";
}

// What NICs read is fetched in whole pages by some.
constexpr std::uint64_t kBlockAlignment = 4096;

class DeviceBlock final : public MemoryBlock {
 public:
  DeviceBlock(MemoryProvider& provider, void* data, std::uint64_t size,
              std::shared_ptr<AddressRange> range)
      : MemoryBlock(provider, data, size), range_(std::move(range)) {}

 private:
  std::shared_ptr<AddressRange> range_;  // that it lies in
};

class PinnedBlock final : public MemoryBlock {
 public:
  PinnedBlock(MemoryProvider& provider, void* data, std::uint64_t size)
      : MemoryBlock(provider, data, size) {}
  ~PinnedBlock() override { cudaFreeHost(data()); }
};

}  // namespace

Result<std::unique_ptr<CudaMemoryProvider>> CudaMemoryProvider::open(int ordinal) {
  Result<const cuda::Driver*> driver = cuda::driver();
  if (!driver) return driver.error();
  std::unique_ptr<CudaMemoryProvider> provider(new CudaMemoryProvider(ordinal, **driver));
  if (Result<void> started = provider->start(); !started) {
    return started.error().within("memory of GPU " + std::to_string(ordinal));
  }
  return provider;
}

Result<void> CudaMemoryProvider::start() {
  if (auto done = cuda::check(cudaSetDevice(ordinal_), "cudaSetDevice"); !done) return done;
  const CUmemAllocationProp properties = chunk_properties(ordinal_);
  std::size_t granularity = 0;
  auto got = cuda::check(
      driver_, driver_.granularity(&granularity, &properties, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED),
      "cuMemGetAllocationGranularity");
  if (!got) return got;
  granularity_ = granularity;
  const Result<cudaStream_t> stream = cuda::make_stream();
  if (!stream) return stream.error();
  stream_ = *stream;
  return {};
}

CudaMemoryProvider::~CudaMemoryProvider() {
  if (stream_ != nullptr) cudaStreamDestroy(stream_);
}

Result<std::unique_ptr<MemoryBlock>> CudaMemoryProvider::allocate(std::uint64_t bytes,
                                                                  Place place) {
  if (auto done = cuda::check(cudaSetDevice(ordinal_), "cudaSetDevice"); !done) {
    return done.error();
  }
  if (place == Place::device) return allocate_on_device(bytes);
  void* data = nullptr;
  auto made = cuda::check(cudaHostAlloc(&data, bytes, cudaHostAllocMapped | cudaHostAllocPortable),
                          text("cudaHostAlloc", bytes));
  if (!made) return made.error();
  std::memset(data, 0, bytes);
  return std::unique_ptr<MemoryBlock>(std::make_unique<PinnedBlock>(*this, data, bytes));
}

Result<std::shared_ptr<AddressRange>> CudaMemoryProvider::make_range(std::uint64_t bytes) {
  Result<std::unique_ptr<AddressRange>> range = reserve(bytes);
  if (!range) return range.error();
  if (auto committed = (*range)->commit(bytes); !committed) return committed.error();
  return std::shared_ptr<AddressRange>(std::move(*range));
}

// Small blocks share a range: one has at least `granularity_` bytes.
Result<std::unique_ptr<MemoryBlock>> CudaMemoryProvider::allocate_on_device(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t rounded = round_up(bytes, kBlockAlignment);
  if (rounded > granularity_ / 2) {
    auto range = make_range(round_up(bytes, granularity_));
    if (!range) return range.error();
    void* const base = (*range)->base();
    return std::unique_ptr<MemoryBlock>(
        std::make_unique<DeviceBlock>(*this, base, bytes, std::move(*range)));
  }
  if (slab_ == nullptr || slab_used_ + rounded > granularity_) {
    auto range = make_range(granularity_);
    if (!range) return range.error();
    slab_ = std::move(*range);
    slab_used_ = 0;
  }
  void* const base = static_cast<char*>(slab_->base()) + slab_used_;
  slab_used_ += rounded;
  return std::unique_ptr<MemoryBlock>(std::make_unique<DeviceBlock>(*this, base, bytes, slab_));
}

Result<std::unique_ptr<AddressRange>> CudaMemoryProvider::reserve(std::uint64_t bytes) {
  Result<std::unique_ptr<CudaRange>> range = CudaRange::reserve(*this, bytes);
  if (!range) return range.error();
  return std::unique_ptr<AddressRange>(std::move(*range));
}

Result<void> CudaMemoryProvider::copy(void* to, const void* from, std::uint64_t bytes) {
  if (auto done = cuda::check(cudaSetDevice(ordinal_), "cudaSetDevice"); !done) return done;
  auto issued = cuda::check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_),
                            text("cudaMemcpyAsync", bytes));
  if (!issued) return issued;
  return cuda::check(cudaStreamSynchronize(stream_), text("copy", bytes));
}

Result<void> CudaMemoryProvider::clear(void* base, std::uint64_t bytes) {
  auto issued =
      cuda::check(cudaMemsetAsync(base, 0, bytes, stream_), text("cudaMemsetAsync", bytes));
  if (!issued) return issued;
  return cuda::check(cudaStreamSynchronize(stream_), text("clearing", bytes));
}

Result<int> CudaMemoryProvider::export_dma_buf(void* base, std::uint64_t bytes) {
  int descriptor = -1;
  auto exported = cuda::check(driver_,
                              driver_.range_handle(&descriptor, reinterpret_cast<CUdeviceptr>(base),
                                                   bytes, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0),
                              text("dma-buf export", bytes));
  if (!exported) return exported.error();
  return descriptor;
}

std::string CudaMemoryProvider::bus() const {
  char text[32] = {};
  if (cudaDeviceGetPCIBusId(text, sizeof text, ordinal_) != cudaSuccess) {
    cudaGetLastError();  // forgets it
    return {};
  }
  return text;
}

// Atomics need a link that carries them, as NVLink does; over PCIe there are loads and stores only.
GpuReach CudaMemoryProvider::reach(const std::string& bus) const {
  int other = 0;
  int reaches = 0;
  int atomics = 0;
  const bool known = cudaDeviceGetByPCIBusId(&other, bus.c_str()) == cudaSuccess &&
                     cudaDeviceCanAccessPeer(&reaches, ordinal_, other) == cudaSuccess;
  if (!known || reaches == 0) {
    cudaGetLastError();
    return GpuReach::none;
  }
  const cudaError_t asked =
      cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, ordinal_, other);
  if (asked != cudaSuccess) cudaGetLastError();
  return asked == cudaSuccess && atomics != 0 ? GpuReach::atomics : GpuReach::loads_and_stores;
}

Result<bool> CudaMemoryProvider::pin(void* base, std::uint64_t bytes) {
  cudaPointerAttributes attributes{};
  auto asked = cuda::check(cudaPointerGetAttributes(&attributes, base), "cudaPointerGetAttributes");
  if (!asked) return asked.error();
  if (attributes.type != cudaMemoryTypeUnregistered) return false;
  auto pinned =
      cuda::check(cudaHostRegister(base, bytes, cudaHostRegisterPortable | cudaHostRegisterMapped),
                  text("cudaHostRegister", bytes));
  if (!pinned) return pinned.error();
  return true;
}

Result<void> CudaMemoryProvider::unpin(void* base) {
  return cuda::check(cudaHostUnregister(base), "cudaHostUnregister");
}

// As I/O memory: the driver does so for its own devices' registers alone, unless it is told to.
Result<void*> CudaMemoryProvider::map_registers(void* page, std::uint64_t bytes) {
  if (auto done = cuda::check(cudaSetDevice(ordinal_), "cudaSetDevice"); !done) {
    return done.error();
  }
  constexpr unsigned kFlags =
      cudaHostRegisterPortable | cudaHostRegisterMapped | cudaHostRegisterIoMemory;
  const cudaError_t code = cudaHostRegister(page, bytes, kFlags);
  if (code != cudaSuccess) {
    cudaGetLastError();  // forgets it
    return Error(Code::unavailable, "cudaHostRegister of a page of a NIC's registers: " +
                                        std::to_string(code) + ", " + cudaGetErrorString(code));
  }
  void* mapped = nullptr;
  auto found = cuda::check(cudaHostGetDevicePointer(&mapped, page, 0), "cudaHostGetDevicePointer");
  if (found) return mapped;
  static_cast<void>(unmap_registers(page));
  return found.error();
}

Result<void> CudaMemoryProvider::unmap_registers(void* page) { return unpin(page); }

bool CudaMemoryProvider::orders_nic_writes() const {
  int order = 0;
  const cudaError_t asked =
      cudaDeviceGetAttribute(&order, cudaDevAttrGPUDirectRDMAWritesOrdering, ordinal_);
  if (asked != cudaSuccess) cudaGetLastError();
  return asked == cudaSuccess && order >= cudaGPUDirectRDMAWritesOrderingOwner;
}

MemoryKind CudaMemoryProvider::kind_of(const void* pointer) const {
  cudaPointerAttributes attributes{};
  if (cudaPointerGetAttributes(&attributes, pointer) != cudaSuccess) {
    cudaGetLastError();  // forgets it
    return MemoryKind::host;
  }
  switch (attributes.type) {
    case cudaMemoryTypeDevice: return MemoryKind::gpu;
    case cudaMemoryTypeHost: return MemoryKind::pinned;
    default: return MemoryKind::host;
  }
}

}  // namespace gdakit
