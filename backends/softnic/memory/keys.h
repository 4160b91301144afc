// Memory keys: what a lkey or rkey grants, looked up on every access to a client's memory.
//
//   key   = index[31:8] variant[7:0]
//   index -> entry {variant, PD, QPN, rights, start, length, base}
//
// A removed index rests (kinds.h), and then comes back with the next variant, so that a stale key
// meets an entry of its own only after 256 such rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/objects/kinds.h"
#include "backends/softnic/objects/number_space.h"
#include "backends/softnic/objects/status.h"

namespace gdakit::softnic {

enum class KeyFault : std::uint8_t { none, unknown_key, wrong_pd, wrong_qp, range, access };

struct Resolved {
  KeyFault fault = KeyFault::none;
  DmaAddress address;
};

class KeyTable {
 public:
  // At most `most` keys at a time.
  explicit KeyTable(std::uint32_t most = kind_row(ObjectKind::mkey).limit)
      : indices_(ObjectKind::mkey, most) {}

  Outcome<MemoryKey> add(const MrAttributes& attributes, Uid owner = kNicUid);
  Outcome<> remove(MemoryKey key, Uid owner = kNicUid);

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
    Uid owner = kNicUid;
    Access access = Access::none;
    std::uint8_t variant = 0;
    bool live = false;
  };

  NumberSpace indices_;
  std::vector<Entry> entries_;
  std::uint64_t removals_ = 0;
};

}  // namespace gdakit::softnic
