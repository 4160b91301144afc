// Memory of the device itself (MEMIC), of which a client takes a piece, maps it and registers it:
// pages of the device's file, at the place that mmap's command 8 names. All open files of the
// process share it.
//
//   | page 0 | page 1 | ... | page 63 |      first fit, and each piece begins with a page
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "backends/softnic/uverbs/memory_pages.h"
#include "core/base/result.h"

namespace gdakit::softnic::uverbs {

class DeviceMemory {
 public:
  static constexpr std::uint64_t kPage = 4096;
  static constexpr std::uint64_t kPages = 64;
  static constexpr std::uint64_t kMostBytes = kPages * kPage / 2;  // of a piece

  // In the file of `pages`, which outlives it.
  static Result<std::unique_ptr<DeviceMemory>> create(MemoryPages& pages);

  // Pages that lie side by side, all of them zero. Returns the number of the first; `exhausted` if
  // there are none. From any thread, as give_back.
  Result<std::uint64_t> take(std::uint64_t pages);
  void give_back(std::uint64_t first, std::uint64_t pages);

  // Where the NIC reaches the page.
  std::byte* at(std::uint64_t page) const { return memory_ + page * kPage; }

 private:
  explicit DeviceMemory(std::byte* memory) : memory_(memory) {}

  std::byte* const memory_;
  std::mutex mutex_;
  std::bitset<kPages> taken_;
};

}  // namespace gdakit::softnic::uverbs
