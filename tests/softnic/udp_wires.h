// Wires over UDP on this host's loopback interface.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "backends/softnic/wire/udp_wire.h"

namespace gdakit::softnic::test {

inline std::unique_ptr<UdpWire> wire_at(const std::string& address, const UdpOptions& options,
                                        std::uint32_t buffer = UdpSocket::kBufferBytes) {
  Result<UdpAddress> parsed = UdpAddress::parse(address);
  if (!parsed) throw std::runtime_error(parsed.error().message());
  Result<UdpSocket> socket = UdpSocket::open(*parsed, buffer);
  if (!socket) throw std::runtime_error(socket.error().message());
  Result<std::unique_ptr<UdpWire>> wire = UdpWire::create(std::move(*socket), options);
  if (!wire) throw std::runtime_error(wire.error().message());
  return std::move(*wire);
}

// A wire, and another one that is connected to it or not.
struct Two {
  explicit Two(const UdpOptions& options = {}) : wire(wire_at("127.0.0.1:0", options)) {
    EXPECT_TRUE(other->connect(0, wire->address()));
  }

  // An acknowledge from the other, with this PSN.
  void send(std::uint32_t psn, std::uint8_t traffic_class = 0) {
    Packet packet;
    packet.header.destination = 0;
    packet.header.opcode = PacketOpcode::acknowledge;
    packet.header.psn = psn;
    packet.header.traffic_class = traffic_class;
    packet.header.aeth = {};
    EXPECT_TRUE(other->send(packet));
    other->flush();
  }
  // The next packet, or null if none comes in time.
  const Packet* next() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      if (const Packet* const packet = wire->receive()) return packet;
    }
    return nullptr;
  }
  // Receives, and expects nothing, until a counter has the value.
  void drop_until(const std::uint64_t& counter, std::uint64_t value) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (counter < value && std::chrono::steady_clock::now() < end) {
      EXPECT_EQ(wire->receive(), nullptr);
    }
    EXPECT_EQ(counter, value);
  }

  std::unique_ptr<UdpWire> wire;
  std::unique_ptr<UdpWire> other = wire_at("127.0.0.1:0", {.endpoint = 7});
};

}  // namespace gdakit::softnic::test
