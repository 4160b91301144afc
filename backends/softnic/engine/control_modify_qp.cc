// The control path: a queue pair's way through its states. What it may be told when, is in
// objects/transitions.h.
#include "backends/softnic/engine/engine.h"
#include "backends/softnic/objects/transitions.h"

namespace gdakit::softnic {
namespace {

void start_responder(Qp& qp) {
  const QpModify& path = qp.path;
  qp.receive.expected_psn = path.next_receive_psn;
  qp.receive.done_psn = psn_add(path.next_receive_psn, kPsnMask);
  qp.receive.results.assign(std::size_t{1} << path.log_rra_max, 0);
  qp.receive.replays.assign(std::size_t{1} << path.log_rra_max, Replay{});
}

void start_requester(Qp& qp) {
  const QpModify& path = qp.path;
  qp.send.psn = qp.send.next_psn = qp.send.unacked_psn = path.next_send_psn;
  qp.send.producer = qp.send.started = qp.send.completed = path.send_wqebb_counter;
  qp.send.fetch_begin = qp.send.fetch_end = path.send_wqebb_counter;
  // What was announced before this moment is found in the record.
  qp.send.record.wanted = true;
}

void start_draining(Qp& qp) {
  qp.sq_draining = true;
  qp.send.stopped = true;
}

// Goes on, unless a WQE among those started has failed: then that one will fail the queue.
void end_draining(Qp& qp) {
  SendSide& send = qp.send;
  qp.sq_draining = false;
  send.stopped = !send.flights.empty() && send.flights[send.flights.tail() - 1].fault;
  send.record.wanted = true;
}

}  // namespace

Outcome<> Engine::modify_qp(QpNumber qpn, const QpModify& modify, Uid uid) {
  Qp* const found = qps_.find(qpn, uid);
  if (found == nullptr) return refusal(CommandSyndrome::modify_qp_absent, qpn);
  Qp& qp = *found;
  const TransitionRow* const row = find_transition(ServiceType::rc, qp.state, modify.state);
  if (row == nullptr) {
    return refusal(CommandSyndrome::modify_qp_transition, qpn,
                   states_detail(qp.state, modify.state));
  }
  const QpFields given = modify.given.value_or(row->required);
  const Outcome<> checked = check_fields(qpn, *row, given, modify);
  if (!checked) return checked;
  copy_fields(given, modify, qp.path);
  switch (row->transition) {
    case Transition::rst2init:
    case Transition::init2init:
    case Transition::rts2rts:
    case Transition::sqd2sqd: break;
    case Transition::init2rtr:
      start_responder(qp);
      started_ = true;
      break;
    case Transition::rtr2rts: start_requester(qp); break;
    case Transition::rts2sqd: start_draining(qp); break;
    case Transition::sqd2rts:
    case Transition::sqerr2rts: end_draining(qp); break;
    case Transition::to_err: Requester::fail(core_, qp, {}); break;
    case Transition::to_reset: reset(qp); return {};
  }
  qp.state = modify.state;
  if (qp.state != QpState::init && !connected_.holds(qp)) connected_.push_back(qp);
  activate(qp);
  return {};
}

// A fresh queue pair takes the number; what the old one has under way ends with it.
void Engine::reset(Qp& qp) {
  std::unique_ptr<Qp> fresh = make_qp(qp.number, qp.attributes);
  bury(std::exchange(*qps_.slot(qp.number), std::move(fresh)), {});
}

}  // namespace gdakit::softnic
