// What the firmware says that a NIC can do.
#pragma once

#include "backends/mlx5/libraries.h"
#include "core/base/result.h"
#include "core/format/prm/caps.h"
#include "core/format/prm/query.h"

namespace gdakit::mlx5 {

using CapabilityBytes = format::prm::Mailbox<format::prm::QueryHcaCapOut>;

// The fields of a page's layout.
template <class Layout>
format::prm::View<Layout> view_of(const CapabilityBytes& answer) {
  return format::prm::View<Layout>(answer.at(format::prm::QueryHcaCapOut::capability));
}

// A page as it is now. `what` names it in errors, which are of the command QUERY_HCA_CAP, with what
// the firmware answered.
Result<CapabilityBytes> query_capabilities(const Libraries& libraries, ibv_context* context,
                                           format::prm::CapabilityPage page, const char* what);

}  // namespace gdakit::mlx5
