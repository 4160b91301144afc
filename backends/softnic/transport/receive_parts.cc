#include "backends/softnic/transport/receive_parts.h"

#include <algorithm>

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

}  // namespace gdakit::softnic
