// The queue pair of a NIC that management datagrams go to, as QP 1 of real NICs: it takes them off
// the wire before the engine sees them, and its own go the way of all packets, with the wire's
// faults and captures.
//
//   engine -- MadWire -- the wire
//                 \-- MadPort
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

#include "backends/softnic/engine/nic.h"
#include "backends/softnic/uverbs/fabric.h"
#include "backends/softnic/wire/wrapped_wire.h"

namespace gdakit::softnic::uverbs {

inline constexpr std::size_t kMadBytes = 256;
using Mad = std::array<std::uint8_t, kMadBytes>;

// Numbers that programs get begin at 2.
constexpr QpNumber mad_qpn(Endpoint place) { return first_qpn(place) + 1; }
inline constexpr std::uint32_t kMadQkey = 0x80010000;  // of QP 1, by the specification

// Calls may come from any thread.
class MadPort {
 public:
  // Called by who runs the NIC's step: it notes the datagram, and calls nothing of the NIC.
  using Receiver = std::function<void(Endpoint from, const Mad& mad)>;

  // Around the wire. Once, before any other call.
  std::unique_ptr<Wire> wrap(std::unique_ptr<Wire> wire);

  // Null: all are lost. When it returns, the one before is not called any more.
  void set_receiver(Receiver receiver);
  // To the endpoint's, at a place of its host. Lost where there is no room.
  void send(Nic& nic, Endpoint to, const Mad& mad);

  void receive(const Packet& packet) const;  // of the wire's

 private:
  Wire* wire_ = nullptr;  // the NIC's
  mutable std::mutex mutex_;
  Receiver receiver_;
};

}  // namespace gdakit::softnic::uverbs
