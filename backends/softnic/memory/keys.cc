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

// How many pages a region begins and ends in.
std::uint64_t KeyTable::pages_of(std::uint64_t start, std::uint64_t length,
                                 std::uint8_t log_page_size) {
  return ((start + length - 1) >> log_page_size) - (start >> log_page_size) + 1;
}

Result<> KeyTable::check_pages(const MrAttributes& attributes) {
  const std::uint8_t log_size = attributes.log_page_size;
  if (log_size < kMinLogPageSize || log_size > kMaxLogPageSize) {
    return Error(Code::invalid_argument,
                 "reg_mr: log_page_size is " + std::to_string(log_size) + "; give 12 to 31");
  }
  const std::uint64_t needed = pages_of(attributes.start, attributes.length, log_size);
  if (attributes.pages.size() != needed) {
    return Error(Code::invalid_argument, "reg_mr: the region lies in " + std::to_string(needed) +
                                             " pages of 2^" + std::to_string(log_size) +
                                             " bytes; " + std::to_string(attributes.pages.size()) +
                                             " are given");
  }
  for (std::size_t i = 0; i < attributes.pages.size(); ++i) {
    if (attributes.pages[i].value % (std::uint64_t{1} << log_size) == 0) continue;
    return Error(Code::invalid_argument, "reg_mr: page " + std::to_string(i) +
                                             " is not aligned to 2^" + std::to_string(log_size) +
                                             " bytes");
  }
  return {};
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
  if (!attributes.pages.empty()) {
    const Result<> checked = check_pages(attributes);
    if (!checked) return checked.error();
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
  entry.log_page_size = attributes.log_page_size;
  const std::size_t pages = attributes.pages.size();
  entry.pages = pages == 0 ? nullptr : std::make_unique<DmaAddress[]>(pages);
  std::copy(attributes.pages.begin(), attributes.pages.end(), entry.pages.get());
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

// From the page of `iova` on, as long as each page follows the one before.
MemoryRange KeyTable::piece_of_pages(const Entry& entry, std::uint64_t iova, std::uint64_t size) {
  if (size == 0) return {};
  const std::uint64_t page_bytes = std::uint64_t{1} << entry.log_page_size;
  std::uint64_t page = (iova >> entry.log_page_size) - (entry.start >> entry.log_page_size);
  const std::uint64_t offset = iova & (page_bytes - 1);
  const DmaAddress begin = entry.pages[page] + offset;
  std::uint64_t length = std::min(size, page_bytes - offset);
  while (length != size && entry.pages[page + 1] == begin + length) {
    ++page;
    length += std::min(size - length, page_bytes);
  }
  return {begin, length};
}

std::vector<MemoryRange> KeyTable::memory(MemoryKey key) const {
  const Entry& entry = entries_[key >> 8];
  if (entry.pages == nullptr) return {{entry.base, entry.length}};
  std::vector<MemoryRange> pieces;
  for (std::uint64_t at = 0; at != entry.length; at += pieces.back().length) {
    pieces.push_back(piece_of_pages(entry, entry.start + at, entry.length - at));
  }
  return pieces;
}

std::size_t KeyTable::count(PdNumber pd) const {
  return static_cast<std::size_t>(std::count_if(
      entries_.begin(), entries_.end(), [pd](const Entry& e) { return e.live && e.pd == pd; }));
}

}  // namespace gdakit::softnic
