#include "backends/mlx5/nic_capabilities.h"

#include "backends/mlx5/capabilities.h"

namespace gdakit::mlx5 {

namespace prm = format::prm;

namespace {

// Whether there is a LAG now, of which each queue pair names its port.
bool spreads_by_queue(const Libraries& libraries, ibv_context* context) {
  prm::Mailbox<prm::MboxIn> in;
  prm::Mailbox<prm::QueryLagOut> out;
  in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(prm::Opcode::query_lag));
  if (!send_query(libraries, context, "QUERY_LAG", in.bytes(), out.bytes())) return false;
  const auto lag = out.at(prm::QueryLagOut::ctx);
  return lag.get(prm::Lagc::lag_state) != 0 && lag.get(prm::Lagc::port_select_mode) == 0;
}

}  // namespace

NicCapabilities NicCapabilities::query(const Libraries& libraries, ibv_context* context) {
  NicCapabilities has;
  prm::Mailbox<prm::QueryHcaCapOut> page;
  if (!query_capability_page(libraries, context, prm::CapabilityPage::cmd_hca_cap, "the device",
                             page)) {
    return has;
  }
  const auto caps = view_page<prm::CmdHcaCap>(page);
  has.tells_first_error = caps.get(prm::CmdHcaCap::qp_error_syndrome) != 0;
  const auto ports = static_cast<std::uint32_t>(caps.get(prm::CmdHcaCap::num_lag_ports));
  if (ports > 1 && caps.get(prm::CmdHcaCap::lag_tx_port_affinity) != 0 &&
      spreads_by_queue(libraries, context)) {
    has.lag_ports = ports;
    has.lag_port_in_rtr = caps.get(prm::CmdHcaCap::init2_lag_tx_port_affinity) != 0;
  }
  if (caps.get(prm::CmdHcaCap::hca_cap_2) == 0) return has;
  prm::Mailbox<prm::QueryHcaCapOut> more;
  const auto asked = query_capability_page(libraries, context, prm::CapabilityPage::cmd_hca_cap_2,
                                           "the device, page 2", more);
  has.recordless =
      asked && view_page<prm::CmdHcaCap2>(more).get(prm::CmdHcaCap2::send_dbr_mode_no_dbr_ext) != 0;
  return has;
}

}  // namespace gdakit::mlx5
