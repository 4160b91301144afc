// What a memory key is made of by a command of its own (mkc), and what it is by then.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/softnic/objects/attributes.h"
#include "core/format/umr.h"

namespace gdakit::softnic {

// An entry of a key's list: a KLM, a KSM (which has no byte_count), or one of a repeat block.
using KeyListEntry = format::KlmSegment;

inline constexpr std::uint32_t kLogMostListEntries = 16;

struct MkeyListAttributes {
  std::uint32_t capacity = 0;  // entries, 1 to 2^kLogMostListEntries
  // KSM: each entry stands for 2^n bytes, n < 64. Absent: for as many as it says.
  std::optional<std::uint8_t> log_entry_bytes = {};
  std::vector<KeyListEntry> entries = {};  // the first ones; WQEs write others
};

struct MkeyAttributes {
  PdNumber pd = 0;
  std::uint64_t start = 0;  // iova of the first byte
  std::uint64_t length = 0;
  Access access = Access::none;
  QpNumber qpn = kAnyQp;
  std::uint8_t variant = 0;
  bool free = false;               // grants nothing until a WQE says so
  bool umr_enabled = false;        // WQEs may change it; only what has a list
  bool remote_invalidate = false;  // peers may free it
  // Where its bytes lie: in parts of other keys, or else from `base` on.
  std::optional<MkeyListAttributes> list = {};
  DmaAddress base = {};
};

// What WQEs may have changed since.
struct MkeyInfo {
  MemoryKey key = 0;
  bool free = false;
  bool remote_invalidate = false;
  Access access = Access::none;
  QpNumber qpn = kAnyQp;
  std::uint64_t start = 0;
  std::uint64_t length = 0;
  std::vector<KeyListEntry> entries = {};  // that were ever given
};

}  // namespace gdakit::softnic
