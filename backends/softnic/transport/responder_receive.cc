// The receive queue: its doorbell record, its WQEs, scattering into them, and flushing in state
// err.
#include <algorithm>
#include <cstring>

#include "backends/softnic/transport/cqe_writer.h"
#include "backends/softnic/transport/payload.h"
#include "backends/softnic/transport/responder.h"
#include "core/format/doorbell.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kFlushesPerTurn = 64;
constexpr MemoryKey kEndOfList = 0x100;  // the lkey behind the last data segment of a receive WQE
constexpr Fault kFlushed{format::Syndrome::flushed, format::vendor::flushed};

// How the receive side calls what it has refused. The peer is told the same by a NAK, and calls it
// the remote side's.
Fault as_responder(Fault fault) {
  switch (fault.syndrome) {
    case format::Syndrome::remote_access: return {format::Syndrome::local_access, 0};
    case format::Syndrome::remote_invalid_request: return {format::Syndrome::local_qp_operation, 0};
    default: return fault;
  }
}

// A data segment of the current receive WQE.
ScatterSge sge_at(const ReceiveSide& receive, std::uint32_t index) {
  format::DataSegment data;
  std::memcpy(&data, &receive.wqe[index * sizeof data], sizeof data);
  const std::uint32_t size = data.byte_count == 0 ? 1u << 31 : data.byte_count & ~format::kInline;
  return {data.addr, size, data.lkey};
}

}  // namespace

// Takes over what the record says, if it has arrived; false while it is on its way.
bool Responder::update_producer(Qp& qp) {
  ReceiveSide& receive = qp.receive;
  const DmaAddress record =
      qp.attributes.doorbell_record + offsetof(format::DoorbellRecord, rcv_dbr);
  return core_.poll_record(receive.record, record, receive.producer, qp.receive_depth()) ||
         !receive.record.reading;
}

// Makes the next receive WQE the current one. Refused, with an RNR NAK, if none is posted.
Responder::Step Responder::acquire_receive(Qp& qp) {
  ReceiveSide& receive = qp.receive;
  if (receive.loaded) return Step::done;
  if (!qp.attributes.has_receive_queue) {
    return refuse(qp, Acknowledge::nak_invalid_request, kRemoteInvalidRequest);
  }
  if (receive.consumer == receive.producer) {
    if (!receive.record.reading) receive.record.wanted = true;
    if (!update_producer(qp)) return Step::again;
    if (receive.consumer == receive.producer) return refuse(qp, Acknowledge::rnr_nak);
  }
  return fetch_receive(qp);
}

Responder::Step Responder::fetch_receive(Qp& qp) {
  ReceiveSide& receive = qp.receive;
  const std::size_t stride = std::size_t{1} << qp.attributes.log_receive_stride;
  if (!receive.fetching) {
    const std::uint64_t slot = receive.consumer & (qp.receive_depth() - 1);
    receive.fetch_op =
        core_.port.read(receive.wqe.data(), qp.attributes.receive_queue + slot * stride, stride);
    receive.fetching = true;
  }
  if (!core_.done(receive.fetch_op)) return Step::again;
  receive.fetching = false;
  receive.sge_count = 0;
  const auto most = static_cast<std::uint32_t>(stride / sizeof(format::DataSegment));
  while (receive.sge_count != most && sge_at(receive, receive.sge_count).lkey != kEndOfList) {
    ++receive.sge_count;
  }
  receive.sge = 0;
  receive.sge_offset = 0;
  receive.loaded = true;
  return Step::done;
}

// Puts the packet's payload where the current receive WQE says.
Responder::Step Responder::scatter(Qp& qp, const Packet& packet, DmaOp& op) {
  ReceiveSide& receive = qp.receive;
  PayloadReader payload(packet);
  std::uint64_t left = packet.header.payload_size;
  DmaOp last;
  // What has been moved before is still read from the packet, which must stay until then.
  const auto refuse_rest = [&](Acknowledge nak, Fault fault) {
    op = core_.all_of(last);
    return refuse(qp, nak, fault);
  };
  while (left != 0) {
    if (receive.sge == receive.sge_count) {
      return refuse_rest(Acknowledge::nak_invalid_request, kLocalLength);
    }
    const ScatterSge sge = sge_at(receive, receive.sge);
    const std::uint64_t piece = std::min(left, sge.size - receive.sge_offset);
    const KeyUse use{sge.lkey, qp.attributes.pd, qp.number, Access::local_write};
    const std::uint64_t iova = sge.iova + receive.sge_offset;
    if (payload.move_to(core_, use, iova, piece, last) != KeyFault::none) {
      return refuse_rest(Acknowledge::nak_remote_operation, kLocalProtection);
    }
    left -= piece;
    receive.sge_offset += piece;
    if (receive.sge_offset == sge.size) {
      ++receive.sge;
      receive.sge_offset = 0;
    }
  }
  op = core_.all_of(last);
  return Step::done;
}

// In state err: every receive WQE that is posted completes in order, flushed.
Turn Responder::flush(Qp& qp) {
  ReceiveSide& receive = qp.receive;
  Turn turn;
  if (!qp.attributes.has_receive_queue) return turn;
  const bool idle = !receive.record.wanted && !receive.record.reading;
  if (!idle && !update_producer(qp)) {
    turn.pending = true;
    return turn;
  }
  for (std::uint32_t i = 0; i < kFlushesPerTurn && receive.consumer != receive.producer; ++i) {
    // The WQE that a message had taken carries the error that broke the queue.
    const bool broken = receive.loaded && receive.fault;
    const Fault fault = broken ? as_responder(receive.fault) : kFlushed;
    format::Cqe64 cqe = make_error_cqe(qp, format::CqeOpcode::responder_error,
                                       static_cast<std::uint16_t>(receive.consumer), 0, fault);
    if (!core_.post_cqe(*qp.receive_cq, cqe)) {
      turn.pending = true;
      return turn;
    }
    receive.loaded = false;
    ++receive.consumer;
    turn.worked = true;
  }
  turn.pending = receive.consumer != receive.producer;
  return turn;
}

}  // namespace gdakit::softnic
