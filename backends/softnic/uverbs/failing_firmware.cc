#include "backends/softnic/uverbs/failing_firmware.h"

#include "backends/softnic/uverbs/limits.h"
#include "core/format/prm/caps.h"
#include "core/format/prm/command.h"
#include "core/format/prm/qp.h"
#include "core/format/prm/query.h"

namespace gdakit::softnic::uverbs {
namespace {

namespace prm = format::prm;
using prm::Opcode;

// As a ConnectX's firmware says it of queue pairs.
constexpr Refusal kTooMany{static_cast<std::uint8_t>(CommandStatus::lim_err), 0x19c6d6};
constexpr Refusal kBadPath{static_cast<std::uint8_t>(CommandStatus::bad_param),
                           static_cast<std::uint32_t>(CommandSyndrome::modify_qp_path_mtu)};
constexpr Refusal kDownPort{static_cast<std::uint8_t>(CommandStatus::bad_param),
                            static_cast<std::uint32_t>(CommandSyndrome::mailbox_port)};
constexpr Refusal kUnknown{static_cast<std::uint8_t>(CommandStatus::bad_op), 0};

std::uint16_t opcode_of(std::span<const std::uint8_t> in) {
  return static_cast<std::uint16_t>(prm::View<prm::MboxIn>(in).get(prm::MboxIn::opcode));
}

// What a LAG of two ports says of itself.
constexpr std::uint64_t kBondedPorts = 2, kLagIsActive = 1;

void say_it_is_bonded(const prm::View<prm::CmdHcaCap, std::uint8_t>& caps) {
  caps.set(prm::CmdHcaCap::init2_lag_tx_port_affinity, 1);
  caps.set(prm::CmdHcaCap::lag_tx_port_affinity, 1);
  caps.set(prm::CmdHcaCap::num_lag_ports, kBondedPorts);
}

constexpr std::uint16_t number(Opcode opcode) { return static_cast<std::uint16_t>(opcode); }

}  // namespace

// Of a queue pair that is connected: longer packets than the port takes; and one whose packets a
// router would lose, for which a ConnectX has no check.
const Refusal* FailingFirmware::path_refusal_of(std::span<const std::uint8_t> in) const {
  if (in.size() < prm::Init2rtrQpIn::kBytes) return nullptr;
  const auto context = prm::View<prm::Init2rtrQpIn>(in).at(prm::Init2rtrQpIn::qpc);
  const std::uint64_t mtu = context.get(prm::Qpc::mtu);
  if (mtu != 0 && (128u << mtu) > failures_.mtu) return &kBadPath;
  // Others than those with a peer name their ways in WQEs.
  const bool has_peer = context.get(prm::Qpc::remote_qpn) != 0;
  const bool has_grh = context.at(prm::Qpc::primary_address_path).get(prm::Ads::grh) != 0;
  const bool lacks_grh = is_infiniband_ && failures_.needs_grh && has_peer && !has_grh;
  return lacks_grh ? &kBadPath : nullptr;
}

// Of a queue pair that is to send by a port that begins down, where another port is up: they have
// one wire, so that its packets would not be lost.
const Refusal* FailingFirmware::port_refusal_of(std::span<const std::uint8_t> in) const {
  if (failures_.ports == 1 || in.size() < prm::Rst2initQpIn::kBytes) return nullptr;
  const auto context = prm::View<prm::Rst2initQpIn>(in).at(prm::Rst2initQpIn::qpc);
  const std::uint64_t named =
      context.at(prm::Qpc::primary_address_path).get(prm::Ads::vhca_port_num);
  const std::uint64_t port = named == 0 ? 1 : named;
  const bool is_down = port <= failures_.ports && failures_.port_states[port - 1] != kStateActive;
  return is_down ? &kDownPort : nullptr;
}

const Refusal* FailingFirmware::refusal_of(std::span<const std::uint8_t> in) const {
  const std::uint16_t opcode = opcode_of(in);
  const auto at = failures_.commands.find(opcode);
  if (at != failures_.commands.end()) return &at->second;
  if (opcode == number(Opcode::create_qp) && failures_.qps && qps_ >= *failures_.qps) {
    return &kTooMany;
  }
  if (opcode == number(Opcode::create_cq) && failures_.cqs && cqs_ >= *failures_.cqs) {
    return &kTooMany;
  }
  if (opcode == number(Opcode::rst2init_qp)) return port_refusal_of(in);
  if (opcode == number(Opcode::init2rtr_qp)) return path_refusal_of(in);
  return opcode == number(Opcode::create_dct) && !failures_.has_dc ? &kUnknown : nullptr;
}

bool FailingFirmware::refuses(std::span<const std::uint8_t> in, std::span<std::uint8_t> out,
                              CommandStatus& status) const {
  const Refusal* const refusal = refusal_of(in);
  if (refusal == nullptr) return false;
  const prm::View<prm::MboxOut, std::uint8_t> answer(out);
  answer.set(prm::MboxOut::status, refusal->status);
  answer.set(prm::MboxOut::syndrome, refusal->syndrome);
  status = static_cast<CommandStatus>(refusal->status);
  return true;
}

void FailingFirmware::answered(std::span<const std::uint8_t> in, std::span<std::uint8_t> out,
                               CommandStatus status) {
  if (status != CommandStatus::ok) return;
  const std::uint16_t opcode = opcode_of(in);
  if (opcode == number(Opcode::create_qp)) ++qps_;
  if (opcode == number(Opcode::destroy_qp)) --qps_;
  if (opcode == number(Opcode::create_cq)) ++cqs_;
  if (opcode == number(Opcode::destroy_cq)) --cqs_;
  if (opcode == number(Opcode::query_lag) && failures_.bonded &&
      out.size() >= prm::QueryLagOut::kBytes) {
    const prm::View<prm::QueryLagOut, std::uint8_t> answer(out);
    answer.at(prm::QueryLagOut::ctx).set(prm::Lagc::lag_state, kLagIsActive);
  }
  if (opcode != number(Opcode::query_hca_cap) || out.size() <= prm::MboxOut::kBytes) return;
  const std::uint64_t mode = prm::View<prm::MboxIn>(in).get(prm::MboxIn::op_mod);
  deny(static_cast<std::uint16_t>(mode >> 1), out.subspan(prm::MboxOut::kBytes));
}

void FailingFirmware::deny(std::uint16_t page, std::span<std::uint8_t> capability) const {
  constexpr std::uint64_t kUnmasked = 3, kOf8Bytes = 8;  // compare-swap and fetch-add
  const AtomicsOf atomics = failures_.atomics;
  if (page == static_cast<std::uint16_t>(prm::CapabilityPage::atomic_caps) &&
      atomics != AtomicsOf::all && capability.size() >= prm::AtomicCaps::kBytes) {
    const prm::View<prm::AtomicCaps, std::uint8_t> caps(capability);
    if (atomics == AtomicsOf::swapped) {
      caps.set(prm::AtomicCaps::atomic_req_8B_endianness_mode, 0);
      return;
    }
    const bool any = atomics == AtomicsOf::standard;
    caps.set(prm::AtomicCaps::atomic_operations, any ? kUnmasked : 0);
    caps.set(prm::AtomicCaps::atomic_size_qp, any ? kOf8Bytes : 0);
    caps.set(prm::AtomicCaps::atomic_size_dc, any ? kOf8Bytes : 0);
  }
  if (page == static_cast<std::uint16_t>(prm::CapabilityPage::cmd_hca_cap) &&
      capability.size() >= prm::CmdHcaCap::kBytes) {
    const prm::View<prm::CmdHcaCap, std::uint8_t> caps(capability);
    if (atomics == AtomicsOf::none) caps.set(prm::CmdHcaCap::atomic, 0);
    if (!failures_.has_dc) caps.set(prm::CmdHcaCap::dct, 0);
    if (failures_.bonded) say_it_is_bonded(caps);
    caps.set(prm::CmdHcaCap::num_ports, failures_.ports);
  }
}

}  // namespace gdakit::softnic::uverbs
