#include "backends/softnic/engine/removals.h"

#include <algorithm>

namespace gdakit::softnic {

std::vector<Recall::Taken> Removals::add(Removed removed) {
  RecallScope scope{.key = removed.key};
  if (removed.qp != nullptr) scope.requester = removed.qp->common.number;
  Recall recall = core_.wire.recall(scope);
  std::vector<Recall::Taken> taken = std::move(recall.taken);
  Removal& removal = removals_.emplace_back();
  removal.number = ++last_;
  removal.removed = std::move(removed);
  const Qp* const qp = removal.removed.qp.get();
  removal.returns = qp != nullptr && qp->holds_shared_receives();
  if (removal.returns && qp->common.receive_cq != nullptr) ++qp->common.receive_cq->users;
  removal.own = core_.port.fence();
  removal.recall = std::move(recall);
  return taken;
}

void Removals::forget(const Srq& srq) {
  for (Removal& removal : removals_) {
    Qp* const qp = removal.removed.qp.get();
    if (qp != nullptr && qp->common.attributes.is_xrc_target()) {
      Responder::forget(qp->receive, srq);
    }
  }
}

// This NIC's DMA is through: buffers that it filled serve others, however long peers take.
void Removals::give_back(Removed& removed) {
  if (removed.qp == nullptr) return;
  core_.give_back_buffers(removed.qp->connection);
  removed.qp->send_queue.give_back(core_);
}

// Nothing writes to their memory any more. False: not all CQEs are under way; the fence for what
// peers had queued is behind them, too.
bool Removals::return_receives(Removal& removal) {
  if (!removal.returns) return true;
  Qp& qp = *removal.removed.qp;
  core_.port.order_chain(qp.common.number);
  qp.common.counters = {};  // what was counted before, others have taken over
  const bool all = qp.unreliable != nullptr
                       ? unreliable_responder_.return_receives(qp.unreliable->receive)
                       : responder_.return_receives(qp.receive);
  core_.counters += qp.common.counters;
  if (!all) return false;
  removal.returns = false;
  if (qp.common.receive_cq != nullptr) --qp.common.receive_cq->users;
  return true;
}

bool Removals::ends(Removal& removal) {
  if (!removal.own_done && core_.done(removal.own) && return_receives(removal)) {
    removal.own_done = true;
    give_back(removal.removed);
  }
  if (!removal.own_done || !core_.wire.recalled(removal.recall)) return false;
  if (!removal.theirs) removal.theirs = core_.port.fence();
  return core_.done(*removal.theirs);
}

void Removals::step() {
  std::erase_if(removals_, [this](Removal& removal) {
    if (!ends(removal)) return false;
    for (const MemoryRange& range : removal.removed.memory) {
      core_.port.detach(range.base, range.length);
    }
    return true;
  });
}

const Removals::Removal* Removals::find(RemovalNumber number) const {
  const auto found = std::find_if(removals_.begin(), removals_.end(),
                                  [&](const Removal& r) { return r.number == number; });
  return found != removals_.end() ? &*found : nullptr;
}

bool Removals::left_to_peers(RemovalNumber number) const {
  const Removal* const removal = find(number);
  return removal != nullptr && removal->own_done && !removal->theirs;
}

bool Removals::wait_for_dma() const {
  return std::any_of(removals_.begin(), removals_.end(), [](const Removal& removal) {
    return !removal.own_done || removal.theirs.has_value();
  });
}

}  // namespace gdakit::softnic
