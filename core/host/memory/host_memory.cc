#include "core/host/memory/host_memory.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "core/base/bits.h"
#include "core/host/memory/memory_file.h"

namespace gdakit {
namespace {

// Private to this process, as all but heaps is.
constexpr int kMapFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

class HostBlock final : public MemoryBlock {
 public:
  HostBlock(MemoryProvider& provider, void* data, std::uint64_t size)
      : MemoryBlock(provider, data, size) {}
  ~HostBlock() override { ::munmap(data(), size()); }
};

// Its memory is a file without a name, which other processes of a job can map; nothing of it is
// made before it is touched, and nothing is left when the last process that maps it has ended.
class HostRange final : public AddressRange {
 public:
  HostRange(char* base, std::uint64_t size) : AddressRange(base, size) {}
  ~HostRange() override { ::munmap(base_, size_); }

  Result<void> commit(std::uint64_t bytes) override {
    if (Result<void> fits = check_commit(bytes); !fits) return fits;
    if (!file_) {
      Result<UniqueFileDescriptor> made = make_memory_file("gdakit-heap");
      if (!made) return made.error().within("memory of a heap");
      // Without the seal another process could take the memory away under this one's feet.
      if (::fcntl(made->get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0) {
        return Error::from_errno("F_ADD_SEALS for a heap", errno);
      }
      file_ = std::move(*made);
    }
    if (Result<void> grown = resize_memory_file(file_, committed_ + bytes); !grown) {
      return grown.error().within("growth of a heap by " + std::to_string(bytes) + " bytes");
    }
    if (Result<void> mapped = map_file(file_.get(), committed_, bytes); !mapped) return mapped;
    commits_[committed_] = bytes;
    committed_ += bytes;
    return {};
  }

  Result<SharedChunk> export_chunk(std::uint64_t offset) override {
    const auto found = commits_.find(offset);
    if (found == commits_.end()) {
      return Error(Code::invalid_argument, "export_chunk: no chunk begins at this offset");
    }
    UniqueFileDescriptor copy(::fcntl(file_.get(), F_DUPFD_CLOEXEC, 0));
    if (!copy) return Error::from_errno("duplicate of a heap's descriptor", errno);
    return SharedChunk{std::move(copy), offset, found->second};
  }

  Result<void> import_chunk(const SharedChunk& chunk) override {
    if (Result<void> fits = check_commit(chunk.bytes); !fits) return fits;
    if (Result<void> whole = check_file(chunk); !whole) return whole;
    if (auto mapped = map_file(chunk.descriptor.get(), chunk.offset, chunk.bytes); !mapped) {
      return mapped;
    }
    committed_ += chunk.bytes;
    return {};
  }

 private:
  // Puts the bytes of a file behind the end of what is committed.
  Result<void> map_file(int file, std::uint64_t offset, std::uint64_t bytes) {
    const void* const at =
        ::mmap(base_ + committed_, bytes, PROT_READ | PROT_WRITE,
               MAP_SHARED | MAP_FIXED | MAP_NORESERVE, file, static_cast<off_t>(offset));
    if (at != MAP_FAILED) return {};
    return Error::from_errno("mmap of " + std::to_string(bytes) + " bytes of a heap", errno);
  }

  // Touching what a file does not have would end this process.
  static Result<void> check_file(const SharedChunk& chunk) {
    struct stat status {};
    const int seals = ::fcntl(chunk.descriptor.get(), F_GET_SEALS);
    const bool sealed = seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
    if (sealed && ::fstat(chunk.descriptor.get(), &status) == 0 &&
        chunk.bytes <= static_cast<std::uint64_t>(status.st_size) &&
        chunk.offset <= static_cast<std::uint64_t>(status.st_size) - chunk.bytes) {
      return {};
    }
    return Error(Code::invalid_argument, "import_chunk of " + std::to_string(chunk.bytes) +
                                             " bytes: the descriptor is not a heap that has them");
  }

  UniqueFileDescriptor file_;
  std::map<std::uint64_t, std::uint64_t> commits_;  // offset -> bytes
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

Result<std::unique_ptr<MemoryBlock>> HostMemoryProvider::allocate(std::uint64_t bytes, Place) {
  const std::uint64_t size = round_up(bytes, granularity());
  Result<void*> data = map(size, PROT_READ | PROT_WRITE);
  if (!data) return data.error();
  return std::unique_ptr<MemoryBlock>(std::make_unique<HostBlock>(*this, *data, size));
}

Result<std::unique_ptr<AddressRange>> HostMemoryProvider::reserve(std::uint64_t bytes) {
  const std::uint64_t size = round_up(bytes, granularity());
  Result<void*> base = map(size, PROT_NONE);
  if (!base) return base.error();
  return std::unique_ptr<AddressRange>(
      std::make_unique<HostRange>(static_cast<char*>(*base), size));
}

Result<void> HostMemoryProvider::copy(void* to, const void* from, std::uint64_t bytes) {
  if (bytes == 0) return {};  // from nowhere
  std::memcpy(to, from, bytes);
  return {};
}

}  // namespace gdakit
