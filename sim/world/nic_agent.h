// NicAgent: a soft ConnectX inside a simulated world. The engine is the one that runs on host
// threads; only its port, its wire and the way doorbells reach it are simulated.
//
//   threads --store_mmio--> Doorbells --+
//                                       v
//   memory model <--atoms-- SimDma <-> Engine <-> SimWire <-> other NICs
//
// Whoever schedules calls go() when it is the NIC's turn: one bounded piece of work, which of the
// possible ones is chosen by Choice::delivery. A NicAgent lives for one execution.
//
// The engine's own sweep of doorbell records is switched off. A look at a record is a choice like
// any other here, and is made as the engine knows it: by a doorbell that announces nothing new.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/softnic/engine/engine.h"
#include "sim/choice/choice.h"
#include "sim/weak/memory.h"
#include "sim/world/dma_port.h"
#include "sim/world/doorbells.h"
#include "sim/world/knobs.h"
#include "sim/world/region.h"
#include "sim/world/sim_wire.h"

namespace gdakit::sim {

class NicAgent {
 public:
  // All references outlive the agent, and so do the addresses that initiators of DC name, if there
  // are any. Adds its agents to the memory, which has begun its execution and made no access yet.
  NicAgent(weak::Memory& memory, Chooser& chooser, const Knobs& knobs, const AddressSpace& space,
           const Layout& layout, SimFabric& fabric, const PortPlace& place,
           softnic::AddressResolver* addresses = nullptr);
  NicAgent(const NicAgent&) = delete;
  NicAgent& operator=(const NicAgent&) = delete;
  ~NicAgent();

  // The agent that receives doorbells, reads, and writes in order.
  weak::AgentId agent() const { return port_.agent(); }
  // Whether an agent of the memory is one of this NIC's.
  bool owns(weak::AgentId agent) const { return port_.owns(agent); }

  // The control path goes to the engine directly.
  softnic::Engine& engine() { return engine_; }
  // Names a queue pair whose record the NIC may look at without a doorbell.
  void watch(softnic::QpNumber qpn, softnic::UarNumber uar);

  // A thread's store to a doorbell register.
  void store_doorbell(weak::AgentId thread, softnic::UarNumber uar, std::uint32_t offset,
                      std::uint64_t value) {
    doorbells_.store(thread, uar, offset, value);
  }

  // Whether go() has something to do at this time, unasked looks at doorbell records included.
  // Asked before every step of every thread.
  bool can_go(std::uint64_t now_ns) const { return has_work(now_ns) || may_look(); }
  // The same without these.
  bool has_work(std::uint64_t now_ns) const {
    return port_.pending() || doorbells_.deliverable() != 0 || engine_ready(now_ns);
  }
  void go(std::uint64_t now_ns);
  // When time must pass for the engine to go on.
  std::optional<std::uint64_t> next_timer_ns() const { return engine_.next_timer_ns(); }
  // When nobody can go on: looks at every record for doorbells that were lost, unless the knobs
  // forbid it. True if that has found something.
  bool idle_turn(std::uint64_t now_ns);
  // Works until nothing is left, without choices of its own: set-up and teardown. True if there was
  // anything to do.
  bool run_plainly(std::uint64_t now_ns);

 private:
  enum class Work : std::uint8_t { dma, engine, doorbell, look };
  struct Watched {
    softnic::QpNumber qpn = 0;
    softnic::UarNumber uar = 0;
    std::uint64_t looked_at = 0;  // the memory's version then
  };
  struct WorkList {
    Work items[4];
    std::uint32_t count = 0;
  };

  WorkList possible(std::uint64_t now_ns) const;
  bool engine_ready(std::uint64_t now_ns) const {
    if (news_ || wire_.arrivals() != seen_arrivals_ || port_.completions() != seen_completions_) {
      return true;
    }
    const auto timer = engine_.next_timer_ns();
    return timer && *timer <= now_ns;
  }
  // Looking again makes sense only after something was written.
  bool may_look(const Watched& watched) const {
    return knobs_.record_read == RecordRead::early && memory_.version() != watched.looked_at;
  }
  bool may_look() const {
    if (knobs_.record_read != RecordRead::early) return false;
    for (const Watched& watched : watched_) {
      if (may_look(watched)) return true;
    }
    return false;
  }
  void step(std::uint64_t now_ns);
  void ring(Doorbells::Arrived doorbell);
  void deliver();
  void look_somewhere();
  void look(Watched& watched);
  std::uint64_t announced() const;

  weak::Memory& memory_;
  Chooser& chooser_;
  const Knobs& knobs_;
  SimDma port_;
  SimWire wire_;
  Doorbells doorbells_;
  softnic::Engine engine_;
  std::vector<Watched> watched_;
  bool news_ = true;                    // the engine has something to do
  std::uint64_t seen_arrivals_ = 0;     // packets that the engine knows of
  std::uint64_t seen_completions_ = 0;  // DMA operations
  std::uint64_t went_ns_ = 0;           // when it went last
  // The memory's version when it went after a long time: what was written so long ago is seen.
  std::uint64_t settled_version_ = ~std::uint64_t{0};
};

}  // namespace gdakit::sim
