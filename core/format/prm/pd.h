// Mailboxes of protection domains.
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

}  // namespace gdakit::format::prm
