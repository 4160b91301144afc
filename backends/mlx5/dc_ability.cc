#include "backends/mlx5/dc_ability.h"

#include <algorithm>

#include "backends/mlx5/atomics.h"
#include "backends/mlx5/capabilities.h"

namespace gdakit::mlx5 {

namespace prm = format::prm;

DcAbility query_dc(const Libraries& libraries, ibv_context* context, std::uint8_t most_log_reads) {
  DcAbility ability;
  prm::Mailbox<prm::QueryHcaCapOut> page;
  const auto asked = query_capability_page(libraries, context, prm::CapabilityPage::cmd_hca_cap,
                                           "its transports", page);
  if (!asked) {
    ability.lacks = asked.error().message();
    return ability;
  }
  const auto caps = view_page<prm::CmdHcaCap>(page);
  const std::uint64_t reads =
      std::min<std::uint64_t>(most_log_reads, caps.get(prm::CmdHcaCap::log_max_ra_req_dc));
  ability.log_reads = static_cast<std::uint8_t>(reads);
  if (caps.get(prm::CmdHcaCap::dct) == 0) {
    ability.lacks = "its firmware says that it has no targets of DC (dct of QUERY_HCA_CAP is 0)";
    return ability;
  }
  constexpr std::uint32_t kSizes = 4 + 8;
  const Result<Atomics> atomics = query_atomics(libraries, context);
  if (!atomics) {
    ability.lacks = atomics.error().message();
  } else if ((atomics->dc_sizes & kSizes) != kSizes) {
    ability.lacks = "it lacks atomic operations of DC of 4 and 8 bytes";
  }
  return ability;
}

}  // namespace gdakit::mlx5
