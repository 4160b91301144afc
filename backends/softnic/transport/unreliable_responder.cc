#include "backends/softnic/transport/unreliable_responder.h"

#include <optional>

#include "backends/softnic/queues/make_cqe.h"
#include "backends/softnic/transport/grh.h"
#include "backends/softnic/transport/receive_parts.h"
#include "core/host/counter_table.h"

namespace gdakit::softnic {
namespace {

using Message = UnreliableReceive::Message;

bool receives(QpState state) {
  return state == QpState::rtr || state == QpState::sqer || has_requests(state);
}

// The message whose packets have come is given up: its receive WQE is filled again from the
// beginning.
void give_up(UnreliableReceive& receive) {
  receive.message = Message::none;
  receive.received = 0;
  receive.wqe.current = receive.first_segment;
  receive.wqe.offset = 0;
}

}  // namespace

bool UnreliableResponder::request(UnreliableReceive& receive, const Packet& packet, DmaOp& op) {
  if (!receives(receive.qp.state) || receive.fault) return true;
  // Without an order of the port's, no two packets write to the same memory at once.
  const bool waits = receive.arrivals.full() || (!core_.ordered && !receive.arrivals.empty());
  if (waits) return false;
  const bool is_datagram = packet.header.service == ServiceType::ud;
  const Step step = is_datagram ? datagram(receive, packet, op) : message(receive, packet, op);
  return step != Step::again;
}

UnreliableResponder::Step UnreliableResponder::drop(UnreliableReceive& receive, Fault fault) {
  if (fault) count_error(receive.qp.counters, ErrorSide::responder, fault.syndrome);
  return Step::dropped;
}

UnreliableResponder::Step UnreliableResponder::claim(UnreliableReceive& receive) {
  using Claim = ReceiveSource::Claim;
  if (receive.claimed) return Step::done;
  const Claim claimed =
      receive.source == nullptr ? Claim::none : receive.source->claim(core_, receive.wqe);
  switch (claimed) {
    case Claim::again: return Step::again;
    case Claim::none: ++receive.qp.counters.out_of_buffer; return Step::dropped;
    case Claim::broken: receive.fault = kMalformedWqe; return drop(receive, receive.fault);
    case Claim::claimed: break;
  }
  receive.claimed = true;
  receive.first_segment = receive.wqe.current;
  return Step::done;
}

UnreliableResponder::Step UnreliableResponder::datagram(UnreliableReceive& receive,
                                                        const Packet& packet, DmaOp& op) {
  const PacketHeader& header = packet.header;
  const bool is_one =
      header.opcode == PacketOpcode::send_only || header.opcode == PacketOpcode::send_only_imm;
  if (!is_one || !is_cut_right(receive.connection, header, Place::alone)) {
    return drop(receive, kRemoteInvalidRequest);
  }
  if (header.deth.qkey != receive.qp.settings.path.qkey) {
    ++core_.counters.qkey_violations;
    return Step::dropped;
  }
  if (const Step claimed = claim(receive); claimed != Step::done) return claimed;
  PortAddress from, to;
  if (core_.addresses != nullptr) {
    from = core_.addresses->address_of(header.source);
    to = core_.addresses->address_of(core_.wire.endpoint());
  }
  Arrival& arrival = receive.arrivals.push();
  arrival.grh = make_grh(from, to, header);
  Packet grh;
  grh.payload = arrival.grh.data();
  grh.header.payload_size = format::kGrhBytes;
  PayloadReader grh_reader(grh);
  PayloadReader payload(packet);
  DmaOp last;
  Fault fault = fill(core_, receive.qp, receive.wqe, grh_reader, format::kGrhBytes, last);
  if (!fault) fault = fill(core_, receive.qp, receive.wqe, payload, header.payload_size, last);
  receive.received = format::kGrhBytes + header.payload_size;
  op = arrival.op = core_.all_of(last);
  if (fault) return finish(receive, header, fault);
  complete_with(receive, arrival,
                has_immediate(header.opcode) ? format::CqeOpcode::responder_send_imm
                                             : format::CqeOpcode::responder_send,
                header);
  arrival.cqe.flags_rqpn = Be32{grh_flags(from, to, header) | header.deth.source_qpn};
  arrival.cqe.slid = Be16{from.lid};
  return finish(receive, header, {});
}

// One that begins a message is taken whatever its PSN: all before it that has not come is lost.
UnreliableResponder::Step UnreliableResponder::message(UnreliableReceive& receive,
                                                       const Packet& packet, DmaOp& op) {
  const PacketHeader& header = packet.header;
  const bool begins = starts_message(header.opcode);
  const Message kind = is_send(header.opcode) ? Message::send : Message::write;
  const bool is_next = header.psn == receive.expected_psn;
  const bool continues = is_next && receive.message == kind;
  const bool is_data =
      (is_send(header.opcode) && !invalidates(header.opcode)) || is_write(header.opcode);
  Step step = Step::dropped;
  if (begins) give_up(receive);
  if (is_data && (begins || continues)) {
    const bool right = is_cut_right(receive.connection, header, place_of(header.opcode));
    if (!right) {
      step = drop(receive, kRemoteInvalidRequest);
    } else {
      step = kind == Message::send ? send(receive, packet, op) : write(receive, packet, op);
    }
  }
  if (step == Step::again) return step;
  if (!is_next) ++receive.qp.counters.out_of_sequence;
  receive.expected_psn = psn_add(header.psn, header.psns);
  if (step == Step::dropped) give_up(receive);
  return step;
}

UnreliableResponder::Step UnreliableResponder::send(UnreliableReceive& receive,
                                                    const Packet& packet, DmaOp& op) {
  const PacketHeader& header = packet.header;
  if (const Step claimed = claim(receive); claimed != Step::done) return claimed;
  PayloadReader payload(packet);
  DmaOp last;
  const Fault fault = fill(core_, receive.qp, receive.wqe, payload, header.payload_size, last);
  receive.received += header.payload_size;
  receive.message = ends_message(header.opcode) ? Message::none : Message::send;
  Arrival& arrival = receive.arrivals.push();
  op = arrival.op = core_.all_of(last);
  if (!fault && ends_message(header.opcode)) {
    complete_with(receive, arrival,
                  has_immediate(header.opcode) ? format::CqeOpcode::responder_send_imm
                                               : format::CqeOpcode::responder_send,
                  header);
  }
  return finish(receive, header, fault);
}

UnreliableResponder::Step UnreliableResponder::begin_write(UnreliableReceive& receive,
                                                           const PacketHeader& header) {
  const Reth& reth = header.reth;
  if (!allows(receive.qp.settings.access, Access::remote_write) || reth.length > kLongestMessage) {
    return drop(receive, kRemoteInvalidRequest);
  }
  if (reth.length != 0) {
    const Translation whole =
        core_.keys.translate(reth.rkey, receive.qp.attributes.pd, receive.qp.number, reth.address,
                             reth.length, Access::remote_write);
    if (whole.fault != KeyFault::none) return drop(receive, kRemoteAccess);
  }
  receive.rkey = reth.rkey;
  receive.address = reth.address;
  receive.remaining = reth.length;
  return Step::done;
}

UnreliableResponder::Step UnreliableResponder::write(UnreliableReceive& receive,
                                                     const Packet& packet, DmaOp& op) {
  const PacketHeader& header = packet.header;
  if (has_immediate(header.opcode)) {
    if (const Step claimed = claim(receive); claimed != Step::done) return claimed;
  }
  if (starts_message(header.opcode)) {
    if (const Step begun = begin_write(receive, header); begun != Step::done) return begun;
  }
  const bool last = ends_message(header.opcode);
  const std::uint32_t size = header.payload_size;
  if (size > receive.remaining || (last && size != receive.remaining)) {
    return drop(receive, kRemoteInvalidRequest);
  }
  // Looked up with each packet: the key may have gone since the first.
  const KeyUse use{receive.rkey, receive.qp.attributes.pd, receive.qp.number, Access::remote_write};
  PayloadReader payload(packet);
  const bool ends = last && core_.orders_ends;
  const KeyFault fault = payload.move_to(core_, use, receive.address, size, op, ends);
  op = core_.all_of(op);
  if (fault != KeyFault::none) return drop(receive, kRemoteAccess);
  receive.address += size;
  receive.remaining -= size;
  receive.received += size;
  receive.message = last ? Message::none : Message::write;
  if (last) ++receive.qp.counters.rx_write_requests;
  Arrival& arrival = receive.arrivals.push();
  arrival.op = op;
  if (has_immediate(header.opcode)) {
    complete_with(receive, arrival, format::CqeOpcode::responder_write_imm, header);
  }
  return finish(receive, header, {});
}

// The message is complete once the packet's bytes are there.
void UnreliableResponder::complete_with(const UnreliableReceive& receive, Arrival& arrival,
                                        format::CqeOpcode opcode,
                                        const PacketHeader& header) const {
  arrival.completes = true;
  arrival.cqe = make_cqe(receive.qp, opcode, receive.wqe.index);
  arrival.cqe.op_own = format::op_own(opcode, false, header.solicited);
  arrival.cqe.byte_cnt = Be32{receive.received};
  arrival.cqe.imm_inval_pkey = Be32{header.imm};
  const std::uint32_t service_level = header.service_level;
  arrival.cqe.flags_rqpn = Be32{service_level << 24 | receive.connection.remote_qpn};
}

Turn UnreliableResponder::work(UnreliableReceive& receive) {
  Turn turn;
  QpCommon& qp = receive.qp;
  for (; !receive.arrivals.empty(); receive.arrivals.pop()) {
    Arrival& arrival = receive.arrivals.front();
    turn.pending = true;
    if (!core_.done(arrival.op)) return turn;
    if (arrival.completes && !core_.post_cqe(qp, *qp.receive_cq, arrival.cqe)) return turn;
    turn.worked = true;
  }
  turn.pending = false;
  if (receive.fault && qp.state != QpState::err) {
    fail(receive);
    turn.worked = true;
  }
  if (qp.state == QpState::err) turn |= flush(receive);
  return turn;
}

// The packet is in its place, or its receive WQE has failed.
UnreliableResponder::Step UnreliableResponder::finish(UnreliableReceive& receive,
                                                      const PacketHeader& header, Fault fault) {
  const Arrival& arrival = receive.arrivals[receive.arrivals.tail() - 1];
  if (fault) {
    count_error(receive.qp.counters, ErrorSide::responder, fault.syndrome);
    receive.fault = fault;
    return Step::done;
  }
  receive.qp.counters.bytes_received += header.payload_size;
  if (!arrival.completes) return Step::done;
  receive.claimed = false;
  receive.received = 0;
  return Step::done;
}

// The CQE of the claimed receive WQE tells of its error. Where a shared receive queue is broken,
// there is none.
void UnreliableResponder::fail(UnreliableReceive& receive) {
  QpError error;
  error.syndrome = receive.fault.syndrome;
  error.vendor_syndrome = receive.fault.vendor_syndrome;
  error.responder = true;
  std::optional<EventKind> event = EventKind::qp_fatal;
  if (receive.claimed) {
    error.wqe_index = receive.wqe.index;
    event.reset();
  }
  core_.fail(receive.qp, error, event);
}

// The claimed receive WQE carries the error that broke the queue pair, if it was that one's.
Turn UnreliableResponder::flush(UnreliableReceive& receive) {
  if (receive.source == nullptr) return {};
  if (receive.claimed) {
    if (!post_failed_receive(core_, receive.qp, receive.wqe.index, receive.fault)) {
      return {.pending = true};
    }
    receive.claimed = false;
  }
  return receive.source->flush(core_);
}

bool UnreliableResponder::return_receives(UnreliableReceive& receive) {
  for (; !receive.arrivals.empty(); receive.arrivals.pop()) {
    const Arrival& arrival = receive.arrivals.front();
    if (!arrival.completes) continue;
    if (!post_failed_receive(core_, receive.qp, arrival.cqe.wqe_counter, {})) return false;
  }
  if (receive.claimed && !post_failed_receive(core_, receive.qp, receive.wqe.index, {})) {
    return false;
  }
  receive.claimed = false;
  return true;
}

}  // namespace gdakit::softnic
