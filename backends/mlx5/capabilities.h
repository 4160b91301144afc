// What a NIC's firmware says that it can do.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "backends/mlx5/libraries.h"
#include "core/base/result.h"
#include "core/format/prm/caps.h"
#include "core/format/prm/query.h"

namespace gdakit::mlx5 {

// Sends a command that is of no object, which errors call `call`. Errors: of the command, with what
// the firmware answered; the answer ends early, or has a status that is none of success.
Result<void> send_query(const Libraries& libraries, ibv_context* context, const std::string& call,
                        std::span<const std::uint8_t> question, std::span<std::uint8_t> answer);

// Asks about one page, as the NIC is set up. `name` is what errors call it. Errors: as
// send_query's.
Result<void> query_capability_page(const Libraries& libraries, ibv_context* context,
                                   format::prm::CapabilityPage page, const char* name,
                                   format::prm::Mailbox<format::prm::QueryHcaCapOut>& out);

template <class Caps>
format::prm::View<Caps> view_page(const format::prm::Mailbox<format::prm::QueryHcaCapOut>& page) {
  return format::prm::View<Caps>(
      std::span<const std::uint8_t>(page.at(format::prm::QueryHcaCapOut::capability)));
}

}  // namespace gdakit::mlx5
