#include "backends/softnic/uverbs/gpus.h"

#include <dlfcn.h>
#include <map>
#include <mutex>
#include <sys/stat.h>
#include <utility>

#include "backends/softnic/uverbs/cuda_names.h"

namespace gdakit::softnic::uverbs {
namespace {

std::optional<int> gpu_at(cuda::PointerGetAttribute* ask, std::uint64_t address) {
  unsigned type = 0;
  int ordinal = 0;
  if (ask(&type, cuda::kMemoryType, address) != cuda::kSuccess || type != cuda::kDeviceMemory ||
      ask(&ordinal, cuda::kDeviceOrdinal, address) != cuda::kSuccess) {
    return std::nullopt;
  }
  return ordinal;
}

// By what the system tells two dma-bufs apart: a number of a file is used again, and this is not.
using FileIdentity = std::pair<dev_t, ino_t>;

std::optional<FileIdentity> identity_of(int file) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino};
}

class DmaBufs {
 public:
  static DmaBufs& get() {
    static auto* const all = new DmaBufs;  // other threads may come while the process ends
    return *all;
  }

  void note(int file, const GpuMemory& memory) {
    const auto identity = identity_of(file);
    if (!identity) return;
    const std::lock_guard lock(mutex_);
    known_[*identity] = memory;
    if (known_.size() > kMost) known_.erase(known_.begin());  // the oldest, as numbers rise
  }
  std::optional<GpuMemory> find(int file) {
    const auto identity = identity_of(file);
    if (!identity) return std::nullopt;
    const std::lock_guard lock(mutex_);
    const auto at = known_.find(*identity);
    return at == known_.end() ? std::nullopt : std::optional(at->second);
  }

 private:
  static constexpr std::size_t kMost = 65536;

  std::mutex mutex_;
  std::map<FileIdentity, GpuMemory> known_;
};

}  // namespace

std::optional<GpuMemory> GpuMemory::part(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset > length || bytes > length - offset) return std::nullopt;
  return GpuMemory{address + offset, bytes, ordinal};
}

std::optional<GpuMemory> gpu_memory_at(std::uint64_t address, std::uint64_t length) {
  auto* const ask = reinterpret_cast<cuda::PointerGetAttribute*>(
      driver_function("cuPointerGetAttribute", ::dlsym));
  if (ask == nullptr || length == 0 || address + (length - 1) < address) return std::nullopt;
  const std::optional<int> gpu = gpu_at(ask, address);
  if (!gpu || gpu_at(ask, address + (length - 1)) != gpu) return std::nullopt;
  return GpuMemory{address, length, *gpu};
}

void* driver_function(const char* name, void* (*find)(void* library, const char* name)) {
  void* const driver = ::dlopen(cuda::kLibrary, RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return nullptr;
  void* const function = find(driver, name);
  ::dlclose(driver);  // the program's own hold on it stays
  return function;
}

void note_dma_buf(int file, const GpuMemory& memory) { DmaBufs::get().note(file, memory); }

std::optional<GpuMemory> memory_of_dma_buf(int file) { return DmaBufs::get().find(file); }

}  // namespace gdakit::softnic::uverbs
