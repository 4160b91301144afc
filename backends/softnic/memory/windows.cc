// Memory windows: keys that stand for a part of a region.
#include <algorithm>

#include "backends/softnic/memory/keys.h"
#include "core/format/umr.h"

namespace gdakit::softnic {
namespace {

// What a bind may change.
constexpr std::uint64_t kBindMask =
    format::mkey_mask::length | format::mkey_mask::start_address | format::mkey_mask::key |
    format::mkey_mask::qpn | format::mkey_mask::local_write | format::mkey_mask::remote_read |
    format::mkey_mask::remote_write | format::mkey_mask::atomic | format::mkey_mask::free;

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
  entry.in_one_piece = false;
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
  indices_.give_back(key >> 8);
  return {};
}

// For the bind: each access looks at the region again, but for its right to be bound.
bool KeyTable::may_be_bound(const KeyListEntry& part, PdNumber pd, Access access) const {
  const MemoryKey key = part.mkey;
  const std::uint32_t index = place(key);
  if (index >= entries_.size()) return false;
  const Entry& region = entries_[index];
  if (!region.live || region.is_indirect() || region.variant != (key & 0xff)) return false;
  const bool changes =
      allows(access, Access::remote_write) || allows(access, Access::remote_atomic);
  return region.pd == pd && allows(region.access, Access::bind) &&
         (!changes || allows(region.access, Access::local_write));
}

// A bind has a list of one KLM, and nothing else has a list. Local rights of a window mean nothing:
// no data segment names it.
bool KeyTable::change_window(Entry& window, const KeyChange& change) {
  if ((change.mask & ~kBindMask) != 0) return false;
  const bool binds = (change.mask & format::mkey_mask::free) != 0 && !change.free;
  const std::size_t entries = binds ? format::kOctowordsOfOneKlm : 0;
  if (change.entries.size() != entries || change.first_entry != 0) return false;
  const Access access =
      without(access_after(window, change), Access::local_read | Access::local_write);
  if (binds && !may_be_bound(change.entries[0], window.pd, access)) return false;
  take_over(window, change);
  window.access = access;
  if (!binds) return true;
  const KeyListEntry& part = change.entries[0];
  window.region = part.mkey;
  window.base = {part.address};
  const std::uint64_t bytes = part.byte_count == 0 ? format::kLongestKlm : part.byte_count;
  window.length = std::min(window.length, bytes);
  return true;
}

}  // namespace gdakit::softnic
