#include "backends/softnic/memory/key_list.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/format/umr.h"

namespace gdakit::softnic {
namespace {

using format::RepeatBlockSegment;
using format::RepeatEntrySegment;

std::uint64_t bytes_of(const KeyListEntry& entry) {
  return entry.byte_count == 0 ? format::kLongestKlm : entry.byte_count;
}

// The part that holds the byte, by the ends of all.
std::size_t index_of(const std::vector<std::uint64_t>& ends, std::uint64_t offset) {
  return static_cast<std::size_t>(std::ranges::upper_bound(ends, offset) - ends.begin());
}

}  // namespace

bool KeyList::is_repeat_block(std::span<const KeyListEntry> entries) {
  return !entries.empty() && entries.front().mkey == format::kRepeatBlock;
}

// False: its head does not say what its entries do.
bool KeyList::add_ends_of_block(std::span<const KeyListEntry> entries,
                                std::vector<std::uint64_t>& ends) {
  const auto head = std::bit_cast<RepeatBlockSegment>(entries.front());
  if (head.num_ent == 0 || head.num_ent > entries.size() - 1) return false;
  std::uint64_t end = 0;
  for (const KeyListEntry& entry : entries.subspan(1, head.num_ent)) {
    ends.push_back(end += std::bit_cast<RepeatEntrySegment>(entry).byte_count);
  }
  return end != 0 && end == head.byte_count;
}

bool KeyList::put(std::uint64_t first, std::span<const KeyListEntry> entries) {
  if (first > capacity_ || entries.size() > capacity_ - first) return false;
  std::vector<KeyListEntry> all = entries_;
  all.resize(std::max<std::size_t>(all.size(), first + entries.size()));
  std::ranges::copy(entries, all.begin() + static_cast<std::ptrdiff_t>(first));
  std::vector<std::uint64_t> ends;
  std::optional<Repeat> repeat;
  if (log_part_bytes_) {
    // Parts end where their size says.
  } else if (is_repeat_block(all)) {
    if (!add_ends_of_block(all, ends)) return false;
    const auto head = std::bit_cast<RepeatBlockSegment>(all.front());
    repeat = Repeat{head.byte_count, head.repeat_count};
  } else {
    std::uint64_t end = 0;
    for (const KeyListEntry& entry : all) ends.push_back(end += bytes_of(entry));
  }
  entries_ = std::move(all);
  ends_ = std::move(ends);
  repeat_ = repeat;
  return true;
}

std::optional<KeyPart> KeyList::find(std::uint64_t offset) const {
  if (log_part_bytes_) return find_fixed(offset);
  return repeat_ ? find_repeated(offset) : find_concatenated(offset);
}

std::optional<KeyPart> KeyList::find_fixed(std::uint64_t offset) const {
  const std::uint64_t bytes = std::uint64_t{1} << *log_part_bytes_;
  const std::uint64_t index = offset >> *log_part_bytes_;
  if (index >= entries_.size()) return std::nullopt;
  const std::uint64_t rest = offset & (bytes - 1);
  return KeyPart{entries_[index].mkey, entries_[index].address + rest, bytes - rest};
}

std::optional<KeyPart> KeyList::find_concatenated(std::uint64_t offset) const {
  const std::size_t index = index_of(ends_, offset);
  if (index == ends_.size()) return std::nullopt;
  const KeyListEntry& entry = entries_[index];
  const std::uint64_t left = ends_[index] - offset;
  return KeyPart{entry.mkey, entry.address + (bytes_of(entry) - left), left};
}

std::optional<KeyPart> KeyList::find_repeated(std::uint64_t offset) const {
  const std::uint64_t round = offset / repeat_->bytes;
  if (round >= repeat_->count) return std::nullopt;
  const std::uint64_t in_round = offset % repeat_->bytes;
  const std::size_t index = index_of(ends_, in_round);
  const auto entry = std::bit_cast<RepeatEntrySegment>(entries_[index + 1]);
  const std::uint64_t left = ends_[index] - in_round;
  const std::uint64_t begin = entry.va + round * entry.stride;
  return KeyPart{entry.memkey, begin + (entry.byte_count - left), left};
}

}  // namespace gdakit::softnic
