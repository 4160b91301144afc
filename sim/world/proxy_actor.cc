#include "sim/world/proxy_machine.h"
#include "sim/world/world_run.h"

namespace gdakit::sim {

ProxyActor::ProxyActor(WorldRun& run, std::uint32_t pe, weak::AgentId agent)
    : run_(run), pe_(pe), agent_(agent) {}

void ProxyActor::watch(const ProxiedQueue& queue) {
  queues_.push_back(queue);
  queues_.back().announced = run_.world.options().start_index;
}

bool ProxyActor::can_go(std::uint64_t) const { return run_.world.memory().version() != looked_at_; }

void ProxyActor::go(std::uint64_t) { turn(); }

bool ProxyActor::idle_turn(std::uint64_t) {
  run_.world.memory().set_fresh(agent_, true);
  const bool worked = turn();
  run_.world.memory().set_fresh(agent_, false);
  return worked;
}

// What core/host/proxy.cc does with each of its queues.
bool ProxyActor::turn() {
  weak::Memory& memory = run_.world.memory();
  looked_at_ = memory.version();
  SimProxyMachine machine(run_.around, pe_, agent_);
  bool worked = false;
  for (ProxiedQueue& queue : queues_) worked = proxied::turn(machine, queue) || worked;
  machine.finish();
  // A stale read: worth another look.
  if (memory.read_stale(agent_)) looked_at_ = ~std::uint64_t{0};
  memory.end_turn(agent_);
  return worked;
}

}  // namespace gdakit::sim
