// One side of a connection, or of a lookup of a datagram's receiver (SIDR), from the first message
// to the last: what it says, how often, and what its program is told.
//
//   active   idle -> req_sent -> rep_received -> established -> dreq_sent -> timewait -> ended
//   passive  idle -> req_received -> rep_sent -> established -> dreq_sent -> timewait -> ended
//   SIDR     idle -> sidr_sent -> ended          idle -> sidr_received -> sidr_answered
//
// A message that waits for an answer is sent again, after 50 ms first, then after twice as long, at
// most 2 s, and 12 times in all. One that comes twice is answered twice, and told of once, also
// where it was refused. A peer that has the message, and whose program takes its time, says so
// (MRA) whenever it hears it again, for as long as that takes. A DREQ is answered at once, and not
// when the program disconnects, too.
//
// Nothing here waits or knows the time: the owner passes it in. Calls come one at a time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/softnic/uverbs/cm/message.h"

namespace gdakit::softnic::uverbs::cm {

// By the numbers of enum rdma_cm_event_type.
enum class EventKind : std::uint32_t {
  addr_resolved = 0,
  addr_error = 1,
  route_resolved = 2,
  connect_request = 4,
  connect_response = 5,
  unreachable = 7,
  rejected = 8,
  established = 9,
  disconnected = 10,
  multicast_join = 12,
  timewait_exit = 15,
};

// What both sides have agreed upon, as the queue pair is to be set.
struct Agreed {
  QpNumber peer_qpn = 0;
  std::uint32_t receive_psn = 0;
  std::uint32_t send_psn = 0;
  std::uint8_t responder_resources = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry_count = 0;
  std::uint8_t mtu_code = 0;
  std::uint8_t ack_timeout = 0;
  std::uint8_t traffic_class = 0;
};

class Connection {
 public:
  enum class State {
    idle,
    req_sent,
    req_received,
    rep_sent,
    rep_received,
    established,
    dreq_sent,
    timewait,
    sidr_sent,
    sidr_received,
    sidr_answered,
    ended,
  };

  class Owner {
   public:
    virtual ~Owner() = default;
    virtual void send(const Message& message) = 0;
    // `status`: a reason of the peer's, or a negative errno. `message`: what the peer has said, or
    // null.
    virtual void happened(EventKind kind, int status, const Message* message) = 0;
  };

  static constexpr std::uint64_t kFirstWaitNs = 50'000'000;
  static constexpr std::uint64_t kLongestWaitNs = 2'000'000'000;
  static constexpr unsigned kMostTries = 12;
  static constexpr std::uint64_t kTimewaitNs = 500'000'000;

  // `own_id` is unique among the owner's. `psn`: with which the peer is to begin.
  Connection(Owner& owner, std::uint32_t own_id, std::uint32_t psn)
      : owner_(owner), own_id_(own_id), psn_(psn) {}

  State state() const { return state_; }
  const Agreed& agreed() const { return agreed_; }
  std::uint32_t own_id() const { return own_id_; }

  // What the program does. False: not in this state. A REQ or SIDR_REQ:
  bool request(Message message, std::uint64_t now_ns);
  // A REP or SIDR_REP to one that came.
  bool answer(Message message, std::uint64_t now_ns);
  // A RTU.
  bool confirm(Message message);
  bool refuse(std::uint16_t reason, std::vector<std::uint8_t> private_data, std::uint64_t now_ns);
  bool disconnect(std::uint64_t now_ns);
  // The queue pair has heard of the peer, which takes the place of a RTU.
  bool communication_established();

  // What the peer says: a REQ or SIDR_REQ first, or anything.
  void requested(const Message& message);
  void receive(const Message& message, std::uint64_t now_ns);

  // Time has passed. None: there is nothing to wait for.
  void pass(std::uint64_t now_ns);
  std::optional<std::uint64_t> deadline_ns() const { return deadline_ns_; }

  // Whether it waits for the peer, or is connected with it.
  bool needs_peer() const { return state_ < State::timewait || state_ == State::sidr_sent; }
  // The peer is no more.
  void peer_is_gone(std::uint64_t now_ns);
  // The program has no use for it any more: the peer is told. What it is told of a connection, and
  // what it has been refused, is said again as ever, until the state is `ended`.
  void end(std::uint64_t now_ns);

 private:
  bool is_sidr() const { return state_ >= State::sidr_sent && state_ <= State::sidr_answered; }
  Message make(MessageKind kind) const;
  void say(MessageKind kind) { owner_.send(make(kind)); }
  void say_wait(std::uint8_t answered);
  Message rejection(std::uint16_t reason, std::vector<std::uint8_t> private_data) const;
  // Sends what is to be sent again until it is answered.
  void send_until_answered(Message message, std::uint64_t now_ns);
  void go(State state);
  void enter_timewait(std::uint64_t now_ns);
  void hear_of_peer(const Message& message);
  void receive_req();
  void receive_rep(const Message& message);
  void receive_rej(const Message& message, std::uint64_t now_ns);
  void receive_dreq(std::uint64_t now_ns);
  void receive_sidr_rep(const Message& message);
  void give_up(int status, std::uint64_t now_ns);

  Owner& owner_;
  const std::uint32_t own_id_;
  const std::uint32_t psn_;
  State state_ = State::idle;
  std::uint32_t peer_id_ = 0;
  std::uint64_t service_id_ = 0;
  Agreed agreed_;
  // Sent again: until it is answered, or, of what answers, whenever what it answers comes again.
  std::optional<Message> said_;
  unsigned tries_ = 0;
  std::uint64_t wait_ns_ = 0;
  bool tells_of_exit_ = false;  // from timewait
  std::optional<std::uint64_t> deadline_ns_;
};

}  // namespace gdakit::softnic::uverbs::cm
