// Memory windows: keys that stand for a part of a region.
#include <algorithm>

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
    {format::mkey_mask::remote_read, Access::remote_read},
    {format::mkey_mask::remote_write, Access::remote_write},
    {format::mkey_mask::atomic, Access::remote_atomic},
};

// What a region must allow for what a window lets others do.
Access needed_of_region(Access wanted) {
  return wanted == Access::remote_read ? Access::local_read : Access::local_write;
}

}  // namespace

Outcome<MemoryKey> KeyTable::add_window(PdNumber pd, WindowType type, Uid owner) {
  if (type != WindowType::type_1 && type != WindowType::type_2) {
    return refusal(CommandSyndrome::alloc_mw_type, 0, static_cast<std::uint64_t>(type));
  }
  const auto index = indices_.take();
  if (!index) return refusal(CommandSyndrome::alloc_mw_numbers, 0, indices_.most());
  Entry& entry = entry_of(*index);
  ++entry.variant;
  entry.owner = owner;
  entry.pd = pd;
  entry.qpn = kAnyQp;
  entry.access = Access::none;
  entry.pages = std::make_unique<DmaAddress[]>(1);
  entry.kind = type == WindowType::type_1 ? KeyKind::window_1 : KeyKind::window_2;
  return (*index << 8) | entry.variant;
}

KeyTable::Entry* KeyTable::find_window(MemoryKey key) {
  const std::uint32_t index = place(key);
  if (index >= entries_.size() || !is_window(entries_[index].kind)) return nullptr;
  return &entries_[index];
}

Outcome<> KeyTable::remove_window(MemoryKey key, Uid owner) {
  Entry* const entry = find_window(key);
  if (entry == nullptr || entry->owner != owner) {
    return refusal(CommandSyndrome::dealloc_mw_absent, key);
  }
  entry->live = false;
  entry->kind = KeyKind::none;
  entry->pages = nullptr;
  indices_.give_back(key >> 8);
  return {};
}

// For the bind: each access looks at the region again, but for its right to be bound.
bool KeyTable::may_be_part(const KeyChange::Part& part, PdNumber pd, Access access) const {
  const std::uint32_t index = place(part.key);
  if (index >= entries_.size()) return false;
  const Entry& region = entries_[index];
  if (!region.live || is_window(region.kind) || region.variant != (part.key & 0xff)) return false;
  const bool changes =
      allows(access, Access::remote_write) || allows(access, Access::remote_atomic);
  return region.pd == pd && allows(region.access, Access::bind) &&
         (!changes || allows(region.access, Access::local_write));
}

bool KeyTable::change_window(const KeyChange& change, PdNumber pd, QpNumber qpn) {
  using namespace format;
  Entry* const entry = find_window(change.key);
  if (entry == nullptr || entry->pd != pd) return false;
  if (change.must_be_free && entry->live) return false;
  if ((change.must_be_live || change.must_be_of_qp) && !entry->live) return false;
  if (change.must_be_of_qp && entry->qpn != kAnyQp && entry->qpn != qpn) return false;
  Access access = entry->access;
  for (const MaskedRight& row : kRights) {
    if ((change.mask & row.mask) == 0) continue;
    const bool granted = allows(change.access, row.right);
    access = granted ? access | row.right : without(access, row.right);
  }
  const bool frees = (change.mask & mkey_mask::free) != 0 && change.free;
  const bool binds = (change.mask & mkey_mask::free) != 0 && !change.free;
  if (binds != change.has_part) return false;
  if (binds && !may_be_part(change.part, pd, access)) return false;
  entry->access = access;
  if ((change.mask & mkey_mask::key) != 0) entry->variant = change.variant;
  if ((change.mask & mkey_mask::qpn) != 0) entry->qpn = change.qpn;
  if ((change.mask & mkey_mask::start_address) != 0) entry->start = change.start;
  if ((change.mask & mkey_mask::length) != 0) entry->length = change.length;
  if (binds) {
    entry->region = change.part.key;
    entry->base = {change.part.iova};
    entry->length = std::min(entry->length, change.part.length);
  }
  entry->live = (entry->live || binds) && !frees;
  return true;
}

bool KeyTable::invalidate(MemoryKey key, PdNumber pd, QpNumber qpn) {
  Entry* const entry = find_window(key);
  if (entry == nullptr || entry->kind != KeyKind::window_2 || !entry->live) return false;
  if (entry->variant != (key & 0xff) || entry->pd != pd) return false;
  if (entry->qpn != kAnyQp && entry->qpn != qpn) return false;
  entry->live = false;
  return true;
}

// By the region as it is now: it may have gone, or be another.
Translation KeyTable::translate_window(const Entry& window, QpNumber qpn, std::uint64_t iova,
                                       std::uint64_t size, Access wanted) const {
  const std::uint32_t index = place(window.region);
  if (index >= entries_.size() || is_window(entries_[index].kind)) {
    return {KeyFault::unknown_key, {}};
  }
  const std::uint64_t at = window.base.value + (iova - window.start);
  return translate(window.region, window.pd, qpn, at, size, needed_of_region(wanted));
}

bool KeyTable::names_window(MemoryKey key) const {
  const std::uint32_t index = place(key);
  return index < entries_.size() && is_window(entries_[index].kind);
}

}  // namespace gdakit::softnic
