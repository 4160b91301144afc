// Everything that can be wrong with a request at its responder, and the errors of both sides.
#include <gtest/gtest.h>

#include "tests/softnic/delayed_dma.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/lossy_wire.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;
using format::Syndrome;

TEST(RemoteAccess, RefusesBadKeysRangesAndRights) {
  const auto expect = [](EngineRig& rig, const Wqe& wqe) {
    expect_fault(rig, wqe, Syndrome::remote_access, format::vendor::remote_access);
    // The responder fails too, as on hardware.
    EXPECT_EQ(rig.b.info().state, QpState::err);
    EXPECT_EQ(rig.b.info().first_error.syndrome, Syndrome::remote_access);
    EXPECT_TRUE(rig.b.info().first_error.responder);
    EXPECT_EQ(rig.b.engine.counters().naks, 1u);
  };
  const auto with_remote = [](EngineRig& rig, std::uint64_t address, MemoryKey key) {
    Wqe wqe = write_wqe(rig, 64, 0, 8);
    wqe.body[0] = format::to_segment(format::remote_address(address, Be32{key}));
    return wqe;
  };
  EngineRig unknown;
  expect(unknown, with_remote(unknown, unknown.b.heap_address(64), 0x123400));
  EngineRig below;
  expect(below, with_remote(below, below.b.heap_address(0) - 1, below.b.key));
  EngineRig above;
  expect(above, with_remote(above, above.b.heap_address((1 << 20) - 7), above.b.key));
  EngineRig zero;
  expect(zero, with_remote(zero, 0, zero.b.key));
  // Only the last byte of a message of many packets is out of range: not one byte may be written.
  RigOptions options;
  options.wire.mtu = 256;
  EngineRig long_one(options);
  Wqe wqe = write_wqe(long_one, (1 << 20) - 1000, 0, 1001);
  expect(long_one, wqe);
  EngineRig other_domain;
  MrAttributes mr;
  mr.pd = *other_domain.b.engine.alloc_pd();
  mr.base = host_address(other_domain.b.heap.data());
  mr.start = mr.base.value;
  mr.length = 4096;
  mr.access = Access::all;
  expect(other_domain, with_remote(other_domain, mr.start, *other_domain.b.engine.reg_mr(mr)));
}

TEST(RemoteAccess, AKeyThatGoesAwayDuringAMessageStopsIt) {
  for (const bool reads : {false, true}) {
    RigOptions options;
    options.wire.slots = 2;
    options.wire.mtu = 256;
    EngineRig rig(options);
    fill(rig.b.heap.data(), 100'000, 1);
    fill(rig.a.heap.data() + 200'000, 100'000, 2);
    rig.a.post(reads ? read_wqe(rig, 0, 0, 100'000) : write_wqe(rig, 200'000, 200'000, 100'000));
    rig.a.ring();
    for (int i = 0; i < 20; ++i) rig.step();
    ASSERT_EQ(rig.a.info().state, QpState::rts);
    ASSERT_TRUE(rig.b.engine.dereg_mr(rig.b.key));
    const std::vector<std::uint8_t> then(rig.b.heap.data(), rig.b.heap.data() + 300'000);
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(syndrome_of(*rig.a.send_cq.poll()), Syndrome::remote_access);
    EXPECT_EQ(std::memcmp(rig.b.heap.data(), then.data(), then.size()), 0);
  }
}

TEST(RemoteAccess, EachRightIsNeeded) {
  const auto check = [](Access missing, auto make) {
    RigOptions options;
    const auto rest = static_cast<unsigned>(Access::all) & ~static_cast<unsigned>(missing);
    options.mr_access = static_cast<Access>(rest);
    EngineRig rig(options);
    rig.a.post(make(rig));
    rig.a.ring();
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(syndrome_of(*rig.a.send_cq.poll()), Syndrome::remote_access);
  };
  check(Access::remote_write, [](EngineRig& rig) { return write_wqe(rig, 0, 0, 8); });
  check(Access::remote_read, [](EngineRig& rig) { return read_wqe(rig, 0, 0, 8); });
  check(Access::remote_atomic, [](EngineRig& rig) { return fetch_add_wqe(rig, 0, 0, 1); });
}

TEST(RemoteInvalidRequest, AnswersARightThatTheQueuePairLacks) {
  const auto check = [](Access missing, auto make) {
    RigOptions options;
    const auto rest = static_cast<unsigned>(Access::all) & ~static_cast<unsigned>(missing);
    options.qp_access = static_cast<Access>(rest);
    EngineRig rig(options);
    rig.a.post(make(rig));
    rig.a.ring();
    ASSERT_TRUE(rig.run());
    const auto cqe = rig.a.send_cq.poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(syndrome_of(*cqe), Syndrome::remote_invalid_request);
    EXPECT_EQ(vendor_of(*cqe), format::vendor::remote_invalid_request);
  };
  check(Access::remote_write, [](EngineRig& rig) { return write_wqe(rig, 0, 0, 8); });
  check(Access::remote_read, [](EngineRig& rig) { return read_wqe(rig, 0, 0, 8); });
  check(Access::remote_atomic, [](EngineRig& rig) { return fetch_add_wqe(rig, 0, 0, 1); });
}

TEST(RemoteInvalidRequest, AnswersUnalignedAtomics) {
  for (const std::size_t offset : {1u, 4u, 7u}) {
    EngineRig rig;
    expect_fault(rig, fetch_add_wqe(rig, 0, 64 + offset, 1), Syndrome::remote_invalid_request);
  }
  EngineRig four;
  Wqe wqe{.opcode = Opcode::atomic_masked_fa, .opmod = format::kOpmodAtomic4};
  wqe.body = {four.b.remote(66), format::Segment{}, four.a.data(0, 4)};
  expect_fault(four, wqe, Syndrome::remote_invalid_request);
}

TEST(RemoteInvalidRequest, AnswersAtomicsOfARegionThatBeginsAtAnOddPlace) {
  EngineRig rig;
  MrAttributes mr;
  mr.pd = rig.b.pd;
  mr.base = host_address(rig.b.heap.data() + 3);
  mr.start = 0;
  mr.length = 4096;
  mr.access = Access::all;
  Wqe wqe = fetch_add_wqe(rig, 0, 64, 1);
  wqe.body[0] = format::to_segment(format::remote_address(64, Be32{*rig.b.engine.reg_mr(mr)}));
  expect_fault(rig, wqe, Syndrome::remote_invalid_request);
}

TEST(RemoteInvalidRequest, AnswersSendsToAQueuePairWithoutReceiveQueue) {
  RigOptions options;
  options.has_rq = false;
  EngineRig rig(options);
  expect_fault(rig, {.opcode = Opcode::send, .body = {rig.a.data(0, 8)}},
               Syndrome::remote_invalid_request);
}

// What a SEND behind the READ had done is forgotten with it, but not its receive WQE.
TEST(RemoteAccess, AReadThatFailsHalfWayTakesNoReceiveWqesWithIt) {
  RigOptions options;
  options.wire.slots = 2;
  options.wire.mtu = 256;
  EngineRig rig(options);
  for (int i = 0; i < 4; ++i) {
    rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 64)});
  }
  rig.a.post(read_wqe(rig, 0, 0, 100'000));
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 8)}});
  rig.a.ring();
  for (int i = 0; i < 20; ++i) rig.step();
  // The SEND has been taken, and waits for the READ's responses.
  const std::uint32_t read_psns = (100'000 + 255) / 256;
  ASSERT_EQ(rig.b.info().next_receive_psn, read_psns + 1);
  ASSERT_TRUE(rig.b.engine.dereg_mr(rig.b.key));
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(syndrome_of(*rig.a.send_cq.poll()), Syndrome::remote_access);
  const auto cqes = rig.b.receive_cq.poll_all();
  ASSERT_EQ(cqes.size(), 4u);
  for (std::uint16_t i = 0; i < 4; ++i) {
    EXPECT_EQ(syndrome_of(cqes[i]), Syndrome::flushed);
    EXPECT_EQ(cqes[i].wqe_counter, i);
  }
}

// a has taken responses that b's recall takes back, for it has not told so yet.
TEST(RemoteAccess, AReadThatFailsHalfWayIsRefusedThoughItsLastResponsesAreHeld) {
  for (int steps = 2; steps < 40; ++steps) {
    RigOptions options;
    options.wire.slots = 8;
    options.wire.mtu = 256;
    options.make_port = [steps](int) {
      return std::make_unique<DelayedDma>(static_cast<std::uint32_t>(steps), /*ordered=*/true);
    };
    EngineRig rig(options);
    rig.a.post(read_wqe(rig, 0, 0, 100'000));
    rig.a.ring();
    for (int i = 0; i < steps; ++i) rig.step();
    ASSERT_EQ(rig.a.info().state, QpState::rts);
    ASSERT_TRUE(rig.b.engine.dereg_mr(rig.b.key));
    ASSERT_TRUE(rig.run_until([&] { return rig.a.info().state == QpState::err; }));
    EXPECT_EQ(rig.a.info().first_error.syndrome, Syndrome::remote_access) << steps;
    ASSERT_TRUE(rig.run());  // no copy is under way when the heaps go
  }
}

TEST(ReceiveFaults, RefuseAMessageLongerThanTheReceiveWqe) {
  EngineRig rig;
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 7)});
  rig.b.post_receive({});
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 8)}});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(syndrome_of(*rig.a.send_cq.poll()), Syndrome::remote_invalid_request);
  const auto cqes = rig.b.receive_cq.poll_all();
  ASSERT_EQ(cqes.size(), 2u);
  EXPECT_EQ(opcode_of(cqes[0]), CqeOpcode::responder_error);
  EXPECT_EQ(syndrome_of(cqes[0]), Syndrome::local_length);
  EXPECT_EQ(cqes[0].wqe_counter, 0u);
  EXPECT_EQ(syndrome_of(cqes[1]), Syndrome::flushed);
  EXPECT_EQ(cqes[1].wqe_counter, 1u);
  EXPECT_EQ(rig.b.heap.data()[7], 0);
}

TEST(ReceiveFaults, BlameAReceiveWqeWithABadKey) {
  EngineRig rig;
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{0x777700}, 64)});
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 8)}});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(syndrome_of(*rig.a.send_cq.poll()), Syndrome::remote_operation);
  EXPECT_EQ(syndrome_of(*rig.b.receive_cq.poll()), Syndrome::local_protection);
}

TEST(ReceiveFaults, BlameTheReceiveWqeThatAWriteWithImmediateToABadKeyTakes) {
  EngineRig rig;
  for (int i = 0; i < 2; ++i) rig.b.post_receive({});
  Wqe wqe = write_wqe(rig, 64, 0, 8);
  wqe.opcode = Opcode::rdma_write_imm;
  wqe.body[0] = format::to_segment(format::remote_address(rig.b.heap_address(64), Be32{0xdead00}));
  rig.a.post(wqe);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(syndrome_of(*rig.a.send_cq.poll()), Syndrome::remote_access);
  const auto cqes = rig.b.receive_cq.poll_all();
  ASSERT_EQ(cqes.size(), 2u);
  EXPECT_EQ(opcode_of(cqes[0]), CqeOpcode::responder_error);
  EXPECT_EQ(syndrome_of(cqes[0]), Syndrome::local_access);
  EXPECT_EQ(syndrome_of(cqes[1]), Syndrome::flushed);
}

TEST(ReceiveFaults, BlameTheReceiveWqeOfAWriteWithImmediateWhoseKeyGoesAway) {
  int sent = 0;
  RigOptions options;
  options.wire.mtu = 256;
  options.settings.ack_timeout = 5;
  options.wrap_wire = [&sent](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
    if (side == 1) return wire;
    return std::make_unique<LossyWire>(
        std::move(wire), Losses{.drop = [&sent](const Packet&) { return ++sent == 2; }});
  };
  EngineRig rig(options);
  rig.b.post_receive({});
  Wqe wqe = write_wqe(rig, 64, 0, 512);
  wqe.opcode = Opcode::rdma_write_imm;
  rig.a.post(wqe);
  rig.a.ring();
  ASSERT_TRUE(rig.run());  // the first of two packets has arrived
  ASSERT_TRUE(rig.b.engine.dereg_mr(rig.b.key));
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().state == QpState::err; }));
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(syndrome_of(*rig.a.send_cq.poll()), Syndrome::remote_access);
  EXPECT_EQ(syndrome_of(*rig.b.receive_cq.poll()), Syndrome::local_access);
}

TEST(ReceiveFaults, CallAMessageThatCannotBeAnOperationThatIsNone) {
  RigOptions options;
  options.qp_access = Access::remote_read;
  EngineRig rig(options);
  rig.b.post_receive({});
  Wqe wqe = write_wqe(rig, 64, 0, 8);
  wqe.opcode = Opcode::rdma_write_imm;
  rig.a.post(wqe);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(syndrome_of(*rig.a.send_cq.poll()), Syndrome::remote_invalid_request);
  EXPECT_EQ(syndrome_of(*rig.b.receive_cq.poll()), Syndrome::local_qp_operation);
}

TEST(BadResponse, IsAnAnswerThatDoesNotFitItsQuestion) {
  const auto answer_with = [](PacketOpcode opcode, std::uint32_t size) {
    EngineRig rig;
    rig.a.post(read_wqe(rig, 0, 0, 16));
    rig.a.ring();
    rig.a.engine.step(++rig.now_ns);
    Packet packet;
    packet.header.opcode = opcode;
    packet.header.destination = rig.a.wire->endpoint();
    packet.header.destination_qpn = rig.a.qpn;
    packet.sender = rig.b.qpn;
    packet.header.payload_size = size;
    const std::uint8_t bytes[kSmallPayload] = {0xee};
    packet.payload = bytes;
    EXPECT_TRUE(rig.b.wire->send(packet));
    EXPECT_TRUE(rig.run());
    const auto cqe = rig.a.send_cq.poll();
    return cqe && opcode_of(*cqe) == CqeOpcode::requester_error ? syndrome_of(*cqe)
                                                                : Syndrome::none;
  };
  EXPECT_EQ(answer_with(PacketOpcode::read_response_only, 15), Syndrome::bad_response);
  EXPECT_EQ(answer_with(PacketOpcode::read_response_only, 17), Syndrome::bad_response);
  EXPECT_EQ(answer_with(PacketOpcode::atomic_acknowledge, 0), Syndrome::bad_response);
  EXPECT_EQ(answer_with(PacketOpcode::read_response_only, 16), Syndrome::none);
}

TEST(ErrorCqe, CarriesTheFieldsThatHardwareShows) {
  EngineRig rig;
  Wqe wqe = write_wqe(rig, 64, 0, 8);
  wqe.body[0] = format::to_segment(format::remote_address(0, Be32{0}));
  rig.a.post(wqe);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  const format::Cqe64 cqe = rig.a.send_cq.at(0);
  const auto error = bit_cast<format::ErrorCqe>(cqe);
  EXPECT_EQ(error.srqn, 0xabcdeu);
  EXPECT_EQ(error.vendor_err_synd, 0x88);
  EXPECT_EQ(error.syndrome, 0x13);
  EXPECT_EQ(error.s_wqe_opcode_qpn, (0x08u << 24) | rig.a.qpn);
  EXPECT_EQ(error.wqe_counter, 0u);
  EXPECT_EQ(error.op_own, 0xd2);  // opcode 0xd, solicited, owner 0
  std::uint8_t bytes[64], all = 0;
  std::memcpy(bytes, &cqe, sizeof bytes);
  for (const std::uint8_t byte : bytes) all ^= byte;
  EXPECT_EQ(all, 0xff);
}

}  // namespace
}  // namespace gdakit::softnic::test
