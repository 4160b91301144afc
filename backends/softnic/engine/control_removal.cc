// The control path: what happens to objects that are taken out of their tables.
#include "backends/softnic/engine/engine.h"

namespace gdakit::softnic {

// Takes the queue pair off every list. Its buffers stay until no DMA writes to them.
void Engine::bury(std::unique_ptr<Qp> qp, std::vector<MemoryRange> memory) {
  if (active_.holds(*qp)) active_.remove(*qp);
  if (connected_.holds(*qp)) connected_.remove(*qp);
  timers_.remove(qp->timer);
  if (qp->send.dc != nullptr) requester_.hang_up(qp->send);
  remove({.memory = std::move(memory), .qp = std::move(qp)});
}

void Engine::remove(Removed removed) {
  for (const Recall::Taken& packet : removals_.add(std::move(removed))) {
    Qp* const qp = qps_.find(packet.sender);
    if (qp == nullptr) continue;
    requester_.forgotten(qp->send, packet.psn);
    activate(*qp);
  }
}

bool Engine::removed(RemovalNumber number) {
  removals_.step();
  return removals_.ended(number);
}

bool Engine::drained() {
  removals_.step();
  return removals_.empty();
}

}  // namespace gdakit::softnic
