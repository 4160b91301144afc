// The path of a queue pair: what its packets are marked with, how they are cut, and which of those
// that arrive are for it.
#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/softnic/engine_rig.h"
#include "tests/softnic/lossy_wire.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;
using format::Syndrome;

// A rig whose side a notes the headers of what it sends, and those of side b's.
struct Spied {
  explicit Spied(RigOptions options = {}) : rig(spy(std::move(options))) {}

  RigOptions spy(RigOptions options) {
    options.wrap_wire = [this](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
      const auto note = [this, side](const Packet& packet) {
        sent[side].push_back(packet.header);
        return false;
      };
      return std::make_unique<LossyWire>(std::move(wire), Losses{.drop = note});
    };
    return options;
  }

  std::vector<PacketHeader> sent[2];
  EngineRig rig;
};

// What arrives at b, in place of a's packets.
struct Stranger {
  Packet packet;
  EngineRig rig;
  std::uint8_t bytes[4] = {1, 2, 3, 4};

  Stranger() {
    packet.header.opcode = PacketOpcode::write_only;
    packet.header.destination = rig.b.wire->endpoint();
    packet.header.destination_qpn = rig.b.qpn;
    packet.header.reth = {rig.b.heap_address(0), rig.b.key, sizeof bytes};
    packet.header.payload_size = sizeof bytes;
    packet.payload = bytes;
  }
  // Whether the packet is executed, and not dropped.
  bool arrives(Wire& from) {
    EXPECT_TRUE(from.send(packet));
    from.flush();
    EXPECT_TRUE(rig.run());
    const NicCounters counters = rig.b.engine.counters();
    const bool executed = rig.b.word<std::uint32_t>(0) != 0;
    EXPECT_EQ(counters.packets_received, executed ? 1u : 0u);
    EXPECT_EQ(counters.dropped_packets + counters.pkey_violations, executed ? 0u : 1u);
    return executed;
  }
};

Wqe send_wqe(const EngineRig& rig, std::uint32_t size) {
  return {.opcode = Opcode::send, .body = {rig.a.data(0, size)}};
}

TEST(Path, MarksEachPacket) {
  RigOptions options;
  options.settings.path.service_level = 5;
  options.settings.path.traffic_class = 0xb8;
  options.settings.path.pkey = 0x8123;
  Spied spied(options);
  EngineRig& rig = spied.rig;
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 64)});
  rig.a.post(send_wqe(rig, 8));
  rig.a.post(read_wqe(rig, 64, 0, 8));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  for (const auto& packets : spied.sent) {
    ASSERT_FALSE(packets.empty());
    for (const PacketHeader& header : packets) {
      EXPECT_EQ(header.service, ServiceType::rc);
      EXPECT_EQ(header.service_level, 5);
      EXPECT_EQ(header.traffic_class, 0xb8);
      EXPECT_EQ(header.pkey, 0x8123);
    }
  }
}

// Of the packet: the receiver's own path may have another one.
TEST(Path, IsToldByTheReceiversCqe) {
  Stranger stranger;
  EngineRig& rig = stranger.rig;
  stranger.packet.header.opcode = PacketOpcode::send_only;
  stranger.packet.header.service_level = 9;
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 64)});
  EXPECT_TRUE(stranger.arrives(*rig.a.wire));
  const auto cqe = rig.b.receive_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->flags_rqpn, 9u << 24 | rig.a.qpn);
}

// One NIC has queue pairs of several MTUs.
TEST(PathMtu, SaysHowMessagesAreCutAndAPsnStandsForSoMuch) {
  for (const std::uint32_t mtu : {256u, 1024u, 4096u, 0u}) {
    RigOptions options;
    options.wire.mtu = 4096;  // a packet by reference is no longer than one by value
    options.settings.path.mtu = mtu;
    Spied spied(options);
    EngineRig& rig = spied.rig;
    constexpr std::uint32_t kSize = 10'000;
    fill(rig.a.heap.data(), kSize, 3);
    const std::uint32_t bytes = mtu == 0 ? 4096 : mtu;
    const std::uint32_t psns = (kSize + bytes - 1) / bytes;
    rig.b.post_receive({format::data(rig.b.heap_address(20'000), Be32{rig.b.key}, kSize)});
    rig.a.post(write_wqe(rig, 0, 0, kSize));
    rig.a.post(send_wqe(rig, kSize));
    rig.a.post(read_wqe(rig, 20'000, 0, kSize));
    rig.a.ring();
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.a.send_cq.poll_all().size(), 3u);
    EXPECT_EQ(std::memcmp(rig.b.heap.data(), rig.a.heap.data(), kSize), 0);
    EXPECT_EQ(std::memcmp(rig.b.heap.data() + 20'000, rig.a.heap.data(), kSize), 0);
    EXPECT_EQ(std::memcmp(rig.a.heap.data() + 20'000, rig.a.heap.data(), kSize), 0);
    EXPECT_EQ(rig.a.info().next_send_psn, 3 * psns);
    for (const PacketHeader& header : spied.sent[0]) {
      EXPECT_EQ(header.psns, std::max(1u, (header.payload_size + bytes - 1) / bytes));
    }
  }
}

// Payload by value has one PSN a packet, as on a wire between hosts.
TEST(PathMtu, IsTheLongestPayloadByValue) {
  RigOptions options;
  options.settings.path.mtu = 512;
  std::uint32_t longest = 0;
  options.wrap_wire = [&](std::unique_ptr<Wire> wire, int) -> std::unique_ptr<Wire> {
    Losses losses;
    losses.by_value = true;
    losses.drop = [&](const Packet& packet) {
      longest = std::max(longest, packet.header.payload_size);
      return false;
    };
    return std::make_unique<LossyWire>(std::move(wire), losses);
  };
  EngineRig rig(options);
  fill(rig.a.heap.data(), 5000, 9);
  rig.a.post(write_wqe(rig, 0, 0, 5000));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(std::memcmp(rig.b.heap.data(), rig.a.heap.data(), 5000), 0);
  EXPECT_EQ(longest, 512u);
  EXPECT_EQ(rig.a.info().next_send_psn, 10u);
}

// Peers that disagree find out: nothing is taken for something else.
TEST(PathMtu, ThatThePeerDoesNotHaveFailsTheQueue) {
  for (const bool by_value : {false, true}) {
    for (const std::uint32_t mtu : {256u, 4096u}) {
      for (const Opcode opcode : {Opcode::rdma_write, Opcode::send, Opcode::rdma_read}) {
        RigOptions options;
        options.settings.path.mtu = mtu;
        options.settings.ack_timeout = 5;
        options.settings.retry_count = 1;
        if (by_value) {
          options.wrap_wire = [](std::unique_ptr<Wire> wire, int) -> std::unique_ptr<Wire> {
            return std::make_unique<LossyWire>(std::move(wire), Losses{.by_value = true});
          };
        }
        EngineRig rig(options);
        QpModify other = options.settings;
        other.access = Access::all;
        other.path.mtu = mtu == 256 ? 4096 : 256;
        other.state = QpState::reset;
        ASSERT_TRUE(rig.b.engine.modify_qp(rig.b.qpn, other));
        EngineRig::connect(rig.b, rig.a, other, 0x800000, 0);
        rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 20'000)});
        Wqe wqe = opcode == Opcode::rdma_read ? read_wqe(rig, 0, 0, 20'000)
                                              : write_wqe(rig, 0, 0, 20'000);
        if (opcode == Opcode::send) wqe = send_wqe(rig, 20'000);
        rig.a.post(wqe);
        rig.a.ring();
        ASSERT_TRUE(rig.run_until([&] { return rig.a.info().state == QpState::err; }))
            << mtu << (by_value ? " by value" : " by reference") << ", opcode "
            << static_cast<int>(opcode);
        ASSERT_TRUE(rig.run());
        const auto cqe = rig.a.send_cq.poll();
        ASSERT_TRUE(cqe);
        EXPECT_EQ(opcode_of(*cqe), CqeOpcode::requester_error);
        EXPECT_EQ(syndrome_of(*cqe), opcode == Opcode::rdma_read
                                         ? Syndrome::bad_response
                                         : Syndrome::remote_invalid_request);
      }
    }
  }
}

TEST(PathMtu, IsAPowerOfTwoThatTheWireCarries) {
  EngineRig rig;
  QpModify modify{.state = QpState::reset};
  ASSERT_TRUE(rig.b.engine.modify_qp(rig.b.qpn, modify));
  modify.state = QpState::init;
  ASSERT_TRUE(rig.b.engine.modify_qp(rig.b.qpn, modify));
  modify.state = QpState::rtr;
  for (const std::uint32_t mtu : {1u, 128u, 255u, 1000u, 8192u, 0x80000000u}) {
    modify.path.mtu = mtu;
    EXPECT_EQ(rig.b.engine.modify_qp(rig.b.qpn, modify).status().syndrome,
              CommandSyndrome::modify_qp_path_mtu)
        << mtu;
  }
  modify.path.mtu = 4096;
  EXPECT_TRUE(rig.b.engine.modify_qp(rig.b.qpn, modify));
}

TEST(Partition, HasFullMembersAndOthersThatReachThoseAlone) {
  EXPECT_TRUE(same_partition(0xffff, 0xffff));
  EXPECT_TRUE(same_partition(0x8005, 0x0005));
  EXPECT_TRUE(same_partition(0x0005, 0x8005));
  EXPECT_FALSE(same_partition(0x0005, 0x0005)) << "two limited members";
  EXPECT_FALSE(same_partition(0x8005, 0x8006));
}

TEST(Delivery, IsByDestinationQueuePairFromThePeersNic) {
  Stranger of_peer;
  EXPECT_TRUE(of_peer.arrives(*of_peer.rig.a.wire));
  Stranger of_another;
  const std::unique_ptr<Wire> another = std::move(*of_another.rig.fabric->attach());
  EXPECT_FALSE(of_another.arrives(*another));
  Stranger to_another;
  to_another.packet.header.destination_qpn = to_another.rig.b.qpn + 1;
  EXPECT_FALSE(to_another.arrives(*to_another.rig.a.wire));
}

TEST(Delivery, IsByServiceType) {
  for (const ServiceType service : {ServiceType::uc, ServiceType::ud, ServiceType::xrc}) {
    Stranger stranger;
    stranger.packet.header.service = service;
    EXPECT_FALSE(stranger.arrives(*stranger.rig.a.wire));
  }
}

TEST(Delivery, IsWithinAPartition) {
  Stranger limited;
  limited.packet.header.pkey = 0x7fff;
  EXPECT_TRUE(limited.arrives(*limited.rig.a.wire));
  Stranger other;
  other.packet.header.pkey = 0x8001;
  EXPECT_FALSE(other.arrives(*other.rig.a.wire));
  EXPECT_EQ(other.rig.b.engine.counters().pkey_violations, 1u);
}

// Nobody else's answer completes a WQE.
TEST(Delivery, OfAnswersIsTheSame) {
  const auto completes = [](const std::function<void(Packet&)>& change, bool from_peer) {
    EngineRig rig;
    const std::unique_ptr<Wire> another = std::move(*rig.fabric->attach());
    rig.a.post(write_wqe(rig, 0, 0, 8));
    rig.a.ring();
    rig.a.engine.step(++rig.now_ns);
    Packet packet;
    packet.header.destination = rig.a.wire->endpoint();
    packet.header.destination_qpn = rig.a.qpn;
    packet.header.aeth = {};
    change(packet);
    Wire& from = from_peer ? *rig.b.wire : *another;
    EXPECT_TRUE(from.send(packet));
    from.flush();
    for (int i = 0; i < 10; ++i) rig.a.engine.step(++rig.now_ns);
    return rig.a.info().send_completed == 1;
  };
  const auto as_it_is = [](Packet&) {};
  EXPECT_TRUE(completes(as_it_is, true));
  EXPECT_FALSE(completes(as_it_is, false));
  EXPECT_FALSE(completes([](Packet& packet) { packet.header.pkey = 0x8001; }, true));
  EXPECT_FALSE(completes([](Packet& packet) { packet.header.service = ServiceType::uc; }, true));
}

}  // namespace
}  // namespace gdakit::softnic::test
