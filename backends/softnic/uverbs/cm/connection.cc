#include "backends/softnic/uverbs/cm/connection.h"

#include <algorithm>
#include <cerrno>
#include <utility>

namespace gdakit::softnic::uverbs::cm {

Message Connection::make(MessageKind kind) const {
  Message message;
  message.kind = kind;
  message.local_id = own_id_;
  message.remote_id = peer_id_;
  message.service_id = service_id_;
  return message;
}

void Connection::say_wait(std::uint8_t answered) {
  Message message = make(MessageKind::mra);
  message.answered = answered;
  owner_.send(message);
}

Message Connection::rejection(std::uint16_t reason, std::vector<std::uint8_t> private_data) const {
  Message message = make(MessageKind::rej);
  message.reason = reason;
  const bool of_req = state_ == State::req_received || state_ == State::req_sent;
  message.answered = of_req ? kOfReq : state_ == State::rep_received ? kOfRep : kOfOther;
  message.private_data = std::move(private_data);
  return message;
}

void Connection::send_until_answered(Message message, std::uint64_t now_ns) {
  owner_.send(message);
  said_ = std::move(message);
  tries_ = 1;
  wait_ns_ = kFirstWaitNs;
  deadline_ns_ = now_ns + wait_ns_;
}

void Connection::go(State state) {
  state_ = state;
  deadline_ns_.reset();
}

void Connection::enter_timewait(std::uint64_t now_ns) {
  go(State::timewait);
  said_.reset();
  tells_of_exit_ = true;
  deadline_ns_ = now_ns + kTimewaitNs;
}

bool Connection::request(Message message, std::uint64_t now_ns) {
  if (state_ != State::idle) return false;
  service_id_ = message.service_id;
  message.local_id = own_id_;
  message.qp.psn = psn_;
  agreed_.receive_psn = psn_;
  agreed_.retry_count = message.qp.retry_count;
  agreed_.mtu_code = message.way.mtu_code;
  agreed_.ack_timeout = message.way.ack_timeout;
  agreed_.traffic_class = message.way.traffic_class;
  state_ = message.kind == MessageKind::req ? State::req_sent : State::sidr_sent;
  send_until_answered(std::move(message), now_ns);
  return true;
}

void Connection::hear_of_peer(const Message& message) {
  peer_id_ = message.local_id;
  agreed_.peer_qpn = message.qp.qpn;
  agreed_.send_psn = message.qp.psn;
  agreed_.responder_resources = message.qp.initiator_depth;
  agreed_.initiator_depth = message.qp.responder_resources;
  agreed_.rnr_retry_count = message.qp.rnr_retry_count;
}

void Connection::requested(const Message& message) {
  hear_of_peer(message);
  service_id_ = message.service_id;
  agreed_.receive_psn = psn_;
  agreed_.retry_count = message.qp.retry_count;
  agreed_.mtu_code = message.way.mtu_code;
  agreed_.ack_timeout = message.way.ack_timeout;
  agreed_.traffic_class = message.way.traffic_class;
  go(message.kind == MessageKind::req ? State::req_received : State::sidr_received);
}

bool Connection::answer(Message message, std::uint64_t now_ns) {
  message.local_id = own_id_;
  message.remote_id = peer_id_;
  message.service_id = service_id_;
  if (state_ == State::sidr_received) {
    message.kind = MessageKind::sidr_rep;
    go(State::sidr_answered);
    owner_.send(message);
    said_ = std::move(message);
    return true;
  }
  if (state_ != State::req_received) return false;
  message.kind = MessageKind::rep;
  message.qp.psn = psn_;
  agreed_.responder_resources = message.qp.responder_resources;
  agreed_.initiator_depth = message.qp.initiator_depth;
  state_ = State::rep_sent;
  send_until_answered(std::move(message), now_ns);
  return true;
}

bool Connection::confirm(Message message) {
  if (state_ != State::rep_received) return false;
  message.kind = MessageKind::rtu;
  message.local_id = own_id_;
  message.remote_id = peer_id_;
  go(State::established);
  owner_.send(message);
  said_ = std::move(message);
  return true;
}

bool Connection::refuse(std::uint16_t reason, std::vector<std::uint8_t> private_data,
                        std::uint64_t now_ns) {
  if (state_ == State::sidr_received) {
    Message message;
    message.private_data = std::move(private_data);
    message.reason = kSidrRejected;
    return answer(std::move(message), now_ns);
  }
  if (state_ != State::req_received && state_ != State::rep_received) return false;
  Message message = rejection(reason, std::move(private_data));
  owner_.send(message);
  go(State::timewait);
  said_ = std::move(message);
  deadline_ns_ = now_ns + kTimewaitNs;
  return true;
}

bool Connection::disconnect(std::uint64_t now_ns) {
  if (state_ != State::established && state_ != State::rep_sent) return false;
  Message message = make(MessageKind::dreq);
  message.qp.qpn = agreed_.peer_qpn;
  state_ = State::dreq_sent;
  send_until_answered(std::move(message), now_ns);
  return true;
}

bool Connection::communication_established() {
  if (state_ != State::rep_sent) return false;
  go(State::established);
  said_.reset();
  owner_.happened(EventKind::established, 0, nullptr);
  return true;
}

void Connection::pass(std::uint64_t now_ns) {
  if (!deadline_ns_ || now_ns < *deadline_ns_) return;
  if (state_ == State::timewait) {
    go(State::ended);
    if (tells_of_exit_) owner_.happened(EventKind::timewait_exit, 0, nullptr);
    return;
  }
  if (tries_ == kMostTries) return give_up(-ETIMEDOUT, now_ns);
  owner_.send(*said_);
  ++tries_;
  wait_ns_ = std::min(2 * wait_ns_, kLongestWaitNs);
  deadline_ns_ = now_ns + wait_ns_;
}

void Connection::give_up(int status, std::uint64_t now_ns) {
  if (state_ == State::dreq_sent) {
    enter_timewait(now_ns);
    owner_.happened(EventKind::disconnected, status, nullptr);
    return;
  }
  if (!is_sidr()) owner_.send(rejection(kTimedOut, {}));
  go(State::ended);
  owner_.happened(EventKind::unreachable, status, nullptr);
}

void Connection::end(std::uint64_t now_ns) {
  switch (state_) {
    case State::req_received:
    case State::rep_received:
    case State::sidr_received: refuse(kConsumerDefined, {}, now_ns); return;
    case State::established: disconnect(now_ns); return;
    case State::req_sent:
      owner_.send(rejection(kTimedOut, {}));
      go(State::ended);
      return;
    case State::rep_sent:
      owner_.send(rejection(kConsumerDefined, {}));
      go(State::ended);
      return;
    case State::dreq_sent:
    case State::timewait:
    case State::ended: return;
    default: go(State::ended); return;
  }
}

}  // namespace gdakit::softnic::uverbs::cm
