// Keys that commands make, and WQEs and peers that change keys.
#include <utility>

#include "backends/softnic/memory/keys.h"
#include "core/format/umr.h"

namespace gdakit::softnic {
namespace {

// The rights that a change names, each with the bit of the mask that lets it through.
struct MaskedRight {
  std::uint64_t mask = 0;
  Access right = Access::none;
};
constexpr MaskedRight kRights[] = {
    {format::mkey_mask::local_read, Access::local_read},
    {format::mkey_mask::local_write, Access::local_write},
    {format::mkey_mask::remote_read, Access::remote_read},
    {format::mkey_mask::remote_write, Access::remote_write},
    {format::mkey_mask::atomic, Access::remote_atomic},
};

// Makes the list of a key, with what it begins with.
Outcome<> make_list(const MkeyAttributes& attributes, std::unique_ptr<KeyList>& list) {
  const MkeyListAttributes& given = *attributes.list;
  if (given.capacity == 0 || given.capacity > 1u << kLogMostListEntries) {
    return refusal(CommandSyndrome::create_mkey_list_size, 1u << kLogMostListEntries,
                   given.capacity);
  }
  list = std::make_unique<KeyList>(given.capacity, given.log_entry_bytes);
  if (!list->put(0, given.entries)) return refusal(CommandSyndrome::create_mkey_list);
  // What no WQE may change has all its parts from the beginning.
  const bool is_whole = attributes.length == 0 || list->find(attributes.length - 1);
  if (!attributes.umr_enabled && !is_whole) {
    return refusal(CommandSyndrome::create_mkey_length, 0, attributes.length);
  }
  return {};
}

}  // namespace

Outcome<MemoryKey> KeyTable::add_mkey(const MkeyAttributes& attributes, Uid owner) {
  MrAttributes memory;
  memory.pd = attributes.pd;
  memory.base = attributes.base;
  memory.start = attributes.start;
  memory.length = attributes.length;
  memory.access = attributes.access;
  memory.qpn = attributes.qpn;
  std::unique_ptr<KeyList> list;
  if (attributes.list) {
    if (const Outcome<> made = make_list(attributes, list); !made) return made.status();
  } else {
    if (attributes.umr_enabled) return refusal(CommandSyndrome::create_mkey_umr);
    if (const Outcome<> checked = check(memory); !checked) return checked.status();
  }
  const auto index = indices_.take();
  if (!index) return refusal(CommandSyndrome::reg_mr_numbers, 0, indices_.most());
  Entry& entry = entry_of(*index);
  fill(entry, memory);
  entry.in_one_piece = list == nullptr;
  entry.list = std::move(list);
  entry.variant = attributes.variant;
  entry.owner = owner;
  entry.live = !attributes.free;
  entry.kind = KeyKind::mkey;
  entry.umr_enabled = attributes.umr_enabled;
  entry.remote_invalidate = attributes.remote_invalidate;
  return (*index << 8) | entry.variant;
}

const KeyTable::Entry* KeyTable::find_mkey(MemoryKey key, Uid owner) const {
  const std::uint32_t index = place(key);
  if (index >= entries_.size()) return nullptr;
  const Entry& entry = entries_[index];
  return entry.kind == KeyKind::mkey && entry.owner == owner ? &entry : nullptr;
}

Outcome<MkeyInfo> KeyTable::query_mkey(MemoryKey key, Uid owner) const {
  const Entry* const entry = find_mkey(key, owner);
  if (entry == nullptr) return refusal(CommandSyndrome::query_mkey_absent, key >> 8);
  MkeyInfo info;
  info.key = (key & ~0xffu) | entry->variant;
  info.free = !entry->live;
  info.remote_invalidate = entry->remote_invalidate;
  info.access = entry->access;
  info.qpn = entry->qpn;
  info.start = entry->start;
  info.length = entry->length;
  if (entry->list != nullptr) {
    info.entries.assign(entry->list->entries().begin(), entry->list->entries().end());
  }
  return info;
}

Outcome<MemoryKey> KeyTable::remove_mkey(MemoryKey key, Uid owner) {
  auto* const entry = const_cast<Entry*>(find_mkey(key, owner));
  if (entry == nullptr) return refusal(CommandSyndrome::destroy_mkey_absent, key >> 8);
  entry->live = false;
  entry->kind = KeyKind::none;
  entry->list = nullptr;
  entry->umr_enabled = entry->remote_invalidate = false;
  ++removals_;
  indices_.give_back(key >> 8);
  return (key & ~0xffu) | entry->variant;
}

// The key that a WQE may change, if it is as the WQE expects.
KeyTable::Entry* KeyTable::find_for_wqe(const KeyChange& change, PdNumber pd, QpNumber qpn) {
  const std::uint32_t index = place(change.key);
  if (index >= entries_.size()) return nullptr;
  Entry& entry = entries_[index];
  const bool may_change =
      is_window(entry.kind) || (entry.kind == KeyKind::mkey && entry.umr_enabled);
  if (!may_change || entry.pd != pd) return nullptr;
  if (change.must_be_free && entry.live) return nullptr;
  if ((change.must_be_live || change.must_be_of_qp) && !entry.live) return nullptr;
  const bool is_of_qp = entry.qpn == kAnyQp || entry.qpn == qpn;
  return change.must_be_of_qp && !is_of_qp ? nullptr : &entry;
}

Access KeyTable::access_after(const Entry& entry, const KeyChange& change) {
  Access access = entry.access;
  for (const MaskedRight& row : kRights) {
    if ((change.mask & row.mask) == 0) continue;
    const bool granted = allows(change.access, row.right);
    access = granted ? access | row.right : without(access, row.right);
  }
  return access;
}

// The fields that the mask names.
void KeyTable::take_over(Entry& entry, const KeyChange& change) {
  using namespace format;
  entry.access = access_after(entry, change);
  if ((change.mask & mkey_mask::key) != 0) entry.variant = change.variant;
  if ((change.mask & mkey_mask::qpn) != 0) entry.qpn = change.qpn;
  if ((change.mask & mkey_mask::start_address) != 0) entry.start = change.start;
  if ((change.mask & mkey_mask::length) != 0) entry.length = change.length;
  if ((change.mask & mkey_mask::free) != 0) entry.live = !change.free;
  if ((change.mask & mkey_mask::remote_invalidate) != 0) {
    entry.remote_invalidate = change.remote_invalidate;
  }
}

bool KeyTable::change_mkey(Entry& mkey, const KeyChange& change) {
  const bool has_list = !change.entries.empty();
  if (has_list && !mkey.list->put(change.first_entry, change.entries)) return false;
  take_over(mkey, change);
  return true;
}

bool KeyTable::change_by_wqe(const KeyChange& change, PdNumber pd, QpNumber qpn) {
  Entry* const entry = find_for_wqe(change, pd, qpn);
  if (entry == nullptr) return false;
  if (is_window(entry->kind)) return change_window(*entry, change);
  if (!change_mkey(*entry, change)) return false;
  ++removals_;  // requests have found memory by it
  return true;
}

bool KeyTable::invalidate(MemoryKey key, PdNumber pd, QpNumber qpn) {
  const std::uint32_t index = place(key);
  if (index >= entries_.size()) return false;
  Entry& entry = entries_[index];
  const bool may_end = entry.kind == KeyKind::window_2 || entry.remote_invalidate;
  if (!may_end || !entry.live || entry.variant != (key & 0xff) || entry.pd != pd) return false;
  if (entry.qpn != kAnyQp && entry.qpn != qpn) return false;
  entry.live = false;
  if (!is_window(entry.kind)) ++removals_;
  return true;
}

}  // namespace gdakit::softnic
