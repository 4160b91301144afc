// The requester: consumes a send queue, sends requests, and completes WQEs as the answers arrive.
//
//   send queue --> flight --> packets --> ... --> answers --> CQE
//
//   requester_start.cc      from the send queue to the flight; flushing
//   requester_send.cc       work: from the flight to the packets
//   requester_answer.cc     answer, timer: from the answers to finished flights; retries
//   requester_complete.cc   the CQEs of finished flights, in order
//   requester_dc.cc         connections of an initiator of DC
//
// Go-back-N: after a loss the cursor moves back to the first flight that is not acknowledged, and
// WQEs are read again from the send queue. With selective repeat, a peer that tells of a gap has
// kept what came behind it: after a packet, or some, the cursor goes on where it was.
#pragma once

#include <cstdint>

#include "backends/softnic/transport/core.h"
#include "backends/softnic/transport/rc_send.h"

namespace gdakit::softnic {

class Requester {
 public:
  explicit Requester(Core& core) : core_(core) {}

  // One bounded piece of work: new producer counter, completions, packets; in state err, flushing.
  Turn work(RcSend& send);

  // An ACK, NAK, READ response or atomic response. `op` becomes what must be done before the
  // packet's payload may go.
  void answer(RcSend& send, const Packet& packet, DmaOp& op);

  // A recall has made the wire forget the request with this PSN. If it is not acknowledged, what is
  // not is sent again, which is no retry: where its key is gone, that is found out at once.
  void forgotten(RcSend& send, std::uint32_t psn);

  // The time is past timer_ns, blocked_until_ns, or idle_until_ns.
  void timer(RcSend& send);

  // An initiator of DC ends its connection, if it has one, and tells the target if there is room.
  void hang_up(RcSend& send);

 private:
  enum class Load { loaded, blocked, pending };
  enum class Emit { sent, blocked, pending };

  // requester_start.cc
  Load load(RcSend& send);
  Load load_again(RcSend& send, Flight& flight);
  Fault find_sges(RcSend& send);
  bool may_start(const RcSend& send) const;
  void start(RcSend& send, Fault fault);
  [[gnu::noinline]] void start_special(RcSend& send, Flight& flight);
  void record_scatter(RcSend& send, Flight& flight);
  Turn flush(RcSend& send);
  void abandon(RcSend& send);

  // requester_send.cc
  Turn transmit(RcSend& send);
  Emit emit(RcSend& send);
  Emit emit_dump(RcSend& send, Flight& flight);
  std::uint32_t read_window(const RcSend& send) const;
  Emit emit_read(RcSend& send, Flight& flight);
  Emit emit_atomic(RcSend& send, Flight& flight);
  Emit emit_data(RcSend& send, Flight& flight);
  Emit unsent(RcSend& send);
  bool find_sges_again(RcSend& send);
  void packet_sent(RcSend& send, std::uint32_t psns, bool asks);
  std::int32_t window(const RcSend& send, const Flight& flight) const;
  static void finish_sending(RcSend& send, Flight& flight);
  static void next_flight(RcSend& send);

  // requester_answer.cc
  void acknowledge(RcSend& send, const PacketHeader& header);
  void acknowledged_before(RcSend& send, std::uint32_t psn);
  void response(RcSend& send, const Packet& packet, DmaOp& op);
  void read_response(RcSend& send, std::uint64_t number, const Packet& packet, DmaOp& op);
  void atomic_response(RcSend& send, std::uint64_t number, const Packet& packet);
  static std::uint64_t first_unanswered(RcSend& send);
  bool gap_told(RcSend& send, bool keeps_later = false);
  static void repeat_some(RcSend& send, RcSend::Place here);
  static void go_on(RcSend& send);
  bool read_refused(RcSend& send, const PacketHeader& header);
  Fault scatter(RcSend& send, const Flight& flight, const Packet& packet, std::uint64_t at,
                DmaOp& op);
  void progress(RcSend& send, std::uint32_t unacked_psn);
  void send_again(RcSend& send);
  bool count_retry(RcSend& send, Fault exhausted);
  bool retry(RcSend& send, Fault exhausted);
  void note_loss(RcSend& send);
  void retry_early(RcSend& send);
  void fail_at(RcSend& send, std::uint64_t number, Fault fault);
  void fail_at_psn(RcSend& send, std::uint32_t psn, Fault fault);
  static bool awaits_answer(const RcSend& send) {
    return psn_distance(send.asked_psn, send.unacked_psn) > 0;
  }
  void start_timer(RcSend& send);
  void restart_timer(RcSend& send);

  // requester_complete.cc
  Turn complete(RcSend& send);
  bool is_read(RcSend& send, const Flight& flight);
  bool is_busy(RcSend& send, const Flight& flight);
  bool finished(RcSend& send, const Flight& flight);
  bool post_completion(RcSend& send, const Flight& flight);
  void tell_begin(RcSend& send);
  void tell_end(const RcSend& send, const Flight& flight);
  bool withdraw(RcSend& send);

  // requester_dc.cc
  [[gnu::noinline]] bool reach_target(RcSend& send, Fault& fault);
  [[gnu::noinline]] bool connect(RcSend& send);
  [[gnu::noinline]] bool takes_answer(RcSend& send, const PacketHeader& header);
  [[gnu::noinline]] bool hang_up_if_idle(RcSend& send);
  void begin_connection(RcSend& send);
  void refused(RcSend& send, const PacketHeader& header);

  Core& core_;
  alignas(64) std::array<std::uint8_t, 16384> dumped_;  // what DUMP reads and nobody looks at
};

}  // namespace gdakit::softnic
