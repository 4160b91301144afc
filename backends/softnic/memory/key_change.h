// What a WQE asks of a memory key: a change of what it grants.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/softnic/objects/mkey_attributes.h"

namespace gdakit::softnic {

struct KeyChange {
  // Where the list lies that is not in the WQE.
  struct Place {
    MemoryKey lkey = 0;
    std::uint64_t iova = 0;
    std::uint32_t bytes = 0;
  };

  MemoryKey key = 0;  // whose low byte is not looked at: it may have changed since
  // What must be true of it, or nothing changes.
  bool must_be_free = false;
  bool must_be_live = false;
  bool must_be_of_qp = false;  // and live
  // Which fields change (format::mkey_mask), and to what.
  std::uint64_t mask = 0;
  bool free = false;
  std::uint8_t variant = 0;  // the key's new low byte
  QpNumber qpn = kAnyQp;
  Access access = Access::none;
  bool remote_invalidate = false;
  std::uint64_t start = 0;  // iova of the first byte
  std::uint64_t length = 0;
  // Entries of its list that change, from the first of them on; none: the list stays.
  std::uint64_t first_entry = 0;
  std::vector<KeyListEntry> entries = {};
  std::optional<Place> entries_at = {};  // until they have been read
};

}  // namespace gdakit::softnic
