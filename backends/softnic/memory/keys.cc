#include "backends/softnic/memory/keys.h"

#include <algorithm>
#include <string>

namespace gdakit::softnic {

Result<std::uint32_t> KeyTable::take_index() {
  const bool full = entries_.size() == kMaxIndices;
  if (resting_.size() > kRestingIndices || (full && !resting_.empty())) {
    const std::uint32_t index = resting_.front();
    resting_.pop_front();
    return index;
  }
  if (full) {
    return Error(Code::exhausted, "reg_mr: all " + std::to_string(kMaxIndices) +
                                      " memory keys are in use; deregister some");
  }
  entries_.emplace_back();
  return static_cast<std::uint32_t>(entries_.size() - 1);
}

Result<MemoryKey> KeyTable::add(const MrAttributes& attributes) {
  if (attributes.length == 0) {
    return Error(Code::invalid_argument, "reg_mr: the region has no bytes; give a length above 0");
  }
  if (attributes.start + attributes.length - 1 < attributes.start ||
      attributes.base.value + attributes.length - 1 < attributes.base.value) {
    return Error(Code::invalid_argument, "reg_mr: a region of " +
                                             std::to_string(attributes.length) +
                                             " bytes wraps around the end of the address space");
  }
  const bool remote_changes = allows(attributes.access, Access::remote_write) ||
                              allows(attributes.access, Access::remote_atomic);
  if (remote_changes && !allows(attributes.access, Access::local_write)) {
    return Error(Code::invalid_argument,
                 "reg_mr: remote_write and remote_atomic need local_write too; add it");
  }
  Result<std::uint32_t> index = take_index();
  if (!index) return index.error();
  Entry& entry = entries_[*index];
  entry.variant = attributes.variant.value_or(static_cast<std::uint8_t>(entry.variant + 1));
  entry.start = attributes.start;
  entry.length = attributes.length;
  entry.base = attributes.base;
  entry.pd = attributes.pd;
  entry.qpn = attributes.qpn;
  entry.access = attributes.access;
  entry.live = true;
  return (*index << 8) | entry.variant;
}

Result<> KeyTable::remove(MemoryKey key) {
  const std::uint32_t index = key >> 8;
  if (index >= entries_.size() || !entries_[index].live ||
      entries_[index].variant != (key & 0xff)) {
    return Error(Code::not_found, "dereg_mr: no memory key " + std::to_string(key) +
                                      "; it was never registered or is gone already");
  }
  entries_[index].live = false;
  ++removals_;
  resting_.push_back(index);
  return {};
}

std::size_t KeyTable::count(PdNumber pd) const {
  return static_cast<std::size_t>(std::count_if(
      entries_.begin(), entries_.end(), [pd](const Entry& e) { return e.live && e.pd == pd; }));
}

}  // namespace gdakit::softnic
