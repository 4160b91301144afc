#include "backends/softnic/transport/receive_parts.h"

#include <algorithm>

#include "backends/softnic/queues/make_cqe.h"

namespace gdakit::softnic {

Fault fill(Core& core, const QpCommon& qp, ReceiveWqe& wqe, PayloadReader& payload,
           std::uint64_t size, DmaOp& last) {
  while (size != 0) {
    if (wqe.current == wqe.segment_count) return kLocalLength;
    const ReceiveWqe::Segment segment = wqe.segment(wqe.current);
    const std::uint64_t piece = std::min(size, segment.size - wqe.offset);
    const KeyUse use{segment.lkey, wqe.pd, qp.number, Access::local_write};
    if (payload.move_to(core, use, segment.iova + wqe.offset, piece, last) != KeyFault::none) {
      return kLocalProtection;
    }
    size -= piece;
    wqe.advance(piece);
  }
  return {};
}

bool post_failed_receive(Core& core, QpCommon& qp, std::uint16_t wqe_counter, Fault fault) {
  const Fault told = fault ? fault : kFlushed;
  format::Cqe64 cqe = make_error_cqe(qp, format::CqeOpcode::responder_error, wqe_counter, 0, told);
  if (!core.post_cqe(qp, *qp.receive_cq, cqe)) return false;
  ++qp.counters.resp_cqe_error;
  if (!fault) ++qp.counters.resp_cqe_flush_error;
  return true;
}

}  // namespace gdakit::softnic
