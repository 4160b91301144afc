#include "backends/softnic/memory/keys.h"

#include <algorithm>

namespace gdakit::softnic {

Outcome<MemoryKey> KeyTable::add(const MrAttributes& attributes, Uid owner) {
  if (attributes.length == 0) return refusal(CommandSyndrome::reg_mr_empty);
  if (attributes.start + attributes.length - 1 < attributes.start ||
      attributes.base.value + attributes.length - 1 < attributes.base.value) {
    return refusal(CommandSyndrome::reg_mr_wraps, 0, attributes.length);
  }
  const bool remote_changes = allows(attributes.access, Access::remote_write) ||
                              allows(attributes.access, Access::remote_atomic);
  if (remote_changes && !allows(attributes.access, Access::local_write)) {
    return refusal(CommandSyndrome::reg_mr_rights);
  }
  const auto index = indices_.take();
  if (!index) return refusal(CommandSyndrome::reg_mr_numbers, 0, indices_.most());
  if (*index >= entries_.size()) entries_.resize(*index + 1);
  Entry& entry = entries_[*index];
  entry.variant = attributes.variant.value_or(static_cast<std::uint8_t>(entry.variant + 1));
  entry.start = attributes.start;
  entry.length = attributes.length;
  entry.base = attributes.base;
  entry.pd = attributes.pd;
  entry.qpn = attributes.qpn;
  entry.owner = owner;
  entry.access = attributes.access;
  entry.live = true;
  return (*index << 8) | entry.variant;
}

Outcome<> KeyTable::remove(MemoryKey key, Uid owner) {
  const std::uint32_t index = key >> 8;
  if (index >= entries_.size() || !entries_[index].live ||
      entries_[index].variant != (key & 0xff) || entries_[index].owner != owner) {
    return refusal(CommandSyndrome::dereg_mr_absent, key);
  }
  entries_[index].live = false;
  ++removals_;
  indices_.give_back(index);
  return {};
}

std::size_t KeyTable::count(PdNumber pd) const {
  return static_cast<std::size_t>(std::count_if(
      entries_.begin(), entries_.end(), [pd](const Entry& e) { return e.live && e.pd == pd; }));
}

}  // namespace gdakit::softnic
