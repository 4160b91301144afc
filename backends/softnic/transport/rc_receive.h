// The receiving half of a reliable connection: what the peer has asked for, and what of that is yet
// to be answered. What happens to it is in responder.h.
//
// A target of XRC (queues/target_source.h) has neither receive WQEs nor keys nor a CQ: a message's
// are those of the shared receive queue that its packets name, which may go at any time.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/queues/growing_fifo.h"
#include "backends/softnic/queues/receive_source.h"
#include "backends/softnic/transport/connection.h"
#include "backends/softnic/transport/early_packets.h"
#include "core/format/cqe.h"

namespace gdakit::softnic {

inline constexpr std::uint32_t kEffects = 128;  // not yet acknowledged

// In place of the number of a shared receive queue that a packet of XRC has named:
inline constexpr SrqNumber kOwnReceives = 0;                            // it is none of XRC
inline constexpr SrqNumber kGoneSrq = kind_row(ObjectKind::srq).limit;  // ... it has gone since

// `flushed`: there is no effect, only the receive WQE that a request claimed which was forgotten.
enum class EffectKind : std::uint8_t { placed, read, atomic, replay, flushed };

// What a request does here and is acknowledged for. Effects are acknowledged in order.
struct Effect {
  EffectKind kind = EffectKind::placed;
  bool duplicate = false;
  std::uint8_t result_slot = 0;  // atomic: where the word before arrives
  // Of the CQE, with an opcode if there is one:
  format::CqeOpcode completion = format::CqeOpcode::invalid;
  bool solicited = false;
  bool asks = false;  // for an acknowledge
  bool ends = false;  // a message
  std::uint8_t service_level = 0;
  std::uint16_t wqe_counter = 0;  // of the receive WQE that was claimed for it
  std::uint32_t imm = 0;

  std::uint32_t psn = 0;  // first; of READ responses: the next one
  std::uint32_t last_psn = 0;
  std::uint32_t length = 0;   // READ: bytes asked for; CQE: bytes received
  std::uint32_t offset = 0;   // READ: bytes answered
  std::uint64_t address = 0;  // READ: of the first byte
  std::uint64_t result = 0;   // replay: the word before
  MemoryKey rkey = 0;
  SrqNumber srq = kOwnReceives;  // whose receive WQE or, of a READ, whose keys
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

struct RcReceive {
  // `from`: null if it has no receive WQEs.
  RcReceive(Connection& way, ReceiveSource* from)
      : qp(way.qp), connection(way), source(from), pd(way.qp.attributes.pd), effects(kEffects) {}

  // The first request will have this PSN. The limit of READs and atomics is known.
  void begin(std::uint32_t psn) {
    expected_psn = psn;
    done_psn = psn_add(psn, kPsnMask);
    results.assign(std::size_t{1} << qp.settings.log_rra_max, 0);
    replays.assign(std::size_t{1} << qp.settings.log_rra_max, Replay{});
  }

  // The peer has skipped all before this PSN.
  void go_to(std::uint32_t psn) {
    expected_psn = psn;
    done_psn = psn_add(psn, kPsnMask);
    nak_told = nak_due = false;
  }

  // Whether receive WQEs may be claimed whose CQEs are yet to come.
  bool holds_receives() const { return claimed || !effects.empty(); }

  QpCommon& qp;
  Connection& connection;
  ReceiveSource* source;

  PdNumber pd;  // whose keys requests name: of XRC, those in hand
  std::uint32_t expected_psn = 0;
  EarlyPackets early;          // with selective repeat
  std::uint32_t done_psn = 0;  // of the last effect that is complete
  std::uint32_t msn = 0;       // messages that are, 24 bits
  bool ack_due = false;
  bool nak_due = false;
  bool nak_told = false;  // the peer knows of the gap or the missing receive WQE
  bool fatal = false;     // after the NAK the QP fails; no request is taken any more
  bool untold = false;    // it fails without one
  Acknowledge nak = Acknowledge::ack;
  Fault fault;

  Message message = Message::none;
  SrqNumber srq = kOwnReceives;  // of XRC: whose receive WQE the message takes
  MemoryKey rkey = 0;
  std::uint64_t address = 0;    // write: of the next byte
  std::uint64_t remaining = 0;  // write: bytes still to come
  std::uint64_t received = 0;   // bytes of this message

  bool claimed = false;  // `wqe` is the message's
  Fault blame;           // what the claimed one fails with; none: it is flushed
  ReceiveWqe wqe;

  GrowingFifo<Effect> effects;
  bool no_room = false;                // the wire refused the response at the head of the effects
  std::uint32_t pending_reads = 0;     // READs and atomics among the effects, duplicates apart
  std::vector<std::uint64_t> results;  // of atomics on their way
  std::vector<Replay> replays;
  std::uint32_t next_result = 0;
  std::uint32_t next_replay = 0;
};

}  // namespace gdakit::softnic
