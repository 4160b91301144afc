#include "core/host/host_memory.h"

#include <cerrno>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/bits.h"

namespace gdakit {
namespace {

// Private to this process: nothing of a job is shared but the wire.
constexpr int kMapFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

class HostBlock final : public MemoryBlock {
 public:
  HostBlock(void* data, std::uint64_t size) : MemoryBlock(data, size) {}
  ~HostBlock() override { ::munmap(data(), size()); }
};

class HostRange final : public AddressRange {
 public:
  HostRange(char* base, std::uint64_t size) : AddressRange(base, size) {}
  ~HostRange() override { ::munmap(base_, size_); }

  Result<void> commit(std::uint64_t bytes) override {
    if (bytes > size_ - committed_) {
      return Error(Code::exhausted, "commit of " + std::to_string(bytes) + " bytes: only " +
                                        std::to_string(size_ - committed_) + " of " +
                                        std::to_string(size_) + " reserved bytes are left");
    }
    if (::mprotect(base_ + committed_, bytes, PROT_READ | PROT_WRITE) != 0) {
      return Error::from_errno("mprotect of " + std::to_string(bytes) + " bytes", errno);
    }
    committed_ += bytes;
    return {};
  }
};

Result<void*> map(std::uint64_t bytes, int protection) {
  void* data = ::mmap(nullptr, bytes, protection, kMapFlags, -1, 0);
  if (data == MAP_FAILED) {
    return Error::from_errno("mmap of " + std::to_string(bytes) + " bytes", errno);
  }
  return data;
}

}  // namespace

std::uint64_t HostMemoryProvider::granularity() const {
  return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

Result<std::unique_ptr<MemoryBlock>> HostMemoryProvider::allocate(std::uint64_t bytes) {
  const std::uint64_t size = round_up(bytes, granularity());
  Result<void*> data = map(size, PROT_READ | PROT_WRITE);
  if (!data) return data.error();
  return std::unique_ptr<MemoryBlock>(std::make_unique<HostBlock>(*data, size));
}

Result<std::unique_ptr<AddressRange>> HostMemoryProvider::reserve(std::uint64_t bytes) {
  const std::uint64_t size = round_up(bytes, granularity());
  Result<void*> base = map(size, PROT_NONE);
  if (!base) return base.error();
  return std::unique_ptr<AddressRange>(
      std::make_unique<HostRange>(static_cast<char*>(*base), size));
}

}  // namespace gdakit
