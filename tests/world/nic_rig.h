// Two PEs with a simulated NIC each and one thread each, for tests that act by hand: no scheduler,
// no kernel.
//
//   NicRig rig;                          // PE 0's queue is connected to PE 1's
//   rig.begin(chooser);
//   rig.post(0, write_wqe(...));         // stores of thread 0
//   rig.run();                           // until no NIC has work, by the chooser's choices
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/format/wqe.h"
#include "sim/choice/choice.h"
#include "sim/weak/memory.h"
#include "sim/world/nic_agent.h"

namespace gdakit::sim::test {

// Picks what a function says; without one, always 0.
class Script final : public Strategy {
 public:
  using Pick = std::function<std::uint32_t(Choice, std::uint32_t)>;
  explicit Script(Pick pick = {}) : pick_(std::move(pick)) {}

  bool begin() override { return true; }
  std::uint32_t pick(Choice kind, std::uint32_t count) override {
    return pick_ ? pick_(kind, count) : 0;
  }
  std::uint32_t pick_agent(std::span<const Candidate>) override { return 0; }

 private:
  Pick pick_;
};

// Runs `execution` once for each possible sequence of picks and collects what it returns.
std::set<std::string> outcomes(const std::function<std::string(Chooser&)>& execution);

class RigNames final : public weak::Names {
 public:
  explicit RigNames(const class NicRig& rig) : rig_(rig) {}
  std::string place(weak::Address address) const override;
  std::string agent(weak::AgentId agent) const override;

 private:
  const class NicRig& rig_;
};

class NicRig {
 public:
  static constexpr std::uint32_t kPes = 2;
  static constexpr std::uint32_t kLogDepth = 3;
  // Offsets in a PE.
  static constexpr std::uint64_t kSlots = 0;
  static constexpr std::uint64_t kCqe = 0x200;
  static constexpr std::uint64_t kRecord = 0x240;
  static constexpr std::uint64_t kSink = 0x280;
  static constexpr std::uint64_t kSignal = 0x2c0;
  static constexpr std::uint64_t kHeap = 0x400;
  static constexpr std::uint64_t kHeapBytes = 0x400;
  static constexpr std::uint64_t kHost = 0x800;  // host memory
  static constexpr std::uint64_t kBytes = 0xc00;

  explicit NicRig(const Knobs& given = {});

  // A new execution: threads, NICs, connected queues. `bare`: memory and threads only.
  void begin(Chooser& chosen, Trace* trace = nullptr, bool bare = false);

  softnic::DmaAddress at(std::uint64_t offset) const { return {space.arena_base + offset}; }
  weak::Address model(std::uint32_t pe, std::uint64_t offset) const {
    return pe * space.bytes_per_pe + offset;
  }
  PortPlace port_place(std::uint32_t pe) const;

  // Accesses of PE pe's thread.
  void store(std::uint32_t pe, std::uint64_t offset, std::uint64_t value,
             weak::Sem sem = weak::Sem::weak);
  std::uint64_t load(std::uint32_t pe, std::uint64_t offset, weak::Sem sem = weak::Sem::weak);
  void release(std::uint32_t pe, Scope scope = Scope::system);

  // Thread pe writes the WQE into the next slot.
  void write_wqe(std::uint32_t pe, format::Opcode opcode, std::vector<format::Segment> body);
  void store_record(std::uint32_t pe);
  void ring(std::uint32_t pe) { ring(pe, producers[pe]); }
  void ring(std::uint32_t pe, std::uint64_t producer);
  // All of it, with the fences.
  void post(std::uint32_t pe, format::Opcode opcode, std::vector<format::Segment> body);

  format::Segment remote(std::uint64_t offset) const;
  format::Segment local(std::uint64_t offset, std::uint32_t bytes) const;

  // Both NICs in turn, until neither has work.
  void run();
  bool has_work() const;

  Knobs knobs;
  AddressSpace space{0x7000000000, kBytes};
  Layout layout;
  RigNames names{*this};
  weak::Memory memory;
  std::unique_ptr<SimFabric> fabric;
  std::unique_ptr<NicAgent> nics[kPes];
  weak::AgentId threads[kPes] = {};
  weak::AgentId stranger = 0;  // a thread of a third GPU
  std::uint64_t producers[kPes] = {};
  softnic::UarNumber uar = 0;
  softnic::QpNumber qpn = 0;
  softnic::MemoryKey key = 0;

 private:
  void make_objects(std::uint32_t pe);
};

}  // namespace gdakit::sim::test
