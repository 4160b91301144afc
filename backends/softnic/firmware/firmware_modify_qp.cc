// Commands that change a queue pair's state.
#include <algorithm>
#include <array>
#include <optional>

#include "backends/softnic/firmware/firmware.h"
#include "backends/softnic/firmware/object_mailbox.h"
#include "backends/softnic/firmware/qp_context.h"
#include "backends/softnic/objects/transitions.h"
#include "core/format/prm/qp.h"

namespace gdakit::softnic {

using namespace format;

namespace {

struct StateChange {
  prm::Opcode opcode;
  std::optional<QpState> from;  // nothing: any
  QpState to;
};

constexpr std::array kChanges = {
    StateChange{prm::Opcode::rst2init_qp, QpState::reset, QpState::init},
    StateChange{prm::Opcode::init2init_qp, QpState::init, QpState::init},
    StateChange{prm::Opcode::init2rtr_qp, QpState::init, QpState::rtr},
    StateChange{prm::Opcode::rtr2rts_qp, QpState::rtr, QpState::rts},
    StateChange{prm::Opcode::rts2rts_qp, QpState::rts, QpState::rts},
    StateChange{prm::Opcode::sqerr2rts_qp, QpState::sqer, QpState::rts},
    // The next two as early drivers gave them; later ones know no such state.
    StateChange{prm::Opcode::rts2sqd_qp, QpState::rts, QpState::sqd},
    StateChange{prm::Opcode::sqd2sqd_qp, QpState::sqd, QpState::sqd},
    StateChange{prm::Opcode::sqd2rts_qp, QpState::sqd, QpState::rts},
    StateChange{prm::Opcode::qp_2err, std::nullopt, QpState::err},
    StateChange{prm::Opcode::qp_2rst, std::nullopt, QpState::reset},
};

const StateChange& change_of(std::uint64_t opcode) {
  return *std::ranges::find_if(kChanges, [opcode](const StateChange& one) {
    return static_cast<std::uint64_t>(one.opcode) == opcode;
  });
}

}  // namespace

// To error or to reset, which takes the queue pair's path and limits from it.
Status Firmware::end_connection(QpNumber qpn, const QpModify& modify, Uid uid) {
  const RemovalNumber before = engine_.last_removal();
  const Outcome<> modified = engine_.modify_qp(qpn, modify, uid);
  const auto found = qps_.find(qpn);
  if (!modified || modify.state != QpState::reset || found == qps_.end()) return modified.status();
  prm::Mailbox<prm::Qpc>& known = found->second.context;
  const prm::Mailbox<prm::Qpc> nothing;
  copy_qpc(QpcView(nothing.bytes()), QpFields::all(), 0, QpcWriter(known.bytes()));
  if (engine_.last_removal() != before) {
    leaving_.push_back({engine_.last_removal(), found->second.umems});
  }
  return {};
}

namespace {

// The port by which it sends: the first one where no command with a path has named any.
void keep_port(QpcView before, QpcView request, QpFields given, QpcWriter next) {
  const auto port_of = [](const auto& context) {
    return context.at(prm::Qpc::primary_address_path).get(prm::Ads::vhca_port_num);
  };
  const std::uint64_t known = std::max<std::uint64_t>(port_of(before), 1);
  const bool is_named = port_of(request) != 0;
  const bool is_read = given.has(QpField::path) || port_of(before) == 0;
  next.at(prm::Qpc::primary_address_path)
      .set(prm::Ads::vhca_port_num, is_named && is_read ? port_of(request) : known);
}

}  // namespace

// Fields that have no bit of opt_param_mask are read where the transition requires them; those that
// have one where it is set, or the transition requires them. Bits that a transition does not know
// are refused by the engine.
Status Firmware::modify_qp(In in, Out) {
  using Modify = prm::Rst2initQpIn;
  const StateChange& change = change_of(prm::View<prm::MboxIn>(in).get(prm::MboxIn::opcode));
  const QpNumber qpn = object_of(in);
  const Uid uid = uid_of(in);
  const Outcome<QpInfo> info = engine_.query_qp(qpn, uid);
  if (!info) return info.status();
  if (change.from && info->state != *change.from) {
    return refusal(CommandSyndrome::modify_qp_transition, qpn,
                   states_detail(info->state, change.to));
  }
  QpModify modify;
  modify.state = change.to;
  modify.given = QpFields();
  if (!change.from) return end_connection(qpn, modify, uid);
  const auto found = qps_.find(qpn);
  if (found == qps_.end()) return refusal(CommandSyndrome::modify_qp_absent, qpn);
  prm::Mailbox<prm::Qpc>& known = found->second.context;
  const ServiceType service = service_of(QpcView(known.bytes()));
  const TransitionRow& row = *find_transition(service, *change.from, change.to);
  const prm::View<Modify> request(in);
  const auto mask = static_cast<std::uint32_t>(request.get(Modify::opt_param_mask));
  const std::uint64_t port =
      request.at(Modify::qpc).at(prm::Qpc::primary_address_path).get(prm::Ads::vhca_port_num);
  if (port > identity_.ports) return refusal(CommandSyndrome::mailbox_port, 0, port);
  modify.given = row.required | optional_fields(mask);
  prm::Mailbox<prm::Qpc> next = known;
  copy_qpc(request.at(Modify::qpc), *modify.given, row.required.has(QpField::access) ? 0 : mask,
           QpcWriter(next.bytes()));
  keep_port(QpcView(known.bytes()), request.at(Modify::qpc), *modify.given,
            QpcWriter(next.bytes()));
  read_qpc(QpcView(next.bytes()), modify);
  // An initiator of DC finds its peers by itself.
  if (modify.given->has(QpField::path) && service != ServiceType::dc) {
    const auto peer = addresses_ == nullptr
                          ? std::nullopt
                          : addresses_->endpoint_of(peer_of(QpcView(next.bytes())));
    if (!peer) return refusal(CommandSyndrome::mailbox_peer, qpn);
    modify.path.endpoint = *peer;
  }
  const bool is_first = change.opcode == prm::Opcode::rst2init_qp;
  // That of CREATE_QP stays where none is named.
  const auto counters =
      static_cast<CounterSet>(is_first ? request.at(Modify::qpc).get(prm::Qpc::counter_set_id) : 0);
  if (const Outcome<> set = counter_sets_.find(counters, uid); !set) return set.status();
  // There is one port, whichever of a LAG is named: queries tell it.
  const auto affinity_bit = static_cast<std::uint32_t>(prm::OptParam::lag_tx_port_affinity);
  if (is_first || (mask & affinity_bit) != 0) {
    next.set(prm::Qpc::lag_tx_port_affinity,
             request.at(Modify::qpc).get(prm::Qpc::lag_tx_port_affinity));
  }
  const Outcome<> modified = engine_.modify_qp(qpn, modify, uid);
  if (!modified) return modified.status();
  if (counters != 0) {
    next.set(prm::Qpc::counter_set_id, counters);
    join_counter_set(counters, qpn, uid);
  }
  known = next;
  return {};
}

}  // namespace gdakit::softnic
