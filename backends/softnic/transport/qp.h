// The state of a queue pair, all of it; what happens to it is in requester.h and responder.h.
//
// Send queue, in WQEBBs since the queue began:
//
//   completed          started             producer
//      v                  v                   v
//      | in flight        | announced         |
//        ^ cursor: the flight whose packets go out next; behind `started` while packets are sent
//        again
//
// A flight is a WQE that has been started and has not completed; flights complete in order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/queues/cq.h"
#include "backends/softnic/queues/growing_fifo.h"
#include "backends/softnic/queues/linked_list.h"
#include "backends/softnic/queues/request.h"
#include "backends/softnic/transport/timers.h"
#include "backends/softnic/wire/packet.h"
#include "backends/softnic/wire/wire.h"
#include "core/base/endian.h"

namespace gdakit::softnic {

inline constexpr std::uint32_t kMaxReceiveStride = 512;
inline constexpr std::uint32_t kEffects = 128;  // of a responder, not yet acknowledged
inline constexpr std::uint32_t kOutbox = 8;

// A dword of a doorbell record on its way here.
struct RecordRead {
  bool wanted = false;
  bool reading = false;
  DmaOp op;
  Be32 word{0};
  std::uint64_t since = 0;  // the producer counter when the read began
  bool rung = false;        // a doorbell has moved the counter
  bool behind = false;      // ... further than the record said afterwards
};

struct Flight {
  DmaOp op;                 // what must be done before it completes
  std::uint32_t index = 0;  // of the WQE: the low half
  std::uint32_t length = 0;
  std::uint32_t first_psn = 0;
  std::uint32_t last_psn = 0;   // known once `sent`
  std::uint32_t responses = 0;  // READ: PSNs of the responses that are here
  std::uint8_t scatter = 0;     // READ and atomic: which scatter list
  RequestKind kind = RequestKind::nop;
  format::Opcode opcode = format::Opcode::nop;
  format::Completion completion = format::Completion::on_error;
  std::uint8_t wqebbs = 0;
  bool sent = false;      // all its packets, once
  bool answered = false;  // READ and atomic: all responses are here
  Fault fault;
};
static_assert(sizeof(Flight) == 40);

struct ScatterSge {
  std::uint64_t iova = 0;
  std::uint32_t size = 0;
  MemoryKey lkey = 0;
};

// Where the responses of one READ or atomic go. Keys are looked up again with each response.
struct ScatterList {
  std::uint8_t atomic_size = 0;
  std::vector<ScatterSge> sges;
};

struct SendSide {
  explicit SendSide(std::uint32_t window) : flights(window) {}

  // The WQE of a flight.
  std::uint64_t index_of(const Flight& flight) const {
    return completed + (flight.index - static_cast<std::uint32_t>(completed));
  }

  std::uint64_t producer = 0;
  std::uint64_t started = 0;
  std::uint64_t completed = 0;
  RecordRead record;

  // A linear copy of WQEBBs [fetch_begin, fetch_end); null while none is needed.
  std::uint8_t* fetched = nullptr;
  std::uint64_t fetch_begin = 0;
  std::uint64_t fetch_end = 0;
  bool fetching = false;
  DmaOp fetch_op;

  GrowingFifo<Flight> flights;
  std::uint64_t cursor = 0;    // number of a flight; flights.tail(): a WQE not yet started
  bool loaded = false;         // `request` is the cursor's WQE, and these say how far it is:
  std::uint64_t removals = 0;  // of keys, when its addresses were resolved
  std::uint32_t sge = 0;
  std::uint64_t sge_offset = 0;
  std::uint64_t sent_bytes = 0;
  std::uint32_t psn = 0;  // of the cursor's next packet
  Request request;

  std::uint32_t next_psn = 0;        // of the first packet never sent
  std::uint32_t unacked_psn = 0;     // everything before is acknowledged
  bool stopped = false;              // no WQE is started: one has failed, or the state is sqd
  std::optional<Recall> withdrawal;  // of all that was sent, before the first CQE with an error

  std::uint32_t unfinished_reads = 0;  // READs and atomics among the flights
  std::uint32_t next_scatter = 0;
  std::vector<ScatterList> scatters;  // from the first of those on

  std::uint64_t timer_ns = 0;          // when the peer must have answered; 0: no timer runs
  std::uint64_t blocked_until_ns = 0;  // RNR wait; 0: none
  std::uint32_t retries = 0;
  std::uint32_t rnr_retries = 0;
  bool gap_seen = false;  // a lost packet has been sent or asked for again; no progress since
};

enum class EffectKind : std::uint8_t { placed, read, atomic, replay };

// What a request does here and is acknowledged for. Effects are acknowledged in order.
struct Effect {
  EffectKind kind = EffectKind::placed;
  bool duplicate = false;
  std::uint8_t result_slot = 0;  // atomic: where the word before arrives
  // Of the CQE, with an opcode if there is one:
  format::CqeOpcode completion = format::CqeOpcode::invalid;
  bool solicited = false;
  std::uint16_t wqe_counter = 0;
  std::uint32_t imm = 0;

  std::uint32_t psn = 0;  // first; of READ responses: the next one
  std::uint32_t last_psn = 0;
  std::uint32_t length = 0;   // READ: bytes asked for; CQE: bytes received
  std::uint32_t offset = 0;   // READ: bytes answered
  std::uint64_t address = 0;  // READ: of the first byte
  std::uint64_t result = 0;   // replay: the word before
  MemoryKey rkey = 0;
  DmaOp op;

  bool has_cqe() const { return completion != format::CqeOpcode::invalid; }
};
static_assert(sizeof(Effect) <= 64);

enum class Message : std::uint8_t { none, write, send };

struct Replay {
  bool valid = false;
  std::uint32_t psn = 0;
  std::uint64_t result = 0;
};

struct ReceiveSide {
  ReceiveSide() : effects(kEffects) {}

  std::uint32_t expected_psn = 0;
  std::uint32_t done_psn = 0;  // of the last effect that is complete
  bool ack_due = false;
  bool nak_due = false;
  bool nak_told = false;  // the peer knows of the gap or the missing receive WQE
  bool fatal = false;     // after the NAK the QP fails; no request is taken any more
  Acknowledge nak = Acknowledge::ack;
  Fault fault;

  Message message = Message::none;
  MemoryKey rkey = 0;
  std::uint64_t address = 0;    // write: of the next byte
  std::uint64_t remaining = 0;  // write: bytes still to come
  std::uint64_t received = 0;   // bytes of this message

  GrowingFifo<Effect> effects;
  bool no_room = false;                // the wire refused the response at the head of the effects
  std::uint32_t pending_reads = 0;     // READs and atomics among the effects, duplicates apart
  std::vector<std::uint64_t> results;  // of atomics on their way
  std::uint32_t next_result = 0;
  std::vector<Replay> replays;
  std::uint32_t next_replay = 0;

  // Receive queue, in WQEs since it began.
  std::uint64_t producer = 0;
  std::uint64_t consumer = 0;
  RecordRead record;
  bool fetching = false;
  bool loaded = false;  // the WQE at `consumer` is in `wqe`
  DmaOp fetch_op;
  std::vector<std::uint8_t> wqe;
  std::uint32_t sge_count = 0;
  std::uint32_t sge = 0;
  std::uint64_t sge_offset = 0;
};

// A packet whose payload is still being read, or that the wire had no room for.
struct Outgoing {
  Packet packet;
  std::uint8_t* buffer = nullptr;
  DmaOp op;
};

struct Qp {
  Qp(QpNumber qpn, const QpAttributes& given, std::uint32_t window)
      : number(qpn),
        attributes(given),
        send(static_cast<std::uint32_t>(std::min<std::uint64_t>(window, depth()))),
        outbox(kOutbox) {
    if (given.has_receive_queue) receive.wqe.resize(std::size_t{1} << given.log_receive_stride);
  }

  QpNumber number;
  QpAttributes attributes;
  QpState state = QpState::reset;
  QpModify path;  // what the modifies set: rights, peer, limits, timers
  Cq* send_cq = nullptr;
  Cq* receive_cq = nullptr;
  QpError first_error;
  bool sq_draining = false;  // in state sqd: to be told when no WQE is under way any more

  bool defers = false;  // a packet that it could not take is kept, and others behind it
  Link<Qp> active;      // in the engine's lists
  Link<Qp> swept;
  Timer timer;

  SendSide send;
  ReceiveSide receive;
  GrowingFifo<Outgoing> outbox;

  std::uint64_t depth() const { return std::uint64_t{1} << attributes.log_send_wqebbs; }
  std::uint64_t receive_depth() const { return std::uint64_t{1} << attributes.log_receive_wqes; }
};

}  // namespace gdakit::softnic
