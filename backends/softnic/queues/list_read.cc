#include "backends/softnic/queues/list_read.h"

#include <utility>

#include "backends/softnic/dma/on_demand.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kPiecesPerTurn = 1024;

}  // namespace

// What was read for a WQE that has been given up is waited for, and dropped.
bool ListRead::read(QueueCore& core, const QpCommon& qp, std::uint64_t wqe, KeyChange& change,
                    Fault& fault) {
  if (reading_ && !core.done(op_)) return false;
  if (!reading_ || wqe_ != wqe) begin(wqe, *change.entries_at);
  if (!is_read()) {
    fault_ = read_some(core, qp);
    if (!is_read() || !core.done(op_)) return false;
  }
  reading_ = false;
  fault = fault_;
  if (fault) return true;
  change.entries = std::move(entries_);
  change.entries_at.reset();
  return true;
}

void ListRead::begin(std::uint64_t wqe, const KeyChange::Place& place) {
  entries_.assign(place.bytes / sizeof(KeyListEntry), {});
  op_ = {};
  reading_ = true;
  place_ = place;
  at_ = 0;
  fault_ = {};
  wqe_ = wqe;
}

// A piece that is not there may be found when others are under way.
Fault ListRead::read_some(QueueCore& core, const QpCommon& qp) {
  auto* const to = reinterpret_cast<std::uint8_t*>(entries_.data());
  Fault fault;
  op_ = {};
  for (std::uint32_t i = 0; i < kPiecesPerTurn && at_ != place_.bytes && !fault; ++i) {
    const Translation found =
        core.keys.translate(place_.lkey, qp.attributes.pd, qp.number, place_.iova + at_,
                            place_.bytes - at_, Access::local_read);
    const MemoryRange& piece = found.piece;
    if (found.fault != KeyFault::none) {
      fault = kLocalProtection;
    } else if (!is_on_demand(piece.base)) {
      const DmaOp op = core.port.read(to + at_, piece.base, piece.length);
      if (op.id != 0) op_ = op;
    } else if (!read_on_demand(to + at_, piece.base, piece.length)) {
      fault = kLocalProtection;
    }
    at_ += piece.length;
  }
  if (op_.id != 0) op_ = core.port.read_fence();
  return fault;
}

}  // namespace gdakit::softnic
