// Every operation that a send WQE can ask for, and what comes of it.
#include <gtest/gtest.h>

#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::Completion;
using format::CqeOpcode;
using format::Opcode;

// The one CQE that is expected now: a success for WQE `index`.
void expect_success(Side& side, std::uint64_t index, Opcode opcode) {
  const auto cqe = side.send_cq.poll();
  ASSERT_TRUE(cqe.has_value());
  EXPECT_EQ(opcode_of(*cqe), CqeOpcode::requester) << static_cast<int>(syndrome_of(*cqe));
  EXPECT_EQ(cqe->wqe_counter, index & 0xffff);
  EXPECT_EQ(cqe->sop_drop_qpn, (static_cast<std::uint32_t>(opcode) << 24) | side.qpn);
  EXPECT_EQ(cqe->srqn_uidx, 0xabcdeu);
}

bool same(const Side& x, std::size_t at_x, const Side& y, std::size_t at_y, std::size_t size) {
  return std::memcmp(x.heap.data() + at_x, y.heap.data() + at_y, size) == 0;
}

TEST(RdmaWrite, PutsTheBytesAndCompletes) {
  EngineRig rig;
  fill(rig.a.heap.data(), 100, 1);
  rig.a.post(write_wqe(rig, 4096, 0, 100));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  expect_success(rig.a, 0, Opcode::rdma_write);
  EXPECT_TRUE(same(rig.b, 4096, rig.a, 0, 100));
  EXPECT_EQ(rig.b.heap.data()[4096 + 100], 0);
  EXPECT_FALSE(rig.b.receive_cq.poll().has_value());
}

TEST(RdmaWrite, CrossesManyPacketsWithoutOverreaching) {
  RigOptions options;
  options.wire.mtu = 256;
  for (const std::uint32_t size : {255u, 256u, 257u, 511u, 512u, 513u, 100'000u}) {
    EngineRig rig(options);
    fill(rig.a.heap.data(), size, size);
    rig.b.heap.data()[7 + size] = 0x77;
    rig.a.post(write_wqe(rig, 7, 0, size));
    rig.a.ring();
    ASSERT_TRUE(rig.run());
    expect_success(rig.a, 0, Opcode::rdma_write);
    EXPECT_TRUE(same(rig.b, 7, rig.a, 0, size));
    EXPECT_EQ(rig.b.heap.data()[7 + size], 0x77);
    EXPECT_EQ(rig.a.info().next_send_psn, (size + 255) / 256);
  }
}

// Memory that notes the sizes of what ends a message.
class NotingMemory final : public HostDma {
 public:
  explicit NotingMemory(std::vector<std::size_t>& ends) : ends_(ends) {}
  bool orders_ends() const override { return true; }
  DmaOp write_last(DmaAddress to, const void* from, std::size_t size) override {
    ends_.push_back(size);
    return write(to, from, size);
  }
  DmaOp copy_last(DmaAddress to, DmaAddress from, std::size_t size) override {
    ends_.push_back(size);
    return copy(to, from, size);
  }

 private:
  std::vector<std::size_t>& ends_;
};

TEST(RdmaWrite, TheLastPiecesOfWritesAloneEndMessages) {
  std::vector<std::size_t> ends;
  RigOptions options;
  options.wire.mtu = 256;
  options.make_port = [&](int) { return std::make_unique<NotingMemory>(ends); };
  EngineRig rig(options);
  fill(rig.a.heap.data(), 4000, 3);
  rig.a.post(write_wqe(rig, 4096, 0, 1000));
  Wqe gathered = write_wqe(rig, 8192, 0, 40);
  gathered.body.push_back(rig.a.data(2000, 60));
  rig.a.post(gathered);
  rig.a.post(inline_write_wqe(rig, 0, std::vector<std::uint8_t>(20, 7)));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(ends, (std::vector<std::size_t>{1000 % 256, 60, 20}));
  EXPECT_TRUE(same(rig.b, 4096, rig.a, 0, 1000));
  EXPECT_TRUE(same(rig.b, 8192 + 40, rig.a, 2000, 60));
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 100)});
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 100)}});
  rig.a.post(read_wqe(rig, 20'000, 4096, 1000));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(ends.size(), 3u);
  EXPECT_TRUE(same(rig.a, 20'000, rig.b, 4096, 1000));
}

TEST(RdmaWrite, OfNothingTouchesNothingAndNeedsNoKey) {
  EngineRig rig;
  Wqe wqe = write_wqe(rig, 0, 0, 0);
  wqe.body = {format::to_segment(format::remote_address(0x1234, Be32{0xdeadbeef}))};
  rig.a.post(wqe);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  expect_success(rig.a, 0, Opcode::rdma_write);
}

TEST(RdmaWrite, GathersManyPieces) {
  RigOptions options;
  options.wire.mtu = 512;
  EngineRig rig(options);
  fill(rig.a.heap.data(), 65536, 3);
  Wqe wqe = write_wqe(rig, 0, 0, 0);
  std::vector<std::uint8_t> expected;
  // More pieces than a packet has fragments, of uneven sizes.
  for (std::size_t i = 0; i < 20; ++i) {
    const std::uint32_t size = static_cast<std::uint32_t>(1 + i * 37 % 300);
    wqe.body.push_back(rig.a.data(i * 1000, size));
    expected.insert(expected.end(), rig.a.heap.data() + i * 1000,
                    rig.a.heap.data() + i * 1000 + size);
  }
  rig.a.post(wqe);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  expect_success(rig.a, 0, Opcode::rdma_write);
  EXPECT_EQ(std::memcmp(rig.b.heap.data(), expected.data(), expected.size()), 0);
  EXPECT_EQ(rig.b.heap.data()[expected.size()], 0);
}

TEST(RdmaWrite, ImmediateConsumesAReceiveWqe) {
  EngineRig rig;
  rig.b.post_receive({});
  Wqe wqe = write_wqe(rig, 64, 0, 16);
  wqe.opcode = Opcode::rdma_write_imm;
  wqe.imm = 0xcafe1234;
  wqe.solicited = true;
  fill(rig.a.heap.data(), 16, 5);
  rig.a.post(wqe);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  expect_success(rig.a, 0, Opcode::rdma_write_imm);
  EXPECT_TRUE(same(rig.b, 64, rig.a, 0, 16));
  const auto cqe = rig.b.receive_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(opcode_of(*cqe), CqeOpcode::responder_write_imm);
  EXPECT_EQ(cqe->imm_inval_pkey, 0xcafe1234u);
  EXPECT_EQ(cqe->byte_cnt, 16u);
  EXPECT_EQ(cqe->wqe_counter, 0u);
  EXPECT_EQ(cqe->flags_rqpn & 0xffffff, rig.a.qpn);
  EXPECT_EQ(cqe->op_own & 2, 2);
}

class InlineWrite : public testing::TestWithParam<std::size_t> {};

TEST_P(InlineWrite, PutsExactlyTheBytesOfTheWqe) {
  EngineRig rig;
  std::vector<std::uint8_t> bytes(GetParam());
  fill(bytes.data(), bytes.size(), 9);
  std::vector<std::uint8_t> expected(bytes.size() + 16, 0x55);
  std::memset(rig.b.heap.data(), 0x55, expected.size());
  std::copy(bytes.begin(), bytes.end(), expected.begin() + 8);
  rig.a.post(inline_write_wqe(rig, 8, bytes));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  expect_success(rig.a, 0, Opcode::rdma_write);
  EXPECT_EQ(std::memcmp(rig.b.heap.data(), expected.data(), expected.size()), 0);
}
INSTANTIATE_TEST_SUITE_P(Sizes, InlineWrite,
                         testing::Values(0, 1, 4, 8, 11, 12, 13, 28, 60, 64, 65, 256, 900, 972));

TEST(InlineWriteWrap, ContinuesAtTheQueuesBeginning) {
  RigOptions options;
  options.log_sq = 3;
  for (const std::size_t size : {40u, 100u, 300u}) {
    EngineRig rig(options);
    for (int i = 0; i < 7; ++i) rig.a.post({});
    rig.a.ring();
    ASSERT_TRUE(rig.run());
    rig.a.send_cq.poll_all();
    std::vector<std::uint8_t> bytes(size);
    fill(bytes.data(), size, 4);
    rig.a.post(inline_write_wqe(rig, 0, bytes));
    rig.a.ring();
    ASSERT_TRUE(rig.run());
    expect_success(rig.a, 7, Opcode::rdma_write);
    EXPECT_EQ(std::memcmp(rig.b.heap.data(), bytes.data(), size), 0);
  }
}

TEST(InlineWrite, MayStandBesideDataSegments) {
  EngineRig rig;
  fill(rig.a.heap.data(), 64, 2);
  Wqe wqe = inline_write_wqe(rig, 0, std::vector<std::uint8_t>(12, 0xee));
  wqe.body.push_back(rig.a.data(0, 20));
  const auto more = inline_segments(std::vector<std::uint8_t>(3, 0xdd));
  wqe.body.insert(wqe.body.end(), more.begin(), more.end());
  rig.a.post(wqe);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  expect_success(rig.a, 0, Opcode::rdma_write);
  EXPECT_EQ(rig.b.heap.data()[11], 0xee);
  EXPECT_TRUE(same(rig.b, 12, rig.a, 0, 20));
  EXPECT_EQ(rig.b.heap.data()[32], 0xdd);
  EXPECT_EQ(rig.b.heap.data()[35], 0);
}

TEST(RdmaRead, GetsTheBytesAndScattersThem) {
  RigOptions options;
  options.wire.mtu = 256;
  EngineRig rig(options);
  fill(rig.b.heap.data(), 5000, 6);
  Wqe wqe = read_wqe(rig, 1000, 0, 300);
  wqe.body.push_back(rig.a.data(50'000, 1));
  wqe.body.push_back(rig.a.data(20'000, 2000));
  rig.a.post(wqe);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  const auto cqe = rig.a.send_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(opcode_of(*cqe), CqeOpcode::requester);
  EXPECT_EQ(cqe->byte_cnt, 2301u);
  EXPECT_TRUE(same(rig.a, 1000, rig.b, 0, 300));
  EXPECT_TRUE(same(rig.a, 50'000, rig.b, 300, 1));
  EXPECT_TRUE(same(rig.a, 20'000, rig.b, 301, 2000));
  EXPECT_EQ(rig.a.heap.data()[1300], 0);
  EXPECT_EQ(rig.a.heap.data()[22'000], 0);
  EXPECT_EQ(rig.a.info().next_send_psn, 9u);
}

TEST(RdmaRead, OfNothingCompletes) {
  EngineRig rig;
  rig.a.post(read_wqe(rig, 0, 0, 0));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  expect_success(rig.a, 0, Opcode::rdma_read);
}

TEST(Atomics, FetchAddAndCompareSwapReturnTheOldWordInHostOrder) {
  EngineRig rig;
  rig.b.word<std::uint64_t>(64) = 0x0102030405060708;
  rig.a.post(fetch_add_wqe(rig, 0, 64, 0x10));
  Wqe swap = fetch_add_wqe(rig, 8, 64, 0);
  swap.opcode = Opcode::atomic_cs;
  swap.body[1] = format::to_segment(format::AtomicSegment{Be64{99}, Be64{0x0102030405060718}});
  rig.a.post(swap);
  swap.body[1] = format::to_segment(format::AtomicSegment{Be64{77}, Be64{1}});
  swap.body[2] = rig.a.data(16, 8);
  rig.a.post(swap);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  const auto cqe = rig.a.send_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->byte_cnt, 8u);
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 2u);
  EXPECT_EQ(rig.a.word<std::uint64_t>(0), 0x0102030405060708u);
  EXPECT_EQ(rig.a.word<std::uint64_t>(8), 0x0102030405060718u);
  EXPECT_EQ(rig.a.word<std::uint64_t>(16), 99u);
  EXPECT_EQ(rig.b.word<std::uint64_t>(64), 99u);
}

TEST(Atomics, MaskedEightBytesCompareAndAddUnderTheirMasks) {
  EngineRig rig;
  rig.b.word<std::uint64_t>(0) = 0x1234;
  Wqe cs{.opcode = Opcode::atomic_masked_cs, .opmod = format::kOpmodAtomic8};
  const format::MaskedAtomic8CsSegment operands{Be64{0xabcd}, Be64{0x34}, Be64{0xff00}, Be64{0xff}};
  format::Segment halves[2];
  std::memcpy(halves, &operands, sizeof operands);
  cs.body = {rig.b.remote(0), halves[0], halves[1], rig.a.data(0, 8)};
  rig.a.post(cs);
  Wqe fa{.opcode = Opcode::atomic_masked_fa, .opmod = format::kOpmodAtomic8};
  fa.body = {rig.b.remote(8),
             format::to_segment(format::MaskedAtomic8FaSegment{Be64{0x0101}, Be64{0x8080}}),
             rig.a.data(8, 8)};
  rig.b.word<std::uint64_t>(8) = 0x01ff;
  rig.a.post(fa);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 2u);
  EXPECT_EQ(rig.b.word<std::uint64_t>(0), 0xab34u);
  EXPECT_EQ(rig.a.word<std::uint64_t>(0), 0x1234u);
  EXPECT_EQ(rig.b.word<std::uint64_t>(8), 0x0200u);
  EXPECT_EQ(rig.a.word<std::uint64_t>(8), 0x01ffu);
}

TEST(Atomics, MaskedFourBytesReturnTheOldWordBigEndian) {
  EngineRig rig;
  rig.b.word<std::uint32_t>(4) = 0x01020304;
  rig.b.word<std::uint32_t>(8) = 0x55555555;
  Wqe fa{.opcode = Opcode::atomic_masked_fa, .opmod = format::kOpmodAtomic4};
  fa.body = {rig.b.remote(4),
             format::to_segment(format::MaskedAtomic4FaSegment{Be32{0x10}, Be32{0}, Be64{0}}),
             rig.a.data(4, 4)};
  rig.a.post(fa);
  Wqe cs{.opcode = Opcode::atomic_masked_cs, .opmod = format::kOpmodAtomic4};
  cs.body = {rig.b.remote(4),
             format::to_segment(
                 format::MaskedAtomic4CsSegment{Be32{9}, Be32{0x01020314}, Be32{~0u}, Be32{~0u}}),
             rig.a.data(12, 4)};
  rig.a.post(cs);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  const auto cqe = rig.a.send_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->byte_cnt, 4u);
  EXPECT_EQ(byte_swap(rig.a.word<std::uint32_t>(4)), 0x01020304u);
  EXPECT_EQ(byte_swap(rig.a.word<std::uint32_t>(12)), 0x01020314u);
  EXPECT_EQ(rig.b.word<std::uint32_t>(4), 9u);
  EXPECT_EQ(rig.b.word<std::uint32_t>(8), 0x55555555u);
  EXPECT_EQ(rig.a.word<std::uint32_t>(8), 0u);
}

TEST(Nop, CompletesWithoutItsBodyBeingRead) {
  EngineRig rig;
  // ds 2, and rubbish behind the control segment.
  rig.a.post({.body = {format::Segment{~0ull, ~0ull}}});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  expect_success(rig.a, 0, Opcode::nop);
  EXPECT_EQ(rig.a.engine.counters().packets_sent, 0u);
}

TEST(Dump, ReadsAndCompletesAndChangesNothing) {
  EngineRig rig;
  fill(rig.a.heap.data(), rig.a.heap.size(), 8);
  std::vector<std::uint8_t> before(rig.a.heap.data(), rig.a.heap.data() + rig.a.heap.size());
  rig.a.post(
      {.opcode = Opcode::dump, .fence = format::FenceMode::fence, .body = {rig.a.data(0, 8)}});
  rig.a.post({.opcode = Opcode::dump, .body = {rig.a.data(0, 1 << 20)}});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  expect_success(rig.a, 0, Opcode::dump);
  expect_success(rig.a, 1, Opcode::dump);
  EXPECT_EQ(std::memcmp(rig.a.heap.data(), before.data(), before.size()), 0);
}

// A client that registers and deregisters in each step costs a long DUMP or WRITE beside it nothing
// of what they have done.
TEST(RemovedKey, OfOtherMemoryMakesNoRequestStartOver) {
  RigOptions options;
  options.heap = 4 << 20;
  options.wire.mtu = 256;
  EngineRig rig(options);
  MrAttributes other;
  other.pd = rig.a.pd;
  other.base = host_address(rig.a.heap.data());
  other.start = 0;
  other.length = 64;
  other.access = Access::local_read;
  rig.a.post({.opcode = Opcode::dump, .body = {rig.a.data(0, 2 << 20)}});
  rig.a.post(write_wqe(rig, 0, 0, 1 << 20));
  rig.a.ring();
  std::uint32_t steps = 0;
  for (; rig.a.info().send_completed != 2; ++steps) {
    ASSERT_LT(steps, 1000u);
    ASSERT_TRUE(rig.a.engine.dereg_mr(*rig.a.engine.reg_mr(other)));
    rig.step();
  }
  // A step sends 64 packets or reads 64 pieces at most.
  EXPECT_GE(steps, (1u << 20) / 256 / 64);
  expect_success(rig.a, 0, Opcode::dump);
  expect_success(rig.a, 1, Opcode::rdma_write);
}

TEST(RemovedKey, OfTheRequestUnderWayEndsIt) {
  RigOptions options;
  options.heap = 8 << 20;
  EngineRig rig(options);
  rig.a.post({.opcode = Opcode::dump, .body = {rig.a.data(0, 8 << 20)}});
  rig.a.ring();
  for (int i = 0; i < 3; ++i) rig.step();
  ASSERT_EQ(rig.a.info().send_completed, 0u);
  ASSERT_TRUE(rig.a.engine.dereg_mr(rig.a.key));
  ASSERT_TRUE(rig.run());
  const auto cqe = rig.a.send_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(syndrome_of(*cqe), format::Syndrome::local_protection);
}

TEST(Send, ScattersToTheReceiveWqeInOrder) {
  RigOptions options;
  options.wire.mtu = 256;
  EngineRig rig(options);
  fill(rig.a.heap.data(), 4000, 11);
  const auto at = [&](std::size_t offset, std::uint32_t size) {
    return format::data(rig.b.heap_address(offset), Be32{rig.b.key}, size);
  };
  rig.b.post_receive({at(0, 100), at(8192, 700), at(1000, 500)});
  rig.b.post_receive({at(20'000, 64)});
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 900)}});
  Wqe with_imm{.opcode = Opcode::send_imm, .imm = 7};
  with_imm.body = inline_segments({1, 2, 3});
  rig.a.post(with_imm);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  expect_success(rig.a, 0, Opcode::send);
  expect_success(rig.a, 1, Opcode::send_imm);
  EXPECT_TRUE(same(rig.b, 0, rig.a, 0, 100));
  EXPECT_TRUE(same(rig.b, 8192, rig.a, 100, 700));
  EXPECT_TRUE(same(rig.b, 1000, rig.a, 800, 100));
  EXPECT_EQ(rig.b.heap.data()[1100], 0);
  EXPECT_EQ(rig.b.heap.data()[20'002], 3);
  const auto first = rig.b.receive_cq.poll();
  const auto second = rig.b.receive_cq.poll();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(opcode_of(*first), CqeOpcode::responder_send);
  EXPECT_EQ(first->byte_cnt, 900u);
  EXPECT_EQ(first->wqe_counter, 0u);
  EXPECT_EQ(opcode_of(*second), CqeOpcode::responder_send_imm);
  EXPECT_EQ(second->byte_cnt, 3u);
  EXPECT_EQ(second->imm_inval_pkey, 7u);
  EXPECT_EQ(second->wqe_counter, 1u);
}

// A segment of 2^31 bytes, of which the highest bit means that it is inline, has none: its key is
// not looked at.
TEST(Send, PassesOverAReceiveSegmentWithoutBytes) {
  EngineRig rig;
  fill(rig.a.heap.data(), 8, 13);
  rig.b.post_receive({format::data(0, Be32{0}, 1u << 31),
                      format::data(rig.b.heap_address(0), Be32{rig.b.key}, 64)});
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 8)}});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  expect_success(rig.a, 0, Opcode::send);
  EXPECT_TRUE(same(rig.b, 0, rig.a, 0, 8));
}

TEST(Send, FullStrideReceiveWqesNeedNoTerminator) {
  RigOptions options;
  options.log_rq_stride = 5;
  EngineRig rig(options);
  fill(rig.a.heap.data(), 30, 12);
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 10),
                      format::data(rig.b.heap_address(100), Be32{rig.b.key}, 20)});
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 30)}});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  expect_success(rig.a, 0, Opcode::send);
  EXPECT_TRUE(same(rig.b, 100, rig.a, 10, 20));
}

}  // namespace
}  // namespace gdakit::softnic::test
