// Memory that is locked for a NIC, against the limit of a process (RLIMIT_MEMLOCK).
//
//   LockedMemory memory(64 << 20);
//   LockedRange range;
//   if (!memory.lock(start, length, range)) return ENOMEM;
//
// Calls may come from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

namespace gdakit::softnic::uverbs {

class LockedMemory;

// Is unlocked at its end.
class LockedRange {
 public:
  LockedRange() = default;
  LockedRange(LockedMemory& of, std::uint64_t bytes) : of_(&of), bytes_(bytes) {}
  LockedRange(LockedRange&& other) noexcept
      : of_(std::exchange(other.of_, nullptr)), bytes_(other.bytes_) {}
  LockedRange& operator=(LockedRange other) noexcept {
    std::swap(of_, other.of_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~LockedRange();

 private:
  LockedMemory* of_ = nullptr;
  std::uint64_t bytes_ = 0;
};

class LockedMemory {
 public:
  // Without a limit nothing is counted.
  explicit LockedMemory(std::optional<std::uint64_t> limit) : limit_(limit) {}

  // Whole pages, each as often as it is locked, as the kernel counts. False: beyond the limit.
  bool lock(std::uint64_t start, std::uint64_t length, LockedRange& to) {
    if (!limit_) return true;
    const std::uint64_t end = start + length + (kPage - 1);
    const std::uint64_t bytes = (end & ~(kPage - 1)) - (start & ~(kPage - 1));
    if ((bytes_ += bytes) > *limit_) {
      bytes_ -= bytes;
      return false;
    }
    to = LockedRange(*this, bytes);
    return true;
  }

 private:
  friend LockedRange;
  static constexpr std::uint64_t kPage = 4096;

  const std::optional<std::uint64_t> limit_;
  std::atomic<std::uint64_t> bytes_{0};
};

inline LockedRange::~LockedRange() {
  if (of_ != nullptr) of_->bytes_ -= bytes_;
}

}  // namespace gdakit::softnic::uverbs
