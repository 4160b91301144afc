#include "backends/softnic/queues/list_read.h"

#include <utility>

#include "backends/softnic/dma/on_demand.h"

namespace gdakit::softnic {

// What was read for a WQE that has been given up is waited for, and dropped.
bool ListRead::read(QueueCore& core, const QpCommon& qp, std::uint64_t wqe, KeyChange& change,
                    Fault& fault) {
  if (reading_ && !core.done(op_)) return false;
  if (!reading_ || wqe_ != wqe) {
    reading_ = false;
    fault = begin(core, qp, *change.entries_at);
    if (fault) return true;
    reading_ = true;
    wqe_ = wqe;
    if (!core.done(op_)) return false;
  }
  reading_ = false;
  change.entries = std::move(entries_);
  change.entries_at.reset();
  return true;
}

Fault ListRead::begin(QueueCore& core, const QpCommon& qp, const KeyChange::Place& place) {
  // Every piece is there before any is read.
  const KeyFault absent = core.keys.check_pieces(place.lkey, qp.attributes.pd, qp.number,
                                                 place.iova, place.bytes, Access::local_read);
  if (absent != KeyFault::none) return kLocalProtection;
  entries_.assign(place.bytes / sizeof(KeyListEntry), {});
  auto* const to = reinterpret_cast<std::uint8_t*>(entries_.data());
  op_ = {};
  for (std::uint64_t at = 0; at != place.bytes;) {
    const MemoryRange piece = core.keys
                                  .translate(place.lkey, qp.attributes.pd, qp.number,
                                             place.iova + at, place.bytes - at, Access::local_read)
                                  .piece;
    if (!is_on_demand(piece.base)) {
      const DmaOp op = core.port.read(to + at, piece.base, piece.length);
      if (op.id != 0) op_ = op;
    } else if (!read_on_demand(to + at, piece.base, piece.length)) {
      return kLocalProtection;
    }
    at += piece.length;
  }
  if (op_.id != 0) op_ = core.port.read_fence();
  return {};
}

}  // namespace gdakit::softnic
