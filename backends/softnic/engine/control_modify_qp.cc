// The control path: a queue pair's way through its states. What it may be told when, is in
// objects/transitions.h.
#include "backends/softnic/engine/engine.h"
#include "backends/softnic/objects/transitions.h"

namespace gdakit::softnic {
namespace {

void start_responder(Qp& qp) {
  const QpModify& settings = qp.common.settings;
  qp.connection.remote_qpn = settings.remote_qpn;
  if (qp.unreliable != nullptr) {
    qp.unreliable->receive.expected_psn = settings.next_receive_psn;
    // Datagrams establish no communication.
    qp.established = qp.common.attributes.service == ServiceType::ud;
    return;
  }
  qp.receive.begin(settings.next_receive_psn);
}

void start_requester(Qp& qp) {
  const QpModify& settings = qp.common.settings;
  if (qp.unreliable != nullptr) {
    qp.unreliable->send.next_psn = settings.next_send_psn;
    qp.send_queue.begin(settings.send_wqebb_counter);
    return;
  }
  RcSend& send = qp.send;
  send.psn = send.next_psn = send.unacked_psn = send.asked_psn = settings.next_send_psn;
  send.large_psn = send.reference_psn = settings.next_send_psn;
  qp.send_queue.begin(settings.send_wqebb_counter);
}

void start_draining(Qp& qp) {
  qp.sq_draining = true;
  qp.send.stopped = true;
  if (qp.unreliable != nullptr) qp.unreliable->send.stopped = true;
}

// Goes on, unless a WQE among those started has failed: then that one will fail the queue.
void end_draining(Qp& qp) {
  RcSend& send = qp.send;
  qp.sq_draining = false;
  if (qp.unreliable != nullptr) qp.unreliable->send.stopped = false;
  send.stopped = !send.flights.empty() && send.flights[send.flights.tail() - 1].fault;
  send.queue.look_at_record_again();
}

// The send queue of UC or UD that has failed works again, once what is posted by now is flushed:
// all that its record says.
void leave_error(Qp& qp, Core& core) {
  GDAKIT_ASSERT(qp.unreliable != nullptr);
  UnreliableSend& send = qp.unreliable->send;
  send.queue.look_at_record_again();
  send.queue.update_producer(core);
  send.flush_end = send.queue.producer();
  send.flushes_record = send.queue.waits_for_record();
  qp.common.first_error = {};
}

}  // namespace

Outcome<> Engine::modify_qp(QpNumber qpn, const QpModify& modify, Uid uid) {
  Qp* const found = qps_.find(qpn, uid);
  if (found == nullptr) return refusal(CommandSyndrome::modify_qp_absent, qpn);
  Qp& qp = *found;
  const TransitionRow* const row =
      find_transition(qp.common.attributes.service, qp.common.state, modify.state);
  if (row == nullptr) {
    return refusal(CommandSyndrome::modify_qp_transition, qpn,
                   states_detail(qp.common.state, modify.state));
  }
  const QpFields given = modify.given.value_or(row->required);
  const Outcome<> checked = check_fields(qpn, *row, given, modify);
  if (!checked) return checked;
  if (given.has(QpField::path_mtu) && !is_path_mtu(modify.path.mtu, core_.psn_bytes)) {
    return refusal(CommandSyndrome::modify_qp_path_mtu, qpn, modify.path.mtu);
  }
  copy_fields(given, modify, qp.common.settings);
  switch (row->transition) {
    case Transition::rst2init:
    case Transition::init2init:
    case Transition::rts2rts:
    case Transition::sqd2sqd: break;
    case Transition::init2rtr:
      if (qp.unreliable != nullptr) {
        core_.begin_unreliable(qp.connection);
      } else if (qp.send.dc == nullptr) {
        core_.begin(qp.connection);
      }
      start_responder(qp);
      started_ = true;
      break;
    case Transition::rtr2rts: start_requester(qp); break;
    case Transition::rts2sqd: start_draining(qp); break;
    case Transition::sqerr2rts: leave_error(qp, core_); [[fallthrough]];
    case Transition::sqd2rts: end_draining(qp); break;
    case Transition::to_err: core_.fail(qp.common, {}); break;
    case Transition::to_reset: reset(qp); return {};
  }
  qp.common.state = modify.state;
  if (modify.state != QpState::init && !connected_.holds(qp)) connected_.push_back(qp);
  activate(qp);
  return {};
}

// A fresh queue pair takes the number, and goes on counting; what the old one has under way ends
// with it.
void Engine::reset(Qp& qp) {
  std::unique_ptr<Qp> fresh = make_qp(qp.common.number, qp.common.attributes);
  fresh->common.counters = qp.common.counters;
  bury(std::exchange(*qps_.slot(qp.common.number), std::move(fresh)), {});
}

}  // namespace gdakit::softnic
