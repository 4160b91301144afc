// What a NIC's firmware says that it can do.
#pragma once

#include <span>

#include "backends/mlx5/libraries.h"
#include "core/base/result.h"
#include "core/format/prm/caps.h"
#include "core/format/prm/query.h"

namespace gdakit::mlx5 {

// Asks about one page, as the NIC is set up. `name` is what errors call it. Errors: of the command
// QUERY_HCA_CAP, with what the firmware answered.
Result<void> query_capability_page(const Libraries& libraries, ibv_context* context,
                                   format::prm::CapabilityPage page, const char* name,
                                   format::prm::Mailbox<format::prm::QueryHcaCapOut>& out);

template <class Caps>
format::prm::View<Caps> view_page(const format::prm::Mailbox<format::prm::QueryHcaCapOut>& page) {
  return format::prm::View<Caps>(
      std::span<const std::uint8_t>(page.at(format::prm::QueryHcaCapOut::capability)));
}

}  // namespace gdakit::mlx5
