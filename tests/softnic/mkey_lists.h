// Entries of lists that keys consist of, and WQEs that give them, as libmlx5 posts them.
//
//   rig.b.post(list_wqe({.key = mkey, .entries = {klm(rig.b.key, at, 8), klm(rig.b.key, at2,
//   8)}}));
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/softnic/umr_wqes.h"

namespace gdakit::softnic::test {

inline KeyListEntry klm(MemoryKey key, std::uint64_t address, std::uint32_t bytes) {
  return {Be32{bytes}, Be32{key}, Be64{address}};
}

struct Interleaved {
  std::uint64_t address = 0;
  std::uint16_t bytes = 0;
  std::uint16_t skip = 0;
  MemoryKey key = 0;
};

// A repeat block.
inline std::vector<KeyListEntry> repeat_block(std::uint32_t count,
                                              const std::vector<Interleaved>& parts) {
  std::vector<KeyListEntry> entries;
  std::uint32_t bytes = 0;
  for (const Interleaved& part : parts) bytes += part.bytes;
  const auto parts_count = static_cast<std::uint16_t>(parts.size());
  entries.push_back(std::bit_cast<KeyListEntry>(format::RepeatBlockSegment{
      Be32{bytes}, Be32{format::kRepeatBlock}, Be32{count}, Be16{0}, Be16{parts_count}}));
  for (const Interleaved& part : parts) {
    const auto stride = static_cast<std::uint16_t>(part.bytes + part.skip);
    entries.push_back(std::bit_cast<KeyListEntry>(format::RepeatEntrySegment{
        Be16{stride}, Be16{part.bytes}, Be32{part.key}, Be64{part.address}}));
  }
  return entries;
}

// A key as mlx5dv_create_mkey makes it: free, and without parts.
inline MkeyAttributes list_key(PdNumber pd, std::uint32_t capacity = 8) {
  MkeyAttributes attributes;
  attributes.pd = pd;
  attributes.access = Access::local_read;
  attributes.free = attributes.umr_enabled = true;
  attributes.list.emplace().capacity = capacity;
  return attributes;
}

struct ListChange {
  MemoryKey key = 0;
  std::vector<KeyListEntry> entries = {};
  std::uint64_t length = 0;
  std::uint8_t rights = format::mkey_access::local_write | format::mkey_access::remote_read |
                        format::mkey_access::remote_write | format::mkey_access::atomic;
};

// Enables the key with these parts, which lie in the WQE.
inline Umr list_umr(const ListChange& change) {
  using namespace format;
  Umr umr;
  umr.list = change.entries;
  while (umr.list.size() % kOctowordsOfOneKlm != 0) umr.list.push_back({});
  umr.control.flags = umr_flags::inline_list;
  umr.control.klm_octowords = Be16{static_cast<std::uint16_t>(umr.list.size())};
  umr.control.mkey_mask =
      Be64{mkey_mask::free | mkey_mask::key | mkey_mask::length | mkey_mask::local_write |
           mkey_mask::remote_read | mkey_mask::remote_write | mkey_mask::atomic};
  umr.context.access_flags = change.rights;
  umr.context.qpn_mkey = Be32{kMkeyOfAnyQp << 8 | (change.key & 0xff)};
  umr.context.len = Be64{change.length};
  return umr;
}

inline Wqe list_wqe(const ListChange& change) { return umr_wqe(change.key, list_umr(change)); }

}  // namespace gdakit::softnic::test
