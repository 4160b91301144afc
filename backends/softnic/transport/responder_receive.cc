// Receive WQEs: claiming them, scattering into them, and flushing in state err.
#include "backends/softnic/transport/receive_parts.h"
#include "backends/softnic/transport/responder.h"

namespace gdakit::softnic {
namespace {

// How the receive side calls what it has refused. The peer is told the same by a NAK, and calls it
// the remote side's.
Fault as_responder(Fault fault) {
  switch (fault.syndrome) {
    case format::Syndrome::remote_access: return {format::Syndrome::local_access, 0};
    case format::Syndrome::remote_invalid_request: return {format::Syndrome::local_qp_operation, 0};
    default: return fault;
  }
}

}  // namespace

// Makes sure that the message has a receive WQE. Refused, with an RNR NAK, if none is posted.
Responder::Step Responder::acquire_receive(RcReceive& receive) {
  if (receive.claimed) return Step::done;
  if (receive.source == nullptr) {
    return refuse(receive, Acknowledge::nak_invalid_request, kRemoteInvalidRequest);
  }
  switch (receive.source->claim(core_, receive.wqe)) {
    case ReceiveSource::Claim::again: return Step::again;
    case ReceiveSource::Claim::none:
      ++receive.qp.counters.out_of_buffer;
      return refuse(receive, Acknowledge::rnr_nak);
    case ReceiveSource::Claim::broken:
      return refuse(receive, Acknowledge::nak_remote_operation, kMalformedWqe);
    case ReceiveSource::Claim::claimed: break;
  }
  receive.claimed = true;
  return Step::done;
}

// Refuses a SEND of which something has been moved. That is still read from the packet, which must
// stay until then. Nor does the receive WQE complete before, after which its memory is the
// client's.
Responder::Step Responder::refuse_moved(RcReceive& receive, DmaOp op, Acknowledge nak,
                                        Fault fault) {
  if (op.id != 0) {
    Effect& moved = receive.effects.push();
    moved.psn = moved.last_psn = psn_add(receive.expected_psn, kPsnMask);
    moved.op = op;
  }
  return refuse(receive, nak, fault);
}

// Puts the packet's payload where the claimed receive WQE says.
Responder::Step Responder::scatter(RcReceive& receive, const Packet& packet, DmaOp& op) {
  PayloadReader payload(packet);
  DmaOp last;
  const Fault fault =
      fill(core_, receive.qp, receive.wqe, payload, packet.header.payload_size, last);
  op = core_.all_of(last);
  if (!fault) return Step::done;
  const bool is_length = fault.syndrome == format::Syndrome::local_length;
  return refuse_moved(
      receive, op, is_length ? Acknowledge::nak_invalid_request : Acknowledge::nak_remote_operation,
      fault);
}

// Completes a receive WQE that was claimed for a request which has failed or was forgotten. False:
// try again.
bool Responder::post_failed(RcReceive& receive, SrqNumber srq, std::uint16_t wqe_counter,
                            Fault fault) {
  const auto post = [&](format::Cqe64& cqe) {
    if (srq != kOwnReceives) return post_to_srq(receive, srq, cqe);
    return core_.post_cqe(receive.qp, *receive.qp.receive_cq, cqe);
  };
  return post_failed_receive(receive.qp, wqe_counter, fault ? as_responder(fault) : Fault{}, post);
}

// The queue pair has failed: its receive WQEs complete in order, flushed. The one that a message
// has claimed carries the error that broke the queue pair, if it was the message's.
Turn Responder::flush(RcReceive& receive) {
  if (receive.source == nullptr) return {};
  if (receive.claimed) {
    if (!post_failed(receive, receive.srq, receive.wqe.index, receive.blame)) {
      return {.pending = true};
    }
    receive.claimed = false;
  }
  return receive.source->flush(core_);
}

bool Responder::return_receives(RcReceive& receive) {
  GrowingFifo<Effect>& effects = receive.effects;
  for (; !effects.empty(); effects.pop()) {
    const Effect& effect = effects.front();
    const bool holds = effect.has_cqe() || effect.kind == EffectKind::flushed;
    if (holds && !post_failed(receive, effect.srq, effect.wqe_counter, {})) return false;
  }
  if (receive.claimed && !post_failed(receive, receive.srq, receive.wqe.index, {})) return false;
  receive.claimed = false;
  return true;
}

}  // namespace gdakit::softnic
