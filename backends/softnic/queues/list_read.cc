#include "backends/softnic/queues/list_read.h"

#include <utility>

#include "backends/softnic/dma/on_demand.h"

namespace gdakit::softnic {

// What was read for a WQE that has been given up is waited for, and dropped.
bool ListRead::read(QueueCore& core, const QpCommon& qp, std::uint64_t wqe, KeyChange& change,
                    Fault& fault) {
  if (reading_ && !core.done(op_)) return false;
  if (!reading_ || wqe_ != wqe) {
    fault_ = begin(core, qp, *change.entries_at);
    reading_ = true;
    wqe_ = wqe;
    if (!core.done(op_)) return false;
  }
  reading_ = false;
  fault = fault_;
  if (fault) return true;
  change.entries = std::move(entries_);
  change.entries_at.reset();
  return true;
}

Fault ListRead::begin(QueueCore& core, const QpCommon& qp, const KeyChange::Place& place) {
  op_ = {};
  // Every piece is named by keys before any is read.
  const KeyFault absent = core.keys.check_pieces(place.lkey, qp.attributes.pd, qp.number,
                                                 place.iova, place.bytes, Access::local_read);
  if (absent != KeyFault::none) return kLocalProtection;
  entries_.assign(place.bytes / sizeof(KeyListEntry), {});
  const Fault fault = read_pieces(core, qp, place);
  if (op_.id != 0) op_ = core.port.read_fence();
  return fault;
}

// Some of it may be under way though a piece that is paged on demand is not there.
Fault ListRead::read_pieces(QueueCore& core, const QpCommon& qp, const KeyChange::Place& place) {
  auto* const to = reinterpret_cast<std::uint8_t*>(entries_.data());
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
  return {};
}

}  // namespace gdakit::softnic
