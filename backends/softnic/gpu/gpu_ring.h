// A ring of pinned memory: pieces are taken at the tail and given back in the order taken.
//
//   give_back(mark)        take(bytes)
//         v                     v
//   |     | in use by the GPU   |        |      positions count up without end
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/bits.h"

namespace gdakit::softnic {

class GpuRing {
 public:
  GpuRing() = default;
  GpuRing(void* base, std::size_t bytes) : base_(static_cast<std::byte*>(base)), bytes_(bytes) {}

  std::size_t size() const { return bytes_; }

  // A contiguous piece, aligned to 64 bytes; null if there is no room for it now.
  std::byte* take(std::size_t bytes) {
    const std::uint64_t rounded = round_up(bytes, 64);
    std::uint64_t at = tail_;
    if (at % bytes_ + rounded > bytes_) at += bytes_ - at % bytes_;
    if (at + rounded - head_ > bytes_) return nullptr;
    tail_ = at + rounded;
    return base_ + at % bytes_;
  }

  // All that was taken so far lies before the mark.
  std::uint64_t mark() const { return tail_; }
  void give_back(std::uint64_t mark) { head_ = mark; }

 private:
  std::byte* base_ = nullptr;
  std::size_t bytes_ = 0;
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
};

}  // namespace gdakit::softnic
