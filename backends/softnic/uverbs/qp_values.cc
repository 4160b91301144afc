#include "backends/softnic/uverbs/qp_values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <iterator>
#include <rdma/ib_user_ioctl_verbs.h>
#include <utility>

#include "backends/softnic/objects/transitions.h"
#include "backends/softnic/uverbs/fabric.h"
#include "backends/softnic/uverbs/limits.h"
#include "backends/softnic/uverbs/transition_masks.h"

namespace gdakit::softnic::uverbs {
namespace {

constexpr std::array kStates = {QpState::reset, QpState::init, QpState::rtr, QpState::rts,
                                QpState::sqd,   QpState::sqer, QpState::err};

struct FieldOfMask {
  std::uint32_t mask = 0;
  QpField field = QpField::access;
};
constexpr std::array kFields = {
    FieldOfMask{attr::kAccess, QpField::access},
    FieldOfMask{attr::kPkeyIndex, QpField::pkey},
    FieldOfMask{attr::kQkey, QpField::qkey},
    FieldOfMask{attr::kPath, QpField::path},
    FieldOfMask{attr::kPathMtu, QpField::path_mtu},
    FieldOfMask{attr::kRemoteQpn, QpField::remote_qpn},
    FieldOfMask{attr::kReceivePsn, QpField::next_receive_psn},
    FieldOfMask{attr::kMaxPeerReads, QpField::log_rra_max},
    FieldOfMask{attr::kMinRnrTimer, QpField::min_rnr_nak},
    FieldOfMask{attr::kSendPsn, QpField::next_send_psn},
    FieldOfMask{attr::kMaxReads, QpField::log_sra_max},
    FieldOfMask{attr::kTimeout, QpField::ack_timeout},
    FieldOfMask{attr::kRetryCount, QpField::retry_count},
    FieldOfMask{attr::kRnrRetry, QpField::rnr_retry},
};

// The least n with 2^n at least `count`.
std::uint8_t log_of(std::uint8_t count) {
  return static_cast<std::uint8_t>(count == 0 ? 0 : std::bit_width(count - 1u));
}

QpFields fields_of(ServiceType service, QpState from, QpState to, std::uint32_t mask) {
  QpFields fields;
  const TransitionRow* const row = find_transition(service, from, to);
  if (row == nullptr) return fields;
  for (const FieldOfMask& one : kFields) {
    if ((mask & one.mask) != 0) fields = fields | QpFields{one.field};
  }
  // A field that the command has no room for says nothing to the NIC.
  const QpFields known = row->required | row->optional;
  return (fields.without(fields.without(known))) | row->required;
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
    default: return std::nullopt;
  }
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

namespace {

// On InfiniBand no more than the QPN is looked at, which no two NICs of a fabric share.
std::optional<Endpoint> peer_of(const ib_uverbs_query_qp_resp& known, AddressResolver& addresses) {
  const QpNumber qpn = known.dest_qp_num & 0xffffff;
  if (known.dest.is_global == 0) return place_of(qpn);
  AddressVector address;
  std::copy(std::begin(known.dest.dgid), std::end(known.dest.dgid), address.gid.begin());
  address.lid = known.dest.dlid;
  address.qpn = qpn;
  return addresses.endpoint_of(address);
}

}  // namespace

int modify_of(const Qp& qp, const StateChange& change, AddressResolver& addresses,
              QpModify& modify) {
  const auto [from, to, mask] = change;
  const ib_uverbs_query_qp_resp& known = *qp.known;
  if (known.max_rd_atomic > kMostReads || known.max_dest_rd_atomic > kMostReads) return EINVAL;
  if ((mask & attr::kPathMtu) != 0 && (known.path_mtu < 1 || known.path_mtu > 5)) return EINVAL;
  modify.state = to;
  modify.given = fields_of(qp.service, from, to, mask);
  modify.access = remote_access(known.qp_access_flags);
  modify.remote_qpn = known.dest_qp_num & 0xffffff;
  const auto peer = peer_of(known, addresses);
  if (!peer && (mask & attr::kPath) != 0) return EHOSTUNREACH;
  modify.path.endpoint = peer.value_or(0);
  modify.path.service_level = known.dest.sl & 0xf;
  modify.path.traffic_class = known.dest.traffic_class;
  modify.path.mtu = known.path_mtu == 0 ? 0 : 128u << known.path_mtu;
  modify.path.qkey = known.qkey;
  modify.next_receive_psn = known.rq_psn & 0xffffff;
  modify.log_rra_max = log_of(known.max_dest_rd_atomic);
  modify.min_rnr_nak = known.min_rnr_timer & 0x1f;
  modify.next_send_psn = known.sq_psn & 0xffffff;
  modify.log_sra_max = log_of(known.max_rd_atomic);
  modify.ack_timeout = known.timeout & 0x1f;
  modify.retry_count = known.retry_cnt & 7;
  modify.rnr_retry = known.rnr_retry & 7;
  return 0;
}

}  // namespace gdakit::softnic::uverbs
