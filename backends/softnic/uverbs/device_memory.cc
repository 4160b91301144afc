#include "backends/softnic/uverbs/device_memory.h"

#include <cstring>

namespace gdakit::softnic::uverbs {

Result<std::unique_ptr<DeviceMemory>> DeviceMemory::create(MemoryPages& pages) {
  constexpr std::uint64_t kPlace = 0x800 * kPage;
  const Result<void*> memory = pages.map_at(kPlace, kPages * kPage);
  if (!memory) return memory.error();
  return std::unique_ptr<DeviceMemory>(new DeviceMemory(static_cast<std::byte*>(*memory)));
}

Result<std::uint64_t> DeviceMemory::take(std::uint64_t pages) {
  const std::lock_guard lock(mutex_);
  std::uint64_t free = 0;  // that end with the page looked at
  for (std::uint64_t page = 0; page < kPages; ++page) {
    free = taken_[page] ? 0 : free + 1;
    if (free != pages) continue;
    const std::uint64_t first = page + 1 - pages;
    for (std::uint64_t i = first; i <= page; ++i) taken_.set(i);
    std::memset(at(first), 0, pages * kPage);
    return first;
  }
  return Error(Code::exhausted, "the device has not so much memory left");
}

void DeviceMemory::give_back(std::uint64_t first, std::uint64_t pages) {
  const std::lock_guard lock(mutex_);
  for (std::uint64_t i = first; i < first + pages; ++i) taken_.reset(i);
}

}  // namespace gdakit::softnic::uverbs
