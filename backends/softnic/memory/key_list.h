// What a key consists of that has no memory of its own: parts of other keys, one behind the other.
//
//   concatenated   {key, address, bytes}, {key, address, bytes}, ...           KLMs
//   fixed          {key, address}, {key, address}, ... of 2^n bytes each       KSMs
//   repeated       the parts in turn, `repeat_count` times, each a stride further every time
//
// Parts are looked at by each access alone: they may name what there is not, or this key itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backends/softnic/objects/mkey_attributes.h"

namespace gdakit::softnic {

// The bytes of another key that begin somewhere in a list.
struct KeyPart {
  MemoryKey key = 0;
  std::uint64_t iova = 0;
  std::uint64_t length = 0;  // until its end
};

class KeyList {
 public:
  // Of as many entries at most. With `log_part_bytes` all parts have that size, whatever their
  // entries say, and there are no repeat blocks.
  KeyList(std::uint32_t capacity, std::optional<std::uint8_t> log_part_bytes)
      : capacity_(capacity), log_part_bytes_(log_part_bytes) {}

  // Entries in place of those from `first` on; what was never given is zeroes. False: there is no
  // room for them, or a repeat block that is none, and nothing has changed.
  bool put(std::uint64_t first, std::span<const KeyListEntry> entries);

  // From the byte at this offset on; nothing: the parts end before it.
  std::optional<KeyPart> find(std::uint64_t offset) const;

  std::span<const KeyListEntry> entries() const { return entries_; }

 private:
  struct Repeat {
    std::uint64_t bytes = 0;  // of a round
    std::uint64_t count = 0;
  };

  static bool is_repeat_block(std::span<const KeyListEntry> entries);
  static bool add_ends_of_block(std::span<const KeyListEntry> entries,
                                std::vector<std::uint64_t>& ends);
  std::optional<KeyPart> find_fixed(std::uint64_t offset) const;
  std::optional<KeyPart> find_concatenated(std::uint64_t offset) const;
  std::optional<KeyPart> find_repeated(std::uint64_t offset) const;

  std::uint32_t capacity_;
  std::optional<std::uint8_t> log_part_bytes_;
  std::vector<KeyListEntry> entries_;
  std::vector<std::uint64_t> ends_;  // of parts, from the list's begin or that of a round
  std::optional<Repeat> repeat_;
};

}  // namespace gdakit::softnic
