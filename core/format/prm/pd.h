// Mailboxes of domains: those of protection, and those of XRC.
#pragma once

#include <cstddef>

#include "core/format/prm/command.h"

namespace gdakit::format::prm {

struct AllocPdOut : MboxOut {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<AllocPdOut, 72, 24> pd{};
};

struct DeallocPdIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<DeallocPdIn, 72, 24> pd{};
};

struct AllocXrcdOut : MboxOut {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<AllocXrcdOut, 72, 24> xrcd{};
};

struct DeallocXrcdIn : MboxIn {
  static constexpr std::size_t kBytes = 16;
  static constexpr Field<DeallocXrcdIn, 72, 24> xrcd{};
};

}  // namespace gdakit::format::prm
