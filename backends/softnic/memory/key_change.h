// What a WQE asks of a memory key: a change of what it grants.
#pragma once

#include <cstdint>

#include "backends/softnic/objects/attributes.h"

namespace gdakit::softnic {

struct KeyChange {
  // A part of a region, from `iova` on.
  struct Part {
    MemoryKey key = 0;
    std::uint64_t iova = 0;
    std::uint64_t length = 0;
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
  std::uint64_t start = 0;  // iova of the first byte
  std::uint64_t length = 0;
  bool has_part = false;
  Part part;
};

}  // namespace gdakit::softnic
