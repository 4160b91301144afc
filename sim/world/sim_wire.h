// The wire of a simulated world: packets by value, in order for each pair of NICs.
//
// What the sender knows travels with each packet, and the receiver knows it from then on. PTX says
// nothing of NICs, but a packet is a consequence of what its sender has read and done, and what its
// receiver does is a consequence of the packet: without this, memory could run against causality
// through the network, which no hardware can. It gives a thread nothing for free: threads learn
// something only from what a NIC writes into their memory, and how much that covers is up to the
// DMA port (dma_port.h). By the knob early_acks an acknowledge tells nothing of what it answers.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "backends/softnic/wire/plain_wire.h"
#include "sim/choice/choice.h"
#include "sim/weak/memory.h"
#include "sim/world/knobs.h"

namespace gdakit::sim {

inline constexpr std::uint32_t kSimMtu = 256;

class SimWire;

// All wires of one world, for one execution. Its references outlive it.
class SimFabric {
 public:
  SimFabric(weak::Memory& memory, Chooser& chooser, const Knobs& knobs)
      : memory_(memory), chooser_(chooser), knobs_(knobs) {}
  SimFabric(const SimFabric&) = delete;
  SimFabric& operator=(const SimFabric&) = delete;

  // Packets sent and not retired.
  std::uint32_t in_flight() const { return in_flight_; }

 private:
  friend class SimWire;
  struct Flying {
    softnic::Packet packet;
    std::uint8_t payload[kSimMtu];
    weak::BarrierClock known;  // what the sender knew
  };

  Flying* take();
  void give_back(Flying* flying);

  weak::Memory& memory_;
  Chooser& chooser_;
  const Knobs& knobs_;
  std::vector<SimWire*> wires_;                   // by endpoint
  std::vector<std::unique_ptr<Flying>> packets_;  // all there are
  std::vector<Flying*> free_;
  // A queue pair tries seven times again and then takes its peer for dead, which is right. So no
  // execution loses that many packets.
  static constexpr std::uint32_t kMostLosses = 6;

  std::uint32_t in_flight_ = 0;
  std::uint32_t lost_ = 0;
};

class SimWire final : public softnic::PlainWire {
 public:
  // `agent` is the NIC's own agent, `lane` its lane in traces. The fabric outlives the wire.
  SimWire(SimFabric& fabric, softnic::Endpoint endpoint, weak::AgentId agent, std::uint32_t lane);
  ~SimWire() override;

  softnic::Endpoint endpoint() const override { return endpoint_; }
  std::uint32_t mtu() const override { return kSimMtu; }
  bool by_reference(const softnic::Packet&) const override { return false; }
  bool send(const softnic::Packet& packet) override;
  const softnic::Packet* receive() override;
  void retire(const softnic::Packet* packet) override;
  void flush() override {}

  // What the sender of the packet that was received last knew, if that told anything. A message
  // that waits for its receive WQE is placed later, and then goes by a packet that came behind it.
  const weak::BarrierClock& sender_knew() const { return sender_knew_; }
  // Packets that have arrived here so far, received or not.
  std::uint64_t arrivals() const { return arrivals_; }

 private:
  bool carries_knowledge(const softnic::Packet& packet) const;
  void deliver(const softnic::Packet& packet);
  void note(const char* what, const softnic::Packet& packet);

  SimFabric& fabric_;
  const softnic::Endpoint endpoint_;
  const weak::AgentId agent_;
  const std::uint32_t lane_;
  std::deque<SimFabric::Flying*> arrived_;  // to be received
  std::vector<SimFabric::Flying*> held_;    // received, to be retired
  weak::BarrierClock sender_knew_;
  std::uint64_t arrivals_ = 0;
};

}  // namespace gdakit::sim
