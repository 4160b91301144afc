// What the peer says of a connection, and that it says nothing more.
#include <cerrno>

#include "backends/softnic/uverbs/cm/connection.h"

namespace gdakit::softnic::uverbs::cm {

void Connection::receive(const Message& message, std::uint64_t now_ns) {
  switch (message.kind) {
    case MessageKind::req:
    case MessageKind::sidr_req: return receive_req();
    case MessageKind::rep: return receive_rep(message);
    case MessageKind::rej: return receive_rej(message, now_ns);
    case MessageKind::dreq: return receive_dreq(now_ns);
    case MessageKind::sidr_rep: return receive_sidr_rep(message);
    case MessageKind::rtu: communication_established(); return;
    case MessageKind::mra:
      if (deadline_ns_ && state_ != State::timewait) tries_ = 1;
      return;
    case MessageKind::drep:
      if (state_ != State::dreq_sent) return;
      enter_timewait(now_ns);
      owner_.happened(EventKind::disconnected, 0, &message);
      return;
  }
}

// It has come before.
void Connection::receive_req() {
  if (state_ == State::req_received) return say_wait(kOfReq);
  const bool has_answered =
      state_ == State::rep_sent || state_ == State::sidr_answered || state_ == State::timewait;
  if (has_answered && said_) owner_.send(*said_);
}

void Connection::receive_rep(const Message& message) {
  if (state_ == State::rep_received) return say_wait(kOfRep);
  if (state_ == State::established && said_) return owner_.send(*said_);
  if (state_ != State::req_sent) return;
  hear_of_peer(message);
  go(State::rep_received);
  owner_.happened(EventKind::connect_response, 0, &message);
}

void Connection::receive_rej(const Message& message, std::uint64_t now_ns) {
  switch (state_) {
    case State::req_sent:
    case State::req_received:
    case State::rep_sent:
    case State::rep_received:
    case State::established:
      go(State::ended);
      owner_.happened(EventKind::rejected, message.reason, &message);
      return;
    case State::dreq_sent:
      enter_timewait(now_ns);
      owner_.happened(EventKind::disconnected, 0, nullptr);
      return;
    default: return;
  }
}

void Connection::receive_dreq(std::uint64_t now_ns) {
  switch (state_) {
    case State::rep_sent:
    case State::rep_received:
    case State::established:
    case State::dreq_sent:
      say(MessageKind::drep);
      enter_timewait(now_ns);
      owner_.happened(EventKind::disconnected, 0, nullptr);
      return;
    case State::timewait: return say(MessageKind::drep);
    default: return;
  }
}

void Connection::receive_sidr_rep(const Message& message) {
  if (state_ != State::sidr_sent) return;
  go(State::ended);
  agreed_.peer_qpn = message.qp.qpn;
  const bool is_found = message.reason == kSidrSuccess;
  owner_.happened(is_found ? EventKind::established : EventKind::unreachable, message.reason,
                  &message);
}

void Connection::peer_is_gone(std::uint64_t now_ns) {
  switch (state_) {
    case State::established:
    case State::dreq_sent:
      enter_timewait(now_ns);
      owner_.happened(EventKind::disconnected, 0, nullptr);
      return;
    case State::req_received:
    case State::rep_received:
      go(State::ended);
      owner_.happened(EventKind::rejected, kTimedOut, nullptr);
      return;
    case State::req_sent:
    case State::rep_sent:
    case State::sidr_sent: return give_up(-ETIMEDOUT, now_ns);
    default: return;
  }
}

}  // namespace gdakit::softnic::uverbs::cm
