#include "core/format/doorbell.h"
#include "sim/world/world_run.h"

namespace gdakit::sim {

ProxyActor::ProxyActor(WorldRun& run, std::uint32_t pe, weak::AgentId agent)
    : run_(run),
      pe_(pe),
      agent_(agent),
      announced_(run.world.queue_count(), run.world.options().start_index) {}

bool ProxyActor::can_go(std::uint64_t) const { return run_.world.memory().version() != looked_at_; }

void ProxyActor::go(std::uint64_t) { turn(); }

bool ProxyActor::idle_turn(std::uint64_t) {
  run_.world.memory().set_fresh(agent_, true);
  const bool worked = turn();
  run_.world.memory().set_fresh(agent_, false);
  return worked;
}

// As core/host/proxy.cc does: acquire the index, release the record, then the doorbell.
bool ProxyActor::turn() {
  weak::Memory& memory = run_.world.memory();
  looked_at_ = memory.version();
  bool rang = false;
  const AddressSpace& space = run_.world.space();
  const auto at = [&](const void* pointer) {
    return space.model(pe_, reinterpret_cast<std::uint64_t>(pointer));
  };
  for (std::size_t i = 0; i < announced_.size(); ++i) {
    const QueueView& queue = run_.pes[pe_].views[i];
    const std::uint64_t index =
        memory.load(agent_, at(queue.proxy_index), 8, {weak::Sem::acquire, Scope::system});
    if (index <= announced_[i]) continue;
    announced_[i] = index;
    memory.store(agent_, at(queue.record), 4, format::doorbell_record_value(index).raw(),
                 {weak::Sem::release, Scope::system});
    memory.fence(agent_, weak::Sem::release, Scope::system);
    run_.store(pe_, agent_, space.offset(reinterpret_cast<std::uint64_t>(queue.doorbell)),
               format::doorbell_value(index, queue.qpn_shifted >> 8), nullptr);
    rang = true;
  }
  // A stale read: worth another look.
  if (memory.read_stale(agent_)) looked_at_ = ~std::uint64_t{0};
  memory.end_turn(agent_);
  return rang;
}

}  // namespace gdakit::sim
