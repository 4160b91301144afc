// DC: an initiator reaches the targets that its WQEs name, one after the other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/softnic/dc_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;
using format::Syndrome;
using testing::IsEmpty;

void fill_a(DcRig& rig) { fill(rig.rig.a.heap.data(), rig.rig.a.heap.size() / 2, 1); }

bool same(const DcRig& rig, std::size_t at_b, std::size_t at_a, std::size_t size) {
  return std::memcmp(rig.rig.b.heap.data() + at_b, rig.rig.a.heap.data() + at_a, size) == 0;
}

TEST(Dc, AWriteReachesItsTarget) {
  for (const AddressKind kind : {AddressKind::ipv4, AddressKind::ipv6, AddressKind::infiniband}) {
    DcRig rig({.addresses = kind});
    fill_a(rig);
    rig.send(0, 0, rig.write(64, 0, 1000));
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.succeeded(0), 1u);
    EXPECT_TRUE(same(rig, 64, 0, 1000));
    EXPECT_EQ(rig.rig.b.engine.counters().rx_dct_connect, 1u);
  }
}

TEST(Dc, EveryOperation) {
  DcRig rig;
  fill_a(rig);
  rig.srq.post({rig.segment(8192, 64)});
  rig.srq.post({rig.segment(8256, 64)});
  rig.srq.post({});
  Wqe write_imm = rig.write(0, 0, 100);
  write_imm.opcode = Opcode::rdma_write_imm;
  write_imm.imm = 7;
  rig.rig.b.word<std::uint64_t>(4096) = 40;
  rig.send(0, 0, rig.send_wqe(0, 60));
  rig.send(0, 0, rig.send_wqe(64, 64, Opcode::send_imm, 9));
  rig.send(0, 0, write_imm);
  rig.send(0, 0, fetch_add_wqe(rig.rig, 1 << 19, 4096, 2));
  rig.send(0, 0, read_wqe(rig.rig, (1 << 19) + 64, 0, 100));
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.succeeded(0), 5u);
  EXPECT_TRUE(same(rig, 8192, 0, 60));
  EXPECT_TRUE(same(rig, 8256, 64, 64));
  EXPECT_TRUE(same(rig, 0, (1 << 19) + 64, 100));
  EXPECT_EQ(rig.rig.b.word<std::uint64_t>(4096), 42u);
  EXPECT_EQ(rig.rig.a.word<std::uint64_t>(1 << 19), 40u);
  const auto cqes = rig.rig.b.receive_cq.poll_all();
  ASSERT_EQ(cqes.size(), 3u);
  const CqeOpcode opcodes[] = {CqeOpcode::responder_send, CqeOpcode::responder_send_imm,
                               CqeOpcode::responder_write_imm};
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(opcode_of(cqes[i]), opcodes[i]);
    EXPECT_EQ(cqes[i].srqn_uidx, DcRig::kUserIndex);
    EXPECT_EQ(cqes[i].sop_drop_qpn & 0xffffff, rig.targets[0]);
    EXPECT_EQ(cqes[i].flags_rqpn & 0xffffff, rig.initiators[0]->qpn);
  }
  EXPECT_EQ(cqes[1].imm_inval_pkey, 9u);
  EXPECT_EQ(cqes[2].imm_inval_pkey, 7u);
}

TEST(Dc, OnInfiniBandTheCqeTellsTheInitiatorsLid) {
  DcRig rig({.addresses = AddressKind::infiniband});
  rig.srq.post({rig.segment(0, 64)});
  rig.send(0, 0, rig.send_wqe(0, 60));
  ASSERT_TRUE(rig.run());
  const auto cqe = rig.rig.b.receive_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->slid, 0x100 + rig.rig.a.wire->endpoint() + 1);
}

TEST(Dc, AnInitiatorGoesFromTargetToTargetInOrder) {
  DcRig rig({.targets = 3, .log_srq = 7});
  fill_a(rig);
  for (std::size_t i = 0; i < 12; ++i) {
    rig.srq.post({rig.segment(i * 5000, 5000)});
    rig.send(0, i % 3,
             rig.send_wqe(i * 5000, 5000, Opcode::send_imm, static_cast<std::uint32_t>(i)));
  }
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.succeeded(0), 12u);
  const auto cqes = rig.rig.b.receive_cq.poll_all();
  ASSERT_EQ(cqes.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(cqes[i].imm_inval_pkey, i);
    EXPECT_EQ(cqes[i].srqn_uidx, DcRig::kUserIndex + i % 3);
  }
  EXPECT_TRUE(same(rig, 0, 0, 12 * 5000));
  EXPECT_EQ(rig.rig.b.engine.counters().rx_dct_connect, 12u);
}

TEST(Dc, AConnectionWithoutWorkEnds) {
  DcRig rig;
  rig.send(0, 0, rig.write(0, 0, 8));
  ASSERT_TRUE(rig.run());
  Engine& b = rig.rig.b.engine;
  EXPECT_EQ(b.query_dct(rig.targets[0])->connections, 1u);
  EXPECT_TRUE(rig.rig.run_until([&] { return b.query_dct(rig.targets[0])->connections == 0; }));
  rig.send(0, 0, rig.write(0, 0, 8));
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.succeeded(0), 2u);
  EXPECT_EQ(b.counters().rx_dct_connect, 2u);
}

TEST(Dc, AWrongKeyIsRefusedCountedAndToldOnce) {
  DcRig rig({.initiators = 3});
  Engine& b = rig.rig.b.engine;
  ASSERT_TRUE(b.arm_dct(rig.targets[0]));
  for (std::size_t i = 0; i < 2; ++i) {
    rig.send(i, 0, rig.write(0, 0, 8), kDcKey + 1);
    EXPECT_EQ(rig.next(i), Syndrome::remote_access);
  }
  EXPECT_EQ(b.query_dct(rig.targets[0])->key_violations, 2u);
  EXPECT_EQ(rig.rig.b.events.of(EventKind::dct_key_violation).size(), 1u);
  rig.send(2, 0, rig.write(0, 0, 8));
  EXPECT_EQ(rig.next(2), Syndrome::none);
}

TEST(Dc, WhatIsNotThereIsNotReached) {
  DcRig rig({.initiators = 2});
  rig.send_to(0, rig.targets[0] + 1000, rig.write(0, 0, 8));
  EXPECT_EQ(rig.next(0), Syndrome::transport_retry_exceeded);
  Wqe nowhere = rig.write(0, 0, 8);
  PortAddress nobody;
  nobody.gid[0] = 1;
  const auto av = dc_av(nobody, rig.targets[0], kDcKey);
  nowhere.body.insert(nowhere.body.begin(), av.begin(), av.end());
  rig.post(1, nowhere);
  EXPECT_EQ(rig.next(1), Syndrome::transport_retry_exceeded);
}

TEST(Dc, ATargetGrantsNoMoreThanItsRights) {
  DcRig rig({.initiators = 2, .access = Access::remote_read});
  rig.send(0, 0, rig.write(0, 0, 8));
  EXPECT_EQ(rig.next(0), Syndrome::remote_invalid_request);
  rig.send(1, 0, read_wqe(rig.rig, 0, 0, 8));
  EXPECT_EQ(rig.next(1), Syndrome::none);
}

TEST(Dc, AFailedConnectionHarmsNoOther) {
  DcRig rig({.initiators = 2});
  Wqe beyond = rig.write(rig.rig.b.heap.size(), 0, 8);
  rig.send(0, 0, beyond);
  rig.send(1, 0, rig.write(0, 0, 8));
  EXPECT_EQ(rig.next(0), Syndrome::remote_access);
  EXPECT_EQ(rig.next(1), Syndrome::none);
  rig.connect(*rig.initiators[0]);
  rig.send(0, 0, rig.write(0, 0, 8));
  EXPECT_EQ(rig.next(0), Syndrome::none);
}

TEST(Dc, AMessageWaitsForAReceiveWqe) {
  DcRig rig;
  rig.send(0, 0, rig.send_wqe(0, 60));
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.succeeded(0), 0u);
  rig.srq.post({rig.segment(0, 64)});
  EXPECT_EQ(rig.next(0), Syndrome::none);
}

TEST(Dc, AnInitiatorIsAskedForNothing) {
  DcRig rig({.initiators = 2});
  // b asks a's initiator, as if that were a target of DC.
  Packet packet;
  packet.header.destination = rig.rig.a.wire->endpoint();
  packet.header.service = ServiceType::dc;
  packet.header.opcode = PacketOpcode::write_only;
  packet.header.destination_qpn = rig.initiators[0]->qpn;
  packet.header.dc_source = rig.targets[0];
  packet.header.reth = {rig.rig.a.heap_address(0), rig.rig.a.key, 0};
  const std::uint64_t before = rig.rig.a.engine.counters().dropped_packets;
  ASSERT_TRUE(rig.rig.b.wire->send(packet));
  rig.rig.b.wire->flush();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.rig.a.engine.counters().dropped_packets, before + 1);
}

TEST(Dc, ShortAddressVectorsEndTheWqe) {
  DcRig rig;
  Wqe none = rig.send_wqe(0, 0);
  rig.post(0, none);
  EXPECT_EQ(rig.next(0), Syndrome::local_qp_operation);
}

TEST(Dc, ANopNamesNoTarget) {
  DcRig rig;
  rig.post(0, Wqe{.opcode = Opcode::nop});
  EXPECT_EQ(rig.next(0), Syndrome::none);
  EXPECT_EQ(rig.rig.b.engine.counters().rx_dct_connect, 0u);
}

}  // namespace
}  // namespace gdakit::softnic::test
