// Queue pairs of service type UD: datagrams, and how they find their way.
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/engine/status_text.h"
#include "backends/softnic/transport/grh.h"
#include "backends/softnic/wire/faulty_wire.h"
#include "backends/softnic/wire/shm_wire.h"
#include "tests/softnic/datagram_rig.h"
#include "tests/softnic/delayed_dma.h"
#include "tests/softnic/lossy_wire.h"
#include "tests/softnic/udp_wires.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;
using format::Syndrome;

constexpr std::size_t kTo = 1 << 16;
constexpr std::size_t kData = kTo + format::kGrhBytes;

bool has_arrived(const DatagramRig& rig, std::size_t from, std::size_t size) {
  return std::memcmp(rig.b.heap.data() + kData, rig.a.heap.data() + from, size) == 0;
}

class UdSizes : public testing::TestWithParam<std::uint32_t> {};

TEST_P(UdSizes, ADatagramArrivesBehindItsGrh) {
  DatagramRig rig;
  fill(rig.a.heap.data(), GetParam(), 1);
  rig.post_receive(kTo, 4096);
  rig.a.post(rig.datagram(0, GetParam()));
  rig.ring_and_run();
  const auto sent = rig.a.send_cq.poll();
  ASSERT_TRUE(sent);
  EXPECT_EQ(opcode_of(*sent), CqeOpcode::requester);
  const auto received = rig.b.receive_cq.poll();
  ASSERT_TRUE(received);
  EXPECT_EQ(opcode_of(*received), CqeOpcode::responder_send);
  EXPECT_EQ(received->byte_cnt, GetParam() + format::kGrhBytes);
  EXPECT_EQ(received->flags_rqpn, 0x1a000000u | rig.a.qpn);
  EXPECT_TRUE(has_arrived(rig, 0, GetParam()));
  PacketHeader header;
  header.opcode = PacketOpcode::send_only;
  header.payload_size = GetParam();
  header.traffic_class = 0x20;
  const Grh grh = make_grh(rig.address_of(rig.a), rig.address_of(rig.b), header);
  EXPECT_EQ(std::memcmp(rig.b.heap.data() + kTo, grh.data(), grh.size()), 0);
  EXPECT_EQ(rig.b.engine.counters().packets_sent, 0u);
  ASSERT_EQ(rig.addresses.asked.size(), 1u);
  EXPECT_EQ(rig.addresses.asked[0].qpn, rig.b.qpn);
}

INSTANTIATE_TEST_SUITE_P(Ud, UdSizes, testing::Values(0, 1, 64, 65, 4096));

TEST(Ud, InlineDatagramsArriveWithImmediateAndSolicited) {
  DatagramRig rig;
  const std::vector<std::uint8_t> bytes = {5, 4, 3};
  Wqe wqe = rig.datagram(0, 0);
  wqe.opcode = Opcode::send_imm;
  wqe.imm = 9;
  wqe.solicited = true;
  const auto data = inline_segments(bytes);
  wqe.body.insert(wqe.body.end(), data.begin(), data.end());
  rig.post_receive(kTo, 64);
  rig.a.post(wqe);
  rig.ring_and_run();
  const auto received = rig.b.receive_cq.poll();
  ASSERT_TRUE(received);
  EXPECT_EQ(opcode_of(*received), CqeOpcode::responder_send_imm);
  EXPECT_EQ(received->imm_inval_pkey, 9u);
  EXPECT_EQ(received->byte_cnt, bytes.size() + format::kGrhBytes);
  EXPECT_NE(received->op_own & 2, 0);
  EXPECT_EQ(std::memcmp(rig.b.heap.data() + kData, bytes.data(), bytes.size()), 0);
}

TEST(Ud, OnInfinibandTheLidIsTheAddressAndTheCqeTellsTheSenders) {
  DatagramRig rig(AddressKind::infiniband);
  rig.post_receive(kTo, 64);
  rig.a.word<std::uint64_t>(0) = 77;
  rig.a.post(rig.datagram_of(short_av(rig.address_of(rig.b), rig.b.qpn, kQkey), 0, 8));
  rig.ring_and_run();
  const auto received = rig.b.receive_cq.poll();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->slid, rig.address_of(rig.a).lid);
  EXPECT_EQ(received->flags_rqpn, 0x15000000u | rig.a.qpn);
  EXPECT_TRUE(has_arrived(rig, 0, 8));
}

TEST(Ud, OnlyTheRightQkeyIsTaken) {
  DatagramRig rig;
  const auto send_with = [&](std::uint32_t qkey) {
    rig.a.post(rig.datagram_of(long_av(rig.address_of(rig.b), rig.b.qpn, qkey), 0, 8));
    rig.ring_and_run();
    EXPECT_TRUE(rig.a.send_cq.poll());
    return rig.b.receive_cq.poll().has_value();
  };
  for (int i = 0; i < 2; ++i) rig.post_receive(kTo, 64);
  EXPECT_FALSE(send_with(kQkey + 1));
  EXPECT_EQ(rig.b.engine.counters().qkey_violations, 1u);
  EXPECT_TRUE(send_with(kQkey));
  EXPECT_TRUE(send_with(format::kOwnQkey | 1)) << "that of the sender's queue pair";
  EXPECT_EQ(rig.b.engine.counters().qkey_violations, 1u);
}

TEST(Ud, WithoutReceiveWqeADatagramIsDroppedAndCounted) {
  DatagramRig rig;
  rig.a.post(rig.datagram(0, 8));
  rig.ring_and_run();
  EXPECT_TRUE(rig.a.send_cq.poll());
  EXPECT_EQ(rig.b.engine.counters().out_of_buffer, 1u);
  rig.a.word<std::uint64_t>(8) = 1;
  rig.post_receive(kTo, 64);
  rig.a.post(rig.datagram(8, 8));
  rig.ring_and_run();
  EXPECT_TRUE(rig.b.receive_cq.poll());
  EXPECT_TRUE(has_arrived(rig, 8, 8));
}

TEST(Ud, WhatIsForNobodyCompletesAndVanishes) {
  DatagramRig rig;
  const PortAddress nobody = rig.addresses.address_of(77);
  const PortAddress peer = rig.address_of(rig.b);
  rig.post_receive(kTo, 64);
  rig.a.post(rig.datagram_of(long_av(nobody, rig.b.qpn, kQkey), 0, 8));
  rig.a.post(rig.datagram_of(long_av(peer, rig.b.qpn + 1, kQkey), 0, 8));
  rig.ring_and_run();
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 2u);
  EXPECT_EQ(rig.a.engine.counters().packets_sent, 1u);
  EXPECT_EQ(rig.b.engine.counters().dropped_packets, 1u);
  EXPECT_FALSE(rig.b.receive_cq.poll());
  EXPECT_EQ(rig.a.info().state, QpState::rts);
}

TEST(Ud, WithoutResolverEveryDatagramVanishes) {
  RigOptions options;
  options.service = ServiceType::ud;
  EngineRig rig(options);
  Addresses addresses(AddressKind::ipv4);
  rig.a.post({.opcode = Opcode::send, .body = long_av(addresses.address_of(1), rig.b.qpn, 0)});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_TRUE(rig.a.send_cq.poll());
  EXPECT_EQ(rig.a.engine.counters().packets_sent, 0u);
}

// Of the receiver, which has no peer.
TEST(Ud, DatagramsComeFromAnywhere) {
  DatagramRig rig;
  rig.post_receive(kTo, 64);
  rig.b.post({.opcode = Opcode::send, .body = long_av(rig.address_of(rig.b), rig.b.qpn, kQkey)});
  rig.b.ring();
  ASSERT_TRUE(rig.run());
  const auto received = rig.b.receive_cq.poll();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->flags_rqpn & 0xffffff, rig.b.qpn);
}

void expect_send_queue_fails(DatagramRig& rig, const Wqe& bad, Syndrome syndrome) {
  const std::uint64_t index = rig.a.post(bad);
  rig.a.post(rig.datagram(0, 8));
  rig.ring_and_run();
  const auto cqes = rig.a.send_cq.poll_all();
  ASSERT_EQ(cqes.size(), 2u);
  EXPECT_EQ(opcode_of(cqes[0]), CqeOpcode::requester_error);
  EXPECT_EQ(syndrome_of(cqes[0]), syndrome);
  EXPECT_EQ(cqes[0].wqe_counter, index);
  EXPECT_EQ(syndrome_of(cqes[1]), Syndrome::flushed);
  EXPECT_EQ(rig.a.info().state, QpState::sqer);
  EXPECT_EQ(rig.a.engine.counters().packets_sent, 0u);
  const Outcome<> back = rig.a.engine.modify_qp(rig.a.qpn, {.state = QpState::rts});
  ASSERT_TRUE(back) << status_text(back.status());
  rig.post_receive(kTo, 64);
  rig.a.post(rig.datagram(0, 8));
  rig.ring_and_run();
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 1u);
  EXPECT_TRUE(rig.b.receive_cq.poll());
}

TEST(Ud, LongerThanTheMtuIsAnError) {
  DatagramRig rig;
  expect_send_queue_fails(rig, rig.datagram(0, 4097), Syndrome::local_length);
}

TEST(Ud, MemoryThatIsNotTheSendersIsAnError) {
  DatagramRig rig;
  Wqe wqe = rig.datagram(0, 0);
  wqe.body.push_back(format::to_segment(format::data(rig.a.heap_address(0), Be32{0x777}, 8)));
  expect_send_queue_fails(rig, wqe, Syndrome::local_protection);
}

TEST(Ud, WritesReadsAndAtomicsAreErrors) {
  DatagramRig writes, reads, atomics;
  expect_send_queue_fails(writes, write_wqe(writes, 0, 0, 8), Syndrome::local_qp_operation);
  expect_send_queue_fails(reads, read_wqe(reads, 0, 0, 8), Syndrome::local_qp_operation);
  expect_send_queue_fails(atomics, fetch_add_wqe(atomics, 0, 0, 1), Syndrome::local_qp_operation);
}

TEST(Ud, AnAddressVectorThatIsCutShortIsAnError) {
  DatagramRig rig;
  Wqe none = rig.datagram(0, 0);
  none.body.clear();
  expect_send_queue_fails(rig, none, Syndrome::local_qp_operation);
  DatagramRig other;
  Wqe half = other.datagram(0, 0);
  half.body.resize(2);
  expect_send_queue_fails(other, half, Syndrome::local_qp_operation);
}

TEST(Ud, AReceiveWqeWithoutRoomForTheGrhFailsTheReceiversQueuePair) {
  for (const std::uint32_t room : {39u, 47u}) {
    DatagramRig rig;
    rig.b.post_receive({format::data(rig.b.heap_address(kTo), Be32{rig.b.key}, room)});
    rig.a.post(rig.datagram(0, 8));
    rig.ring_and_run();
    const auto cqe = rig.b.receive_cq.poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(opcode_of(*cqe), CqeOpcode::responder_error);
    EXPECT_EQ(syndrome_of(*cqe), Syndrome::local_length);
    EXPECT_EQ(rig.b.info().state, QpState::err);
    EXPECT_EQ(rig.a.info().state, QpState::rts);
  }
}

TEST(Ud, TheGrhMayLieInASegmentOfItsOwn) {
  DatagramRig rig;
  fill(rig.a.heap.data(), 100, 6);
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, format::kGrhBytes),
                      format::data(rig.b.heap_address(kData), Be32{rig.b.key}, 100)});
  rig.a.post(rig.datagram(0, 100));
  rig.ring_and_run();
  EXPECT_TRUE(rig.b.receive_cq.poll());
  EXPECT_TRUE(has_arrived(rig, 0, 100));
  EXPECT_EQ(rig.b.heap.data()[20], 0x45);
}

TEST(Ud, InRtrDatagramsArriveAndEstablishNoCommunication) {
  DatagramRig rig;
  QpModify modify;
  modify.path.qkey = kQkey;
  for (const QpState state : {QpState::reset, QpState::init, QpState::rtr}) {
    modify.state = state;
    ASSERT_TRUE(rig.b.engine.modify_qp(rig.b.qpn, modify));
  }
  rig.post_receive(kTo, 64);
  rig.a.post(rig.datagram(0, 8));
  rig.ring_and_run();
  EXPECT_TRUE(rig.b.receive_cq.poll());
  EXPECT_TRUE(rig.b.events.of(EventKind::communication_established).empty());
}

// A peer that takes nothing: what is for others waits for a while, and not for ever.
TEST(Ud, AWireWithoutRoomForLongLosesDatagrams) {
  bool full = true;
  RigOptions options;
  options.wrap_wire = [&](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
    if (side == 1) return wire;
    return std::make_unique<LossyWire>(std::move(wire), Losses{.full = [&] { return full; }});
  };
  DatagramRig rig(AddressKind::ipv4, options);
  for (int i = 0; i < 5; ++i) rig.a.post(rig.datagram(0, i % 2 == 0 ? 8 : 1000));
  rig.a.ring();
  for (int i = 0; i < 1000; ++i) rig.step();
  EXPECT_FALSE(rig.a.send_cq.poll());
  rig.now_ns += 2'000'000'000;
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 5u);
  full = false;
  rig.post_receive(kTo, 64);
  rig.a.post(rig.datagram(0, 8));
  rig.ring_and_run();
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 1u);
  EXPECT_TRUE(rig.b.receive_cq.poll());
}

// Without room for what goes to `b`, as long as that is full.
class FullWire final : public WrappedWire {
 public:
  FullWire(std::unique_ptr<Wire> inner, const bool& full)
      : WrappedWire(std::move(inner)), full_(full) {}
  bool send(const Packet& packet) override {
    return (!full_ || packet.header.destination != 1) && inner().send(packet);
  }

 private:
  const bool& full_;
};

// Sends by turns to b, which takes nothing at first, and to a itself.
void expect_others_served(RigOptions options) {
  bool full = true;
  options.wrap_wire = [&](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
    if (side == 1) return wire;
    return std::make_unique<FullWire>(std::move(wire), full);
  };
  DatagramRig rig(AddressKind::ipv4, options);
  const auto to_self = long_av(rig.address_of(rig.a), rig.a.qpn, kQkey);
  constexpr std::size_t kEach = 8;
  for (std::size_t i = 0; i < kEach; ++i) {
    rig.a.post_receive({format::data(rig.a.heap_address(kTo), Be32{rig.a.key}, 4096)});
    rig.a.post(rig.datagram(0, 1000));
    rig.a.post(rig.datagram_of(to_self, 0, 1000));
  }
  rig.a.ring();
  for (int i = 0; i < 1000; ++i) rig.step();
  EXPECT_TRUE(rig.a.send_cq.poll_all().empty()) << "a peer may be held up";
  rig.now_ns += 1'500'000'000;
  for (int i = 0; i < 1000; ++i) rig.step();
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 2 * kEach);
  EXPECT_EQ(rig.a.receive_cq.poll_all().size(), kEach);
  // Once it has taken a datagram, it is waited for again.
  rig.post_receive(kTo, 1000);
  for (const bool is_full : {false, true}) {
    full = is_full;
    rig.a.post(rig.datagram(0, 1000));
    rig.a.ring();
    for (int i = 0; i < 1000; ++i) rig.step();
    EXPECT_EQ(rig.a.send_cq.poll_all().size(), is_full ? 0u : 1u);
  }
  EXPECT_TRUE(rig.b.receive_cq.poll());
  full = false;
  ASSERT_TRUE(rig.run());
  EXPECT_TRUE(rig.a.send_cq.poll());
}

TEST(Ud, APeerThatTakesNothingHoldsUpNoOther) {
  expect_others_served({});
  RigOptions later;
  later.make_port = [](int side) { return std::make_unique<DelayedDma>(side, true); };
  expect_others_served(later);
}

void expect_datagram(const DatagramRig& rig, const format::Cqe64& cqe, std::uint32_t size,
                     int content) {
  EXPECT_EQ(cqe.byte_cnt, size + format::kGrhBytes);
  EXPECT_EQ(cqe.flags_rqpn & 0xffffff, rig.a.qpn);
  const std::uint8_t* const begin = rig.b.heap.data() + kData;
  EXPECT_TRUE(std::all_of(begin, begin + size, [&](std::uint8_t byte) { return byte == content; }));
  EXPECT_EQ(rig.b.heap.data()[kTo + format::kGrhBytes / 2], 0x45);
}

// Sends datagrams of which each is filled with its number; expects those that arrive to be whole
// and in order. Returns how many do.
int send_many(RigOptions options, int count) {
  constexpr std::uint32_t kMost = 4096;
  options.log_rq = 8;
  DatagramRig rig(AddressKind::ipv4, options);
  int arrived = 0;
  int posted = 0;
  for (int i = 0; i < count; ++i) {
    const std::uint32_t size = 1 + static_cast<std::uint32_t>(i) * 997 % kMost;
    std::memset(rig.a.heap.data(), i & 0xff, kMost);
    std::memset(rig.b.heap.data() + kTo, 0xee, kMost);
    for (; posted < 100; ++posted) rig.post_receive(kTo, kMost);
    rig.a.post(rig.datagram(0, size));
    rig.a.ring();
    for (int idle = 0; idle < 300;) {
      idle = rig.step() ? 0 : idle + 1;
      if (rig.a.send_cq.poll()) std::memset(rig.a.heap.data(), 0xdd, kMost);
      for (const auto& cqe : rig.b.receive_cq.poll_all()) {
        ++arrived;
        --posted;
        expect_datagram(rig, cqe, size, i & 0xff);
      }
    }
  }
  EXPECT_EQ(rig.b.info().state, QpState::rts);
  return arrived;
}

RigOptions faulty(const Faults& faults) {
  RigOptions options;
  options.wrap_wire = [faults](std::unique_ptr<Wire> wire, int) -> std::unique_ptr<Wire> {
    return make_faulty(std::move(wire), faults, [] { return std::uint64_t{0}; });
  };
  return options;
}

TEST(Ud, DatagramsArriveWholeOrNotAtAll) {
  constexpr int kCount = 300;
  const int arrived = send_many(faulty({.drop = 0.2, .corrupt = 0.1}), kCount);
  EXPECT_GT(arrived, kCount / 2);
  EXPECT_LT(arrived, kCount);
  EXPECT_GT(send_many(faulty({.repeat = 0.2}), kCount), kCount);
}

TEST(Ud, DatagramsArriveWholeWhateverTheOrderOfDma) {
  for (const bool ordered : {false, true}) {
    RigOptions options;
    options.make_port = [ordered](int side) { return std::make_unique<DelayedDma>(side, ordered); };
    EXPECT_EQ(send_many(options, 100), 100);
  }
}

TEST(Ud, DatagramsGoBetweenProcesses) {
  const auto segment = std::move(*ShmSegment::create({}));
  RigOptions options;
  options.wrap_wire = [&](std::unique_ptr<Wire>, int side) -> std::unique_ptr<Wire> {
    return std::move(*segment->attach(static_cast<Endpoint>(side)));
  };
  EXPECT_EQ(send_many(options, 100), 100);
}

TEST(Ud, DatagramsGoBetweenHosts) {
  std::array<std::unique_ptr<UdpWire>, 2> wires;
  for (Endpoint i = 0; i < 2; ++i) wires[i] = wire_at("127.0.0.1:0", {.endpoint = i});
  ASSERT_TRUE(wires[0]->connect(1, wires[1]->address()));
  ASSERT_TRUE(wires[1]->connect(0, wires[0]->address()));
  RigOptions options;
  options.wrap_wire = [&](std::unique_ptr<Wire>, int side) -> std::unique_ptr<Wire> {
    return std::move(wires[static_cast<std::size_t>(side)]);
  };
  DatagramRig rig(AddressKind::ipv4, options);
  fill(rig.a.heap.data(), 1001, 8);
  rig.post_receive(kTo, 1001);
  rig.a.post(rig.datagram(0, 1001));
  rig.a.ring();
  std::optional<format::Cqe64> received;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!received && std::chrono::steady_clock::now() < end) {
    rig.step();
    received = rig.b.receive_cq.poll();
  }
  ASSERT_TRUE(received);
  EXPECT_EQ(received->flags_rqpn & 0xffffff, rig.a.qpn);
  EXPECT_TRUE(has_arrived(rig, 0, 1001));
  EXPECT_EQ(rig.a.engine.counters().udp_packets_sent, 1u);
}

TEST(Ud, RemovalEndsWhenNothingIsReadOrWrittenAnyMore) {
  RigOptions options;
  options.make_port = [](int side) { return std::make_unique<DelayedDma>(side, side == 0); };
  DatagramRig rig(AddressKind::ipv4, options);
  for (int i = 0; i < 8; ++i) rig.post_receive(kTo, 4096);
  for (int i = 0; i < 8; ++i) rig.a.post(rig.datagram(0, 3000));
  rig.a.ring();
  for (int i = 0; i < 40; ++i) rig.step();
  for (Side* side : {&rig.a, &rig.b}) {
    ASSERT_TRUE(side->engine.destroy_qp(side->qpn));
    const RemovalNumber number = side->engine.last_removal();
    EXPECT_TRUE(rig.run_until([&] { return side->engine.removed(number); }));
  }
  ASSERT_TRUE(rig.run());
}

}  // namespace
}  // namespace gdakit::softnic::test
