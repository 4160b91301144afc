#include "backends/softnic/uverbs/qp_values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <iterator>
#include <rdma/ib_user_ioctl_verbs.h>
#include <type_traits>
#include <utility>

#include "backends/softnic/objects/transitions.h"
#include "backends/softnic/uverbs/limits.h"
#include "backends/softnic/uverbs/transition_masks.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::array kStates = {QpState::reset, QpState::init, QpState::rtr, QpState::rts,
                                QpState::sqd,   QpState::sqer, QpState::err};

namespace prm = format::prm;

// Attributes that a transition may take though it does not require them.
struct OptionalAttribute {
  std::uint32_t mask = 0;
  QpField field = QpField::access;
  std::uint32_t opt_params = 0;
};
constexpr std::uint32_t bits(auto... params) { return (static_cast<std::uint32_t>(params) | ...); }
using Opt = prm::OptParam;
constexpr std::array kOptional = {
    OptionalAttribute{attr::kAccess, QpField::access, bits(Opt::rre, Opt::rae, Opt::rwe)},
    OptionalAttribute{attr::kPkeyIndex, QpField::pkey, bits(Opt::pkey_index)},
    OptionalAttribute{attr::kQkey, QpField::qkey, bits(Opt::q_key)},
    OptionalAttribute{attr::kMinRnrTimer, QpField::min_rnr_nak, bits(Opt::min_rnr_nak)},
    OptionalAttribute{attr::kTimeout, QpField::ack_timeout, bits(Opt::ack_timeout)},
    OptionalAttribute{attr::kRetryCount, QpField::retry_count, bits(Opt::retry_count)},
    OptionalAttribute{attr::kRnrRetry, QpField::rnr_retry, bits(Opt::rnr_retry)},
};

// The least n with 2^n at least `count`.
std::uint8_t log_of(std::uint8_t count) {
  return static_cast<std::uint8_t>(count == 0 ? 0 : std::bit_width(count - 1u));
}

// A field that the command has no room for says nothing to the NIC.
std::uint32_t opt_params(const TransitionRow& row, std::uint32_t mask) {
  std::uint32_t params = 0;
  for (const OptionalAttribute& one : kOptional) {
    if ((mask & one.mask) != 0 && row.optional.has(one.field)) params |= one.opt_params;
  }
  return params;
}

prm::Opcode opcode_of(Transition transition) {
  switch (transition) {
    case Transition::rst2init: return prm::Opcode::rst2init_qp;
    case Transition::init2init: return prm::Opcode::init2init_qp;
    case Transition::init2rtr: return prm::Opcode::init2rtr_qp;
    case Transition::rtr2rts: return prm::Opcode::rtr2rts_qp;
    case Transition::rts2rts: return prm::Opcode::rts2rts_qp;
    case Transition::rts2sqd: return prm::Opcode::rts2sqd_qp;
    case Transition::sqd2sqd: return prm::Opcode::sqd2sqd_qp;
    case Transition::sqd2rts: return prm::Opcode::sqd2rts_qp;
    case Transition::sqerr2rts: return prm::Opcode::sqerr2rts_qp;
    case Transition::to_err: return prm::Opcode::qp_2err;
    case Transition::to_reset: break;
  }
  return prm::Opcode::qp_2rst;
}

}  // namespace

Access remote_access(std::uint32_t flags) {
  Access access = Access::none;
  if ((flags & IB_UVERBS_ACCESS_REMOTE_READ) != 0) access = access | Access::remote_read;
  if ((flags & IB_UVERBS_ACCESS_REMOTE_WRITE) != 0) access = access | Access::remote_write;
  if ((flags & IB_UVERBS_ACCESS_REMOTE_ATOMIC) != 0) access = access | Access::remote_atomic;
  return access;
}

std::optional<QpState> qp_state(std::uint8_t verbs_state) {
  if (verbs_state >= kStates.size()) return std::nullopt;
  return kStates[verbs_state];
}

std::uint8_t verbs_state(QpState state) {
  for (std::uint8_t i = 0; i < kStates.size(); ++i) {
    if (kStates[i] == state) return i;
  }
  return 0;
}

std::optional<ServiceType> service_of(std::uint32_t verbs_type) {
  switch (verbs_type) {
    case IB_UVERBS_QPT_RC: return ServiceType::rc;
    case IB_UVERBS_QPT_UC: return ServiceType::uc;
    case IB_UVERBS_QPT_UD: return ServiceType::ud;
    case IB_UVERBS_QPT_XRC_INI:
    case IB_UVERBS_QPT_XRC_TGT: return ServiceType::xrc;
    case kDciType:
    case kDctType: return ServiceType::dc;
    default: return std::nullopt;
  }
}

std::uint64_t st_of(ServiceType service) {
  return service == ServiceType::dc ? prm::kStDci : static_cast<std::uint64_t>(service);
}

void note(const ib_uverbs_modify_qp& request, ib_uverbs_query_qp_resp& known) {
  const std::uint32_t mask = request.attr_mask;
  const auto take = [mask](std::uint32_t bit, auto& to, const auto& from) {
    if ((mask & bit) != 0) to = from;
  };
  take(attr::kAccess, known.qp_access_flags, request.qp_access_flags);
  take(attr::kPkeyIndex, known.pkey_index, request.pkey_index);
  take(attr::kPort, known.port_num, request.port_num);
  take(attr::kQkey, known.qkey, request.qkey);
  take(attr::kPath, known.dest, request.dest);
  take(attr::kPathMtu, known.path_mtu, request.path_mtu);
  take(attr::kTimeout, known.timeout, request.timeout);
  take(attr::kRetryCount, known.retry_cnt, request.retry_cnt);
  take(attr::kRnrRetry, known.rnr_retry, request.rnr_retry);
  take(attr::kReceivePsn, known.rq_psn, request.rq_psn);
  take(attr::kMaxReads, known.max_rd_atomic, request.max_rd_atomic);
  take(attr::kMinRnrTimer, known.min_rnr_timer, request.min_rnr_timer);
  take(attr::kSendPsn, known.sq_psn, request.sq_psn);
  take(attr::kMaxPeerReads, known.max_dest_rd_atomic, request.max_dest_rd_atomic);
  take(attr::kMigration, known.path_mig_state, request.path_mig_state);
  take(attr::kRemoteQpn, known.dest_qp_num, request.dest_qp_num);
}

void note(prm::View<prm::Qpc> context, ib_uverbs_query_qp_resp& known) {
  using prm::Ads;
  using prm::Qpc;
  const auto path = context.at(Qpc::primary_address_path);
  const auto take = [](auto& to, std::uint64_t from) {
    to = static_cast<std::remove_reference_t<decltype(to)>>(from);
  };
  constexpr std::uint32_t kRights =
      IB_UVERBS_ACCESS_REMOTE_READ | IB_UVERBS_ACCESS_REMOTE_WRITE | IB_UVERBS_ACCESS_REMOTE_ATOMIC;
  const std::uint64_t state = context.get(Qpc::state);
  known.sq_draining = state == prm::kSqDraining ? 1 : 0;
  known.qp_state = known.cur_qp_state =
      verbs_state(known.sq_draining != 0 ? QpState::sqd : static_cast<QpState>(state));
  known.qp_access_flags &= ~kRights;
  if (context.get(Qpc::rre) != 0) known.qp_access_flags |= IB_UVERBS_ACCESS_REMOTE_READ;
  if (context.get(Qpc::rwe) != 0) known.qp_access_flags |= IB_UVERBS_ACCESS_REMOTE_WRITE;
  if (context.get(Qpc::rae) != 0) known.qp_access_flags |= IB_UVERBS_ACCESS_REMOTE_ATOMIC;
  take(known.path_mtu, context.get(Qpc::mtu));
  take(known.dest_qp_num, context.get(Qpc::remote_qpn));
  take(known.min_rnr_timer, context.get(Qpc::min_rnr_nak));
  take(known.retry_cnt, context.get(Qpc::retry_count));
  take(known.rnr_retry, context.get(Qpc::rnr_retry));
  take(known.timeout, path.get(Ads::ack_timeout));
  take(known.dest.sl, path.get(Ads::sl));
  take(known.dest.dlid, path.get(Ads::rlid));
  if (path.get(Ads::vhca_port_num) != 0) take(known.port_num, path.get(Ads::vhca_port_num));
  take(known.dest.is_global, path.get(Ads::grh));
  take(known.dest.sgid_index, path.get(Ads::src_addr_index));
  take(known.dest.hop_limit, path.get(Ads::hop_limit));
  take(known.dest.traffic_class, path.get(Ads::tclass));
  take(known.dest.flow_label, path.get(Ads::flow_label));
  std::ranges::copy(path.at(Ads::rgid_rip), std::begin(known.dest.dgid));
}

namespace {

bool is_reached(const ib_uverbs_query_qp_resp& known, AddressResolver& addresses) {
  if (known.dest.is_global == 0) return true;
  AddressVector address;
  std::copy(std::begin(known.dest.dgid), std::end(known.dest.dgid), address.gid.begin());
  address.lid = known.dest.dlid;
  address.qpn = known.dest_qp_num & kMostNumber;
  return addresses.endpoint_of(address).has_value();
}

void describe_path(const ib_uverbs_query_qp_resp& known, prm::View<prm::Ads, std::uint8_t> path) {
  using prm::Ads;
  path.set(Ads::pkey_index, known.pkey_index);
  path.set(Ads::ack_timeout, known.timeout & 0x1f);
  path.set(Ads::sl, known.dest.sl & 0xf);
  path.set(Ads::rlid, known.dest.dlid);
  path.set(Ads::vhca_port_num, known.port_num);
  path.set(Ads::grh, known.dest.is_global != 0 ? 1 : 0);
  if (known.dest.is_global == 0) return;
  path.set(Ads::src_addr_index, known.dest.sgid_index);
  path.set(Ads::hop_limit, known.dest.hop_limit);
  path.set(Ads::tclass, known.dest.traffic_class);
  path.set(Ads::flow_label, known.dest.flow_label & 0xfffff);
  std::copy(std::begin(known.dest.dgid), std::end(known.dest.dgid), path.at(Ads::rgid_rip).begin());
}

void describe(const ib_uverbs_query_qp_resp& known, prm::View<prm::Qpc, std::uint8_t> context) {
  using prm::Qpc;
  const auto allows = [&known](std::uint32_t right) {
    return (known.qp_access_flags & right) != 0 ? 1u : 0u;
  };
  context.set(Qpc::pm_state, prm::kPathMigrated);
  context.set(Qpc::rre, allows(IB_UVERBS_ACCESS_REMOTE_READ));
  context.set(Qpc::rwe, allows(IB_UVERBS_ACCESS_REMOTE_WRITE));
  context.set(Qpc::rae, allows(IB_UVERBS_ACCESS_REMOTE_ATOMIC));
  context.set(Qpc::mtu, known.path_mtu & 7);
  context.set(Qpc::log_msg_max, kLogLongestMessage);
  context.set(Qpc::remote_qpn, known.dest_qp_num & kMostNumber);
  context.set(Qpc::q_key, known.qkey);
  context.set(Qpc::next_rcv_psn, known.rq_psn & kMostNumber);
  context.set(Qpc::next_send_psn, known.sq_psn & kMostNumber);
  context.set(Qpc::log_rra_max, log_of(known.max_dest_rd_atomic));
  context.set(Qpc::log_sra_max, log_of(known.max_rd_atomic));
  context.set(Qpc::min_rnr_nak, known.min_rnr_timer & 0x1f);
  context.set(Qpc::retry_count, known.retry_cnt & 7);
  context.set(Qpc::rnr_retry, known.rnr_retry & 7);
  describe_path(known, context.at(Qpc::primary_address_path));
}

}  // namespace

int mailbox_of(const Qp& qp, const StateChange& change, AddressResolver& addresses,
               prm::Opcode& opcode, prm::Mailbox<prm::Rst2initQpIn>& in) {
  const auto [from, to, mask] = change;
  const ib_uverbs_query_qp_resp& known = *qp.known;
  if (known.max_rd_atomic > kMostReads || known.max_dest_rd_atomic > kMostReads) return EINVAL;
  if ((mask & attr::kPathMtu) != 0 && (known.path_mtu < 1 || known.path_mtu > 5)) return EINVAL;
  // The path of an initiator of DC leads to nobody.
  const bool has_peer = (mask & attr::kPath) != 0 && qp.service != ServiceType::dc;
  if (has_peer && !is_reached(known, addresses)) return EHOSTUNREACH;
  const TransitionRow* const row = find_transition(qp.service, from, to);
  if (row == nullptr) return EINVAL;
  opcode = opcode_of(row->transition);
  in.set(prm::Rst2initQpIn::opt_param_mask, opt_params(*row, mask));
  describe(known, in.at(prm::Rst2initQpIn::qpc));
  return 0;
}

}  // namespace gdakit::softnic::uverbs
