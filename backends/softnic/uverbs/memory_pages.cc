#include "backends/softnic/uverbs/memory_pages.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>

#include "core/format/doorbell.h"
#include "core/host/memory/memory_file.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::uint64_t kPage = format::kUarPageBytes;
// Behind every place that mmap's commands of mlx5_ib name, which are below 2^24 pages.
constexpr std::uint64_t kFirst = (std::uint64_t{1} << 24) * kPage;
constexpr std::uint64_t kMostPages = 1 << 16;
constexpr std::uint64_t kUnwatched = kFirst + kMostPages * kPage;

}  // namespace

Result<std::shared_ptr<MemoryPages>> MemoryPages::create() {
  const OpeningOwnFiles opening;
  Result<UniqueFileDescriptor> file = make_memory_file("gdakit-uverbs");
  if (!file) return file.error();
  if (const auto sized = resize_memory_file(*file, kUnwatched + kPage); !sized) {
    return sized.error().within("the doorbell pages");
  }
  auto pages = std::shared_ptr<MemoryPages>(new MemoryPages(keep_file(std::move(*file))));
  pages->next_ = kFirst;
  return pages;
}

MemoryPages::~MemoryPages() {
  for (const auto& [memory, bytes] : fixed_) ::munmap(memory, bytes);
}

Result<void*> MemoryPages::map_at(std::uint64_t offset, std::size_t bytes) {
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(),
                              static_cast<off_t>(offset));
  if (memory == MAP_FAILED) return Error::from_errno("memory of the device: mmap", errno);
  const std::lock_guard lock(mutex_);
  fixed_.emplace_back(memory, bytes);
  return memory;
}

Result<void*> MemoryPages::take() {
  const std::lock_guard lock(mutex_);
  if (free_.empty() && next_ == kUnwatched) {
    return Error(Code::exhausted, "the device has no doorbell page left");
  }
  const std::uint64_t offset = free_.empty() ? next_ : free_.back();
  void* const page = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(),
                            static_cast<off_t>(offset));
  if (page == MAP_FAILED) return Error::from_errno("a doorbell page: mmap", errno);
  std::memset(page, 0, kPage);
  if (free_.empty()) {
    next_ += kPage;
  } else {
    free_.pop_back();
  }
  offsets_[page] = offset;
  return page;
}

void MemoryPages::give_back(void* page) {
  const std::lock_guard lock(mutex_);
  const auto at = offsets_.find(page);
  free_.push_back(at->second);
  offsets_.erase(at);
  ::munmap(page, kPage);
}

std::uint64_t MemoryPages::offset_of(const void* page) const {
  const std::lock_guard lock(mutex_);
  return offsets_.at(page);
}

std::uint64_t MemoryPages::unwatched() { return kUnwatched; }

Result<int> MemoryPages::open_file() const {
  const std::string path = "/proc/self/fd/" + std::to_string(file_.get());
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) return Error::from_errno("the device: " + path, errno);
  return file;
}

}  // namespace gdakit::softnic::uverbs
