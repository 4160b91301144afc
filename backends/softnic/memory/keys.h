// Memory keys: what a lkey or rkey grants, looked up on every access to a client's memory.
//
//   key   = index[31:8] variant[7:0]
//   index -> entry {variant, PD, QPN, rights, start, length, base}
//
// A removed index rests until kRestingIndices others have been removed, and then comes back with
// the next variant, so that a stale key meets an entry of its own only after 256 such rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "backends/softnic/objects/attributes.h"
#include "core/base/result.h"

namespace gdakit::softnic {

enum class KeyFault : std::uint8_t { none, unknown_key, wrong_pd, wrong_qp, range, access };

struct Resolved {
  KeyFault fault = KeyFault::none;
  DmaAddress address;
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

  // The memory that a key names, or named when it was removed.
  MemoryRange memory(MemoryKey key) const {
    const Entry& entry = entries_[key >> 8];
    return {entry.base, entry.length};
  }

  // How many keys have been removed: an address that was resolved when they were fewer may be gone.
  std::uint64_t removals() const { return removals_; }

  // Number of keys of `pd`.
  std::size_t count(PdNumber pd) const;

  // Where [iova, iova + size) lies in memory, or why it may not be touched. Index and variant must
  // be those of a live key, which belongs to `pd`, is not bound to another QP, covers the range and
  // has the right.
  Resolved resolve(MemoryKey key, PdNumber pd, QpNumber qpn, std::uint64_t iova, std::uint64_t size,
                   Access wanted) const {
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
    return {KeyFault::none, entry.base + offset};
  }

 private:
  struct alignas(64) Entry {
    std::uint64_t start = 0;
    std::uint64_t length = 0;
    DmaAddress base;
    PdNumber pd = 0;
    QpNumber qpn = kAnyQp;
    Access access = Access::none;
    std::uint8_t variant = 0;
    bool live = false;
  };

  Result<std::uint32_t> take_index();

  std::vector<Entry> entries_ = std::vector<Entry>(kFirstIndex);
  std::deque<std::uint32_t> resting_;
  std::uint64_t removals_ = 0;
};

}  // namespace gdakit::softnic
