// The requester: consumes a send queue, sends requests, and completes WQEs as the answers arrive.
//
//   doorbell --> producer --> fetch, decode --> flight --> packets --> ... --> answers --> CQE
//
//   requester_fetch.cc      ring: from the doorbell to the flight; flushing
//   requester_send.cc       work: from the flight to the packets
//   requester_answer.cc     answer, timer: from the answers to finished flights; retries
//   requester_complete.cc   fail: the CQEs of finished flights, in order; the queue's failure
//
// Go-back-N: after a loss the cursor moves back to the first flight that is not acknowledged, and
// WQEs are read again from the send queue.
#pragma once

#include <cstdint>
#include <optional>

#include "backends/softnic/transport/core.h"
#include "backends/softnic/transport/fetch_buffers.h"
#include "backends/softnic/transport/qp.h"

namespace gdakit::softnic {

class Requester {
 public:
  explicit Requester(Core& core) : core_(core) {}

  // A doorbell announced the producer counter whose low 16 bits are `hint`.
  void ring(Qp& qp, std::uint16_t hint);

  // One bounded piece of work: new producer counter, completions, packets; in state err, flushing.
  Turn work(Qp& qp);

  // An ACK, NAK, READ response or atomic response. `op` becomes what must be done before the
  // packet's payload may go.
  void answer(Qp& qp, const Packet& packet, DmaOp& op);

  // A recall has made the wire forget the request with this PSN. If it is not acknowledged, what is
  // not is sent again, which is no retry: where its key is gone, that is found out at once.
  void forgotten(Qp& qp, std::uint32_t psn);

  // The time is past timer_ns or blocked_until_ns.
  void timer(Qp& qp);

  // No DMA writes to the queue pair's private memory any more: gives up what it has of this NIC's.
  void give_back(Qp& qp);

  // From now on the queue flushes. The event is told if it was this that made the queue fail.
  static void fail(Core& core, Qp& qp, const QpError& error, std::optional<EventKind> event = {});

 private:
  enum class Load { loaded, blocked, pending };
  enum class Emit { sent, blocked, pending };

  // requester_fetch.cc
  bool update_producer(Qp& qp);
  void give_back_if_unneeded(Qp& qp);
  const std::uint8_t* fetch(Qp& qp, std::uint64_t index, std::uint64_t wqebbs);
  Load load(Qp& qp);
  Load load_again(Qp& qp, Flight& flight);
  Fault decode_at(Qp& qp, std::uint64_t index, const std::uint8_t* wqe);
  bool may_start(Qp& qp) const;
  void start(Qp& qp, Fault fault);
  void record_scatter(Qp& qp, Flight& flight);
  Turn flush(Qp& qp);

  // requester_send.cc
  Turn transmit(Qp& qp);
  Emit emit(Qp& qp);
  Emit emit_dump(Qp& qp, Flight& flight);
  Emit emit_read(Qp& qp, Flight& flight);
  Emit emit_atomic(Qp& qp, Flight& flight);
  Emit emit_data(Qp& qp, Flight& flight);
  template <class Use>
  void walk_payload(const Qp& qp, std::uint64_t size, const Use& use) const;
  bool find_sges_again(Qp& qp);
  static void advance_sges(SendSide& send, std::uint64_t size);
  static void rewind_sges(SendSide& send);
  void packet_sent(Qp& qp, std::uint32_t psns);
  static void finish_sending(Qp& qp, Flight& flight);
  static void next_flight(SendSide& send);

  // requester_answer.cc
  void acknowledge(Qp& qp, const PacketHeader& header);
  void acknowledged_before(Qp& qp, std::uint32_t psn);
  void response(Qp& qp, const Packet& packet, DmaOp& op);
  void read_response(Qp& qp, std::uint64_t number, const Packet& packet, DmaOp& op);
  void atomic_response(Qp& qp, std::uint64_t number, const Packet& packet);
  static std::uint64_t first_unanswered(SendSide& send);
  void gap_told(Qp& qp);
  bool read_refused(Qp& qp, const PacketHeader& header);
  Fault scatter(Qp& qp, const Flight& flight, const Packet& packet, std::uint64_t at, DmaOp& op);
  void progress(Qp& qp, std::uint32_t unacked_psn);
  void send_again(Qp& qp);
  void retry(Qp& qp, Fault exhausted);
  void fail_at(Qp& qp, std::uint64_t number, Fault fault);
  void fail_at_psn(Qp& qp, std::uint32_t psn, Fault fault);
  void start_timer(Qp& qp);
  void restart_timer(Qp& qp);

  // requester_complete.cc
  Turn complete(Qp& qp);
  bool is_read(Qp& qp, const Flight& flight);
  bool finished(Qp& qp, const Flight& flight);
  bool post_completion(Qp& qp, const Flight& flight);
  bool withdraw(Qp& qp);

  Core& core_;
  FetchBuffers buffers_;
  alignas(64) std::array<std::uint8_t, 16384> dumped_;  // what DUMP reads and nobody looks at
};

}  // namespace gdakit::softnic
