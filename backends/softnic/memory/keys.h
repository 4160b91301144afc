// Memory keys: what a lkey or rkey grants, looked up on every access to a client's memory.
//
//   key   = index[31:8] variant[7:0]
//   index -> entry {variant, PD, QPN, rights, start, length, base or pages}
//
// A key and a range of its addresses give pieces of memory: one, or one for each run of pages that
// lie side by side.
//
// A window (windows.cc) is a key of its own that stands for a part of a region, and for remote
// rights alone:
//
//   allocated, free  --bind-->  live: index -> entry {..., region's key, iova there}  --> region
//      ^                              |
//      +------ local or remote invalidate, bind of nothing
//
// Binds choose its variant, and look at the region's key, PD and rights. Whether the range lies in
// the region is found by each access, as on hardware, and so is a region that has gone.
//
// A key with a list (key_list.h) stands for parts of other keys, and those may do likewise, to a
// depth of kMaxIndirection. It has rights of its own; the other keys must let the NIC read or write
// where it is read or written through them. WQEs free it, and change what it is.
//
// A removed index rests (kinds.h), and then comes back with the next variant, so that a stale key
// meets an entry of its own only after 256 such rounds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/softnic/memory/key_change.h"
#include "backends/softnic/memory/key_list.h"
#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/objects/kinds.h"
#include "backends/softnic/objects/mkey_attributes.h"
#include "backends/softnic/objects/number_space.h"
#include "backends/softnic/objects/status.h"

namespace gdakit::softnic {

// `absent`: there is no memory, or not the right to it, in a region that is paged on demand.
enum class KeyFault : std::uint8_t {
  none,
  unknown_key,
  wrong_pd,
  wrong_qp,
  range,
  access,
  depth,
  absent,
};

// `mkey`: made by a command of its own.
enum class KeyKind : std::uint8_t { none, region, mkey, window_1, window_2 };
constexpr bool is_window(KeyKind kind) { return kind >= KeyKind::window_1; }

// How many keys that stand for others an access may go through: cmd_hca_cap.max_indirection.
inline constexpr std::uint32_t kMaxIndirection = 4;

struct Translation {
  KeyFault fault = KeyFault::none;
  MemoryKey region = 0;    // the key whose memory it is, where that is not the one asked for
  MemoryRange piece = {};  // the first one of the range
};

class KeyTable {
 public:
  // At most `most` keys at a time, without the first `skipped` indices; the variant of each index
  // begins with `first_variant`.
  explicit KeyTable(std::uint32_t most = kind_row(ObjectKind::mkey).limit,
                    std::uint32_t skipped = 0, std::uint8_t first_variant = 1)
      : indices_(ObjectKind::mkey, most, skipped),
        before_first_variant_(static_cast<std::uint8_t>(first_variant - 1)) {}

  Outcome<MemoryKey> add(const MrAttributes& attributes, Uid owner = kNicUid);
  // The key means something else from now on; its number, variant included, stays.
  Outcome<> change(MemoryKey key, const MrAttributes& attributes, Uid owner = kNicUid);
  Outcome<> remove(MemoryKey key, Uid owner = kNicUid);

  // A window, free at first.
  Outcome<MemoryKey> add_window(PdNumber pd, WindowType type, Uid owner = kNicUid);
  Outcome<> remove_window(MemoryKey key, Uid owner = kNicUid);

  // A key that a command makes, and what has become of it. Of the key the index alone counts.
  Outcome<MemoryKey> add_mkey(const MkeyAttributes& attributes, Uid owner = kNicUid);
  Outcome<MkeyInfo> query_mkey(MemoryKey key, Uid owner = kNicUid) const;
  // Returns it with the variant that it had.
  Outcome<MemoryKey> remove_mkey(MemoryKey key, Uid owner = kNicUid);

  // Binds or frees a window, or changes an mkey, of `pd`, for a WQE of this queue pair. False: it
  // may not, and nothing has changed.
  bool change_by_wqe(const KeyChange& change, PdNumber pd, QpNumber qpn);
  // Frees a window of type 2, or an mkey that lets peers do so, at a peer's request, for the queue
  // pair that was asked. False: the key is none that it may end.
  bool invalidate(MemoryKey key, PdNumber pd, QpNumber qpn);
  // Whether the key has the index of one that stands for others' memory.
  bool is_indirect(MemoryKey key) const {
    const std::uint32_t index = place(key);
    return index < entries_.size() && entries_[index].is_indirect();
  }

  // The memory that a key names, or named when it was removed, piece by piece.
  std::vector<MemoryRange> memory(MemoryKey key) const;
  // The same of a live key of this owner; nothing if there is none.
  std::optional<std::vector<MemoryRange>> find_memory(MemoryKey key, Uid owner) const;

  // Gives back the list of a removed key's pages; its memory is not asked for any more.
  void forget_pages(MemoryKey key) { entries_[place(key)].pages = nullptr; }

  // How many keys have been removed or changed: memory that was found when they were fewer may be
  // gone.
  std::uint64_t removals() const { return removals_; }

  // Number of keys of `pd`.
  std::size_t count(PdNumber pd) const;

  // Where [iova, iova + size) begins in memory and how much of it lies there in one piece, or why
  // the range may not be touched. Index and variant must be those of a live key, which belongs to
  // `pd`, is not bound to another QP, covers the whole range and has the right. Of a key that
  // stands for others' memory the other keys are looked at for the first piece alone.
  Translation translate(MemoryKey key, PdNumber pd, QpNumber qpn, std::uint64_t iova,
                        std::uint64_t size, Access wanted) const {
    return look_up(key, pd, qpn, iova, size, wanted, kMaxIndirection);
  }
  // Why not all of the range may be touched, piece by piece.
  KeyFault check_pieces(MemoryKey key, PdNumber pd, QpNumber qpn, std::uint64_t iova,
                        std::uint64_t size, Access wanted) const;

 private:
  struct alignas(64) Entry {
    std::uint64_t start = 0;
    std::uint64_t length = 0;
    DmaAddress base;
    std::unique_ptr<DmaAddress[]> pages;
    std::unique_ptr<KeyList> list;
    PdNumber pd = 0;
    QpNumber qpn = kAnyQp;
    MemoryKey region = 0;  // of a window; `base` is the iova there
    Uid owner = kNicUid;
    Access access = Access::none;
    std::uint8_t variant = 0;
    bool live = false;
    bool in_one_piece = true;  // all of it lies at `base`
    std::uint8_t log_page_size = 0;
    KeyKind kind = KeyKind::none;  // of the object that has the index
    bool umr_enabled = false;
    bool remote_invalidate = false;

    bool is_indirect() const { return is_window(kind) || list != nullptr; }
  };
  static_assert(sizeof(Entry) == 64);

  static constexpr std::uint8_t kMinLogPageSize = 12;
  static constexpr std::uint8_t kMaxLogPageSize = 31;
  static constexpr std::uint64_t kPagesOfAPiece = 64;

  // Of a key below the first one it is beyond all entries.
  std::uint32_t place(MemoryKey key) const { return (key >> 8) - indices_.first(); }
  static std::uint64_t pages_of(std::uint64_t start, std::uint64_t length,
                                std::uint8_t log_page_size);
  Translation look_up(MemoryKey key, PdNumber pd, QpNumber qpn, std::uint64_t iova,
                      std::uint64_t size, Access wanted, std::uint32_t depth) const {
    const std::uint32_t index = place(key);
    if (index >= entries_.size()) return {KeyFault::unknown_key};
    const Entry& entry = entries_[index];
    if (!entry.live || entry.variant != (key & 0xff)) return {KeyFault::unknown_key};
    if (entry.pd != pd) return {KeyFault::wrong_pd};
    if (entry.qpn != kAnyQp && entry.qpn != qpn) return {KeyFault::wrong_qp};
    const std::uint64_t offset = iova - entry.start;
    // Compared this way round, neither sum can overflow.
    if (iova < entry.start || offset > entry.length || size > entry.length - offset) {
      return {KeyFault::range};
    }
    if (!allows(entry.access, wanted)) return {KeyFault::access};
    if (!entry.in_one_piece) return find_piece(entry, qpn, iova, size, wanted, depth);
    return {.piece = {entry.base + offset, size}};
  }
  Translation find_piece(const Entry& entry, QpNumber qpn, std::uint64_t iova, std::uint64_t size,
                         Access wanted, std::uint32_t depth) const;
  std::optional<KeyPart> find_part(const Entry& entry, std::uint64_t offset) const;
  // Of keys of the owner's that are no window's: by the index.
  const Entry* find_mkey(MemoryKey key, Uid owner) const;
  Entry* find_for_wqe(const KeyChange& change, PdNumber pd, QpNumber qpn);
  static Access access_after(const Entry& entry, const KeyChange& change);
  static void take_over(Entry& entry, const KeyChange& change);
  static bool change_mkey(Entry& mkey, const KeyChange& change);
  bool change_window(Entry& window, const KeyChange& change);
  bool may_be_bound(const KeyListEntry& part, PdNumber pd, Access access) const;
  Entry* find_window(MemoryKey key);
  Entry& entry_of(std::uint32_t index);
  const Entry* find(MemoryKey key, Uid owner) const;
  Entry* find(MemoryKey key, Uid owner);
  static void fill(Entry& entry, const MrAttributes& attributes);
  static Outcome<> check(const MrAttributes& attributes);
  static Outcome<> check_pages(const MrAttributes& attributes);
  static MemoryRange piece_of_pages(const Entry& entry, std::uint64_t iova, std::uint64_t size);

  NumberSpace indices_;
  std::uint8_t before_first_variant_;
  std::vector<Entry> entries_;
  std::uint64_t removals_ = 0;
};

}  // namespace gdakit::softnic
