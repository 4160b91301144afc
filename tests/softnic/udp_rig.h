// Two engines over UDP on this host's loopback interface.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <sys/socket.h>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/wait_clock.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/lossy_wire.h"
#include "tests/softnic/udp_wires.h"

namespace gdakit::softnic::test {

// A wire whose system refuses to cut trains: Linux does, of a socket without checksums.
inline std::unique_ptr<UdpWire> wire_without_trains(const UdpOptions& options,
                                                    std::uint32_t buffer) {
  Result<UdpSocket> socket = UdpSocket::open(*UdpAddress::parse("127.0.0.1:0"), buffer);
  const int on = 1;
  EXPECT_EQ(::setsockopt(socket->get(), SOL_SOCKET, SO_NO_CHECK, &on, sizeof on), 0);
  return std::move(*UdpWire::create(std::move(*socket), options));
}

struct UdpRigOptions {
  std::string a = "127.0.0.1:0";
  std::string b = "127.0.0.1:0";
  std::uint32_t mtu = 4096;
  std::uint32_t buffer = UdpSocket::kBufferBytes;
  bool refuses_trains = false;
  std::optional<TagKey> tag_key = {};
  Losses losses = {};
  QpModify settings = {};
};

// Engines whose wires are UDP's; time is the host's.
class UdpRig {
 public:
  explicit UdpRig(const UdpRigOptions& options = {})
      : made_{options.refuses_trains ? wire_without_trains(wire_options(options, 0), options.buffer)
                                     : wire_at(options.a, wire_options(options, 0), options.buffer),
              wire_at(options.b, wire_options(options, 1), options.buffer)},
        wires_{made_[0].get(), made_[1].get()},
        rig(rig_options(options)) {
    EXPECT_TRUE(at(0).connect(1, at(1).address()));
    EXPECT_TRUE(at(1).connect(0, at(0).address()));
  }

  UdpWire& at(int side) { return *wires_[static_cast<std::size_t>(side)]; }
  void step() {
    rig.now_ns = steady_ns();
    rig.a.engine.step(rig.now_ns);
    rig.b.engine.step(rig.now_ns);
  }
  // The next CQE of a's send queue.
  std::optional<format::Cqe64> next_cqe() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (std::chrono::steady_clock::now() < end) {
      if (const auto cqe = rig.a.send_cq.poll()) return cqe;
      step();
    }
    return {};
  }
  void expect_success(const Wqe& wqe) {
    rig.a.post(wqe);
    rig.a.ring();
    const auto cqe = next_cqe();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(opcode_of(*cqe), format::CqeOpcode::requester);
  }

 private:
  static UdpOptions wire_options(const UdpRigOptions& given, Endpoint endpoint) {
    return {.endpoint = endpoint, .mtu = given.mtu, .tag_key = given.tag_key};
  }
  RigOptions rig_options(const UdpRigOptions& given) {
    RigOptions options;
    options.settings = given.settings;
    options.log_sq = 9;
    options.settings.ack_timeout = 10;  // 4 ms
    options.wrap_wire = [=, this](std::unique_ptr<Wire>, int side) {
      return std::make_unique<LossyWire>(std::move(made_[static_cast<std::size_t>(side)]),
                                         given.losses);
    };
    return options;
  }

  std::array<std::unique_ptr<UdpWire>, 2> made_;
  std::array<UdpWire*, 2> wires_;

 public:
  EngineRig rig;
};

}  // namespace gdakit::softnic::test
