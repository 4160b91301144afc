#include "sim/world/sim_wire.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "backends/softnic/wire/packet_name.h"
#include "core/base/assert.h"

namespace gdakit::sim {

SimFabric::Flying* SimFabric::take() {
  ++in_flight_;
  if (free_.empty()) {
    packets_.push_back(std::make_unique<Flying>());
    return packets_.back().get();
  }
  Flying* const flying = free_.back();
  free_.pop_back();
  return flying;
}

void SimFabric::give_back(Flying* flying) {
  flying->known.clock.clear();
  flying->known.events.clear();
  free_.push_back(flying);
  --in_flight_;
}

SimWire::SimWire(SimFabric& fabric, softnic::Endpoint endpoint, weak::AgentId agent,
                 std::uint32_t lane)
    : fabric_(fabric), endpoint_(endpoint), agent_(agent), lane_(lane) {
  if (fabric_.wires_.size() <= endpoint) fabric_.wires_.resize(endpoint + 1);
  GDAKIT_ASSERT(fabric_.wires_[endpoint] == nullptr);
  fabric_.wires_[endpoint] = this;
}

SimWire::~SimWire() {
  fabric_.wires_[endpoint_] = nullptr;
  for (SimFabric::Flying* flying : arrived_) fabric_.give_back(flying);
  for (SimFabric::Flying* flying : held_) fabric_.give_back(flying);
}

void SimWire::note(const char* what, const softnic::Packet& packet) {
  if (!fabric_.memory_.tracing()) return;
  Event event{.lane = lane_, .kind = EventKind::packet};
  event.what = std::string(softnic::packet_name(packet.header.opcode)) + " " + what;
  fabric_.memory_.note(std::move(event));
}

// Where acknowledges come early, what the responder has done is told by READ responses alone.
bool SimWire::carries_knowledge(const softnic::Packet& packet) const {
  const softnic::PacketOpcode opcode = packet.header.opcode;
  return fabric_.knobs_.early_acks == YesNo::no || !softnic::is_response(opcode) ||
         softnic::is_read_response(opcode);
}

bool SimWire::send(const softnic::Packet& packet) {
  GDAKIT_ASSERT(packet.header.fragment_count == 0 && packet.header.payload_size <= kSimMtu);
  const bool loses =
      fabric_.knobs_.wire_loss == YesNo::yes && fabric_.lost_ < SimFabric::kMostLosses;
  if (loses && fabric_.chooser_.choose(Choice::fault, 2) != 0) {
    ++fabric_.lost_;
    note("packet is sent and lost", packet);
    return true;
  }
  deliver(packet);
  const bool repeats = fabric_.knobs_.wire_repeats == YesNo::yes;
  if (repeats && fabric_.chooser_.choose(Choice::fault, 2) != 0) deliver(packet);
  return true;
}

void SimWire::deliver(const softnic::Packet& packet) {
  const softnic::Endpoint to = packet.header.destination;
  SimWire* const peer = to < fabric_.wires_.size() ? fabric_.wires_[to] : nullptr;
  if (peer == nullptr) return;
  note("packet is sent", packet);
  SimFabric::Flying* const flying = fabric_.take();
  flying->packet = packet;
  flying->packet.header.source = endpoint_;
  if (packet.header.payload_size != 0) {
    std::memcpy(flying->payload, packet.payload, packet.header.payload_size);
  }
  flying->packet.payload = flying->payload;
  if (carries_knowledge(packet)) {
    fabric_.memory_.arrive(agent_, flying->known, "packet leaves", EventKind::packet);
  }
  peer->arrived_.push_back(flying);
  ++peer->arrivals_;
}

const softnic::Packet* SimWire::receive() {
  if (arrived_.empty()) return nullptr;
  SimFabric::Flying* const flying = arrived_.front();
  arrived_.pop_front();
  held_.push_back(flying);
  if (carries_knowledge(flying->packet)) {
    fabric_.memory_.leave(agent_, flying->known, "packet arrives", nullptr, EventKind::packet);
    if (places_in_any_order(fabric_.knobs_)) sender_knew_ = flying->known;
  }
  return &flying->packet;
}

void SimWire::retire(const softnic::Packet* packet) {
  const auto found = std::find_if(held_.begin(), held_.end(), [packet](const auto* flying) {
    return &flying->packet == packet;
  });
  GDAKIT_ASSERT(found != held_.end());
  fabric_.give_back(*found);
  held_.erase(found);
}

}  // namespace gdakit::sim
