// Memory keys: what a lkey or rkey grants, looked up on every access to a client's memory.
//
//   key   = index[31:8] variant[7:0]
//   index -> entry {variant, PD, QPN, rights, start, length, base or pages}
//
// A key and a range of its addresses give pieces of memory: one, or one for each run of pages that
// lie side by side.
//
// A removed index rests until kRestingIndices others have been removed, and then comes back with
// the next variant, so that a stale key meets an entry of its own only after 256 such rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "backends/softnic/objects/attributes.h"
#include "core/base/result.h"

namespace gdakit::softnic {

enum class KeyFault : std::uint8_t { none, unknown_key, wrong_pd, wrong_qp, range, access };

struct Translation {
  KeyFault fault = KeyFault::none;
  MemoryRange piece;  // the first one of the range
};

class KeyTable {
 public:
  static constexpr std::uint32_t kMaxIndices = 1u << 24;
  // Keys of smaller indices mean something by themselves, as 0x100, which ends a receive WQE's
  // list.
  static constexpr std::uint32_t kFirstIndex = 16;
  static constexpr std::size_t kRestingIndices = 4096;

  Result<MemoryKey> add(const MrAttributes& attributes);
  Result<> remove(MemoryKey key);

  // The memory that a key names, or named when it was removed, piece by piece.
  std::vector<MemoryRange> memory(MemoryKey key) const;

  // How many keys have been removed: memory that was found when they were fewer may be gone.
  std::uint64_t removals() const { return removals_; }

  // Number of keys of `pd`.
  std::size_t count(PdNumber pd) const;

  // Where [iova, iova + size) begins in memory and how much of it lies there in one piece, or why
  // the range may not be touched. Index and variant must be those of a live key, which belongs to
  // `pd`, is not bound to another QP, covers the whole range and has the right.
  Translation translate(MemoryKey key, PdNumber pd, QpNumber qpn, std::uint64_t iova,
                        std::uint64_t size, Access wanted) const {
    const std::uint32_t index = key >> 8;
    if (index >= entries_.size()) return {KeyFault::unknown_key, {}};
    const Entry& entry = entries_[index];
    if (!entry.live || entry.variant != (key & 0xff)) return {KeyFault::unknown_key, {}};
    if (entry.pd != pd) return {KeyFault::wrong_pd, {}};
    if (entry.qpn != kAnyQp && entry.qpn != qpn) return {KeyFault::wrong_qp, {}};
    const std::uint64_t offset = iova - entry.start;
    // Compared this way round, neither sum can overflow.
    if (iova < entry.start || offset > entry.length || size > entry.length - offset) {
      return {KeyFault::range, {}};
    }
    if (!allows(entry.access, wanted)) return {KeyFault::access, {}};
    if (entry.pages != nullptr) return {KeyFault::none, piece_of_pages(entry, iova, size)};
    return {KeyFault::none, {entry.base + offset, size}};
  }

 private:
  struct alignas(64) Entry {
    std::uint64_t start = 0;
    std::uint64_t length = 0;
    DmaAddress base;
    std::unique_ptr<DmaAddress[]> pages;  // null: all of it lies at `base`
    PdNumber pd = 0;
    QpNumber qpn = kAnyQp;
    Access access = Access::none;
    std::uint8_t variant = 0;
    bool live = false;
    std::uint8_t log_page_size = 0;
  };
  static_assert(sizeof(Entry) == 64);

  static constexpr std::uint8_t kMinLogPageSize = 12;
  static constexpr std::uint8_t kMaxLogPageSize = 31;

  Result<std::uint32_t> take_index();
  static std::uint64_t pages_of(std::uint64_t start, std::uint64_t length,
                                std::uint8_t log_page_size);
  static Result<> check_pages(const MrAttributes& attributes);
  static MemoryRange piece_of_pages(const Entry& entry, std::uint64_t iova, std::uint64_t size);

  std::vector<Entry> entries_ = std::vector<Entry>(kFirstIndex);
  std::deque<std::uint32_t> resting_;
  std::uint64_t removals_ = 0;
};

}  // namespace gdakit::softnic
