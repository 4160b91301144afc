// Everything that can be wrong with a WQE itself, and the error that hardware gives for it.
#include <gtest/gtest.h>

#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;
using format::Syndrome;

class MalformedWqe : public testing::Test {
 protected:
  void expect_malformed(const Wqe& wqe) {
    EngineRig rig;
    expect_fault(rig, wqe, Syndrome::local_qp_operation);
  }
  EngineRig shape;  // for addresses alone
  Wqe good = write_wqe(shape, 64, 0, 8);
};

TEST_F(MalformedWqe, HasAnotherSlotsIndex) {
  Wqe wqe = good;
  for (const std::uint16_t index : {0u, 2u, 65u, 0xffffu}) {
    wqe.index = index;
    expect_malformed(wqe);
  }
}

TEST_F(MalformedWqe, HasAnotherQueuesNumber) {
  Wqe wqe = good;
  wqe.qpn = 0xffffff;
  expect_malformed(wqe);
}

TEST_F(MalformedWqe, HasAnUnknownOpcode) {
  for (int opcode = 0; opcode < 256; ++opcode) {
    switch (static_cast<Opcode>(opcode)) {
      case Opcode::nop:
      case Opcode::send_inval:
      case Opcode::rdma_write:
      case Opcode::rdma_write_imm:
      case Opcode::send:
      case Opcode::send_imm:
      case Opcode::rdma_read:
      case Opcode::atomic_cs:
      case Opcode::atomic_fa:
      case Opcode::atomic_masked_cs:
      case Opcode::atomic_masked_fa:
      case Opcode::dump:
      case Opcode::umr: continue;
    }
    Wqe wqe = good;
    wqe.opcode = static_cast<Opcode>(opcode);
    expect_malformed(wqe);
  }
}

TEST_F(MalformedWqe, HasAnOpmodThatItsOpcodeDoesNotTake) {
  Wqe wqe = good;
  wqe.opmod = 1;
  expect_malformed(wqe);
  Wqe atomic{.opcode = Opcode::atomic_masked_fa,
             .body = {shape.b.remote(64), format::Segment{}, shape.a.data(0, 8)}};
  for (const std::uint8_t opmod : {0x00, 0x07, 0x0a, 0x18, 0xff}) {
    atomic.opmod = opmod;
    expect_malformed(atomic);
  }
}

TEST_F(MalformedWqe, HasNoSegments) {
  Wqe wqe = good;
  wqe.ds = 0;
  expect_malformed(wqe);
}

TEST_F(MalformedWqe, HasTooFewSegmentsForItsOperation) {
  for (const Opcode opcode : {Opcode::rdma_write, Opcode::rdma_write_imm, Opcode::rdma_read}) {
    Wqe wqe{.opcode = opcode};
    expect_malformed(wqe);
  }
  for (std::uint32_t ds = 1; ds < 4; ++ds) {
    Wqe wqe = fetch_add_wqe(shape, 0, 64, 1);
    wqe.ds = ds;
    expect_malformed(wqe);
  }
}

TEST_F(MalformedWqe, HasTooManySegmentsForAnAtomic) {
  Wqe wqe = fetch_add_wqe(shape, 0, 64, 1);
  wqe.body.push_back(shape.a.data(0, 8));
  expect_malformed(wqe);
  Wqe masked{.opcode = Opcode::atomic_masked_cs, .opmod = format::kOpmodAtomic4};
  masked.body = {shape.b.remote(64), format::Segment{}, format::Segment{}, shape.a.data(0, 4)};
  expect_malformed(masked);
}

TEST_F(MalformedWqe, IsLongerThanWhatIsAnnounced) {
  EngineRig rig;
  Wqe wqe = write_wqe(rig, 64, 0, 8);
  wqe.ds = 63;
  rig.a.post(wqe);
  rig.a.producer = 1;
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  const auto cqe = rig.a.send_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(syndrome_of(*cqe), Syndrome::local_qp_operation);
  EXPECT_EQ(rig.a.info().send_completed, 1u);
}

TEST_F(MalformedWqe, HasInlineDataLongerThanItself) {
  for (const std::uint32_t length : {13u, 0x3ffu, 0x400u, 0x7fffffffu}) {
    Wqe wqe = inline_write_wqe(shape, 64, std::vector<std::uint8_t>(12));
    const Be32 header{format::kInline | length};
    std::memcpy(&wqe.body[1], &header, sizeof header);
    expect_malformed(wqe);
  }
}

TEST_F(MalformedWqe, HasInlineDataWhereDataIsToLand) {
  Wqe read = read_wqe(shape, 0, 64, 8);
  read.body[1] = inline_segments({1, 2, 3})[0];
  expect_malformed(read);
  Wqe atomic = fetch_add_wqe(shape, 0, 64, 1);
  atomic.body[2] = read.body[1];
  expect_malformed(atomic);
  expect_malformed({.opcode = Opcode::dump, .body = {read.body[1]}});
}

TEST(LocalLength, RefusesMessagesLongerThanAgreed) {
  RigOptions options;
  options.settings.log_msg_max = 10;
  EngineRig good(options);
  good.a.post(write_wqe(good, 0, 0, 1024));
  good.a.ring();
  ASSERT_TRUE(good.run());
  EXPECT_EQ(opcode_of(*good.a.send_cq.poll()), CqeOpcode::requester);
  EngineRig rig(options);
  expect_fault(rig, write_wqe(rig, 64, 0, 1025), Syndrome::local_length);
  EngineRig two(options);
  Wqe wqe = write_wqe(two, 64, 0, 1000);
  wqe.body.push_back(two.a.data(0, 25));
  expect_fault(two, wqe, Syndrome::local_length);
}

TEST(LocalLength, AByteCountOf0Is2GiB) {
  EngineRig rig;
  Wqe wqe = write_wqe(rig, 64, 0, 8);
  wqe.body[1] = rig.a.data(0, 0);
  expect_fault(rig, wqe, Syndrome::local_length);  // more than any queue takes
}

TEST(LocalLength, RefusesResultsThatDoNotFit) {
  EngineRig rig;
  Wqe wqe = fetch_add_wqe(rig, 0, 64, 1);
  wqe.body[2] = rig.a.data(0, 4);
  expect_fault(rig, wqe, Syndrome::local_length);
}

TEST(LocalProtection, RefusesBadKeysRangesAndRights) {
  constexpr auto kVendor = format::vendor::local_protection;
  const auto with_data = [](EngineRig& rig, MemoryKey key, std::uint64_t address,
                            std::uint32_t size) {
    Wqe wqe = write_wqe(rig, 64, 0, 8);
    wqe.body[1] = format::to_segment(format::data(address, Be32{key}, size));
    return wqe;
  };
  EngineRig unknown;
  expect_fault(unknown, with_data(unknown, 0xdead00, unknown.a.heap_address(0), 8),
               Syndrome::local_protection, kVendor);
  EngineRig variant;
  expect_fault(variant, with_data(variant, variant.a.key ^ 1, variant.a.heap_address(0), 8),
               Syndrome::local_protection, kVendor);
  EngineRig range;
  expect_fault(range, with_data(range, range.a.key, range.a.heap_address((1 << 20) - 7), 8),
               Syndrome::local_protection, kVendor);
  EngineRig domain;
  MrAttributes mr;
  mr.pd = *domain.a.engine.alloc_pd();
  mr.base = host_address(domain.a.heap.data());
  mr.start = mr.base.value;
  mr.length = 4096;
  mr.access = Access::all;
  expect_fault(domain, with_data(domain, *domain.a.engine.reg_mr(mr), mr.start, 8),
               Syndrome::local_protection, kVendor);
  EngineRig bound;
  mr.pd = bound.a.pd;
  mr.base = host_address(bound.a.heap.data());
  mr.start = mr.base.value;
  mr.qpn = bound.a.qpn + 1;
  expect_fault(bound, with_data(bound, *bound.a.engine.reg_mr(mr), mr.start, 8),
               Syndrome::local_protection, kVendor);
  EngineRig gone;
  const MemoryKey key = gone.a.key;
  mr.pd = gone.a.pd;
  mr.base = host_address(gone.a.heap.data());
  mr.start = mr.base.value;
  mr.qpn = kAnyQp;
  gone.a.key = *gone.a.engine.reg_mr(mr);
  ASSERT_TRUE(gone.a.engine.dereg_mr(key));
  expect_fault(gone, with_data(gone, key, mr.start, 8), Syndrome::local_protection, kVendor);
}

// The same memory of a, by a key that lets nobody write.
format::Segment read_only_data(EngineRig& rig, std::size_t offset, std::uint32_t size) {
  MrAttributes mr;
  mr.pd = rig.a.pd;
  mr.base = host_address(rig.a.heap.data());
  mr.start = mr.base.value;
  mr.length = 4096;
  mr.access = Access::local_read;
  const MemoryKey key = *rig.a.engine.reg_mr(mr);
  return format::to_segment(format::data(rig.a.heap_address(offset), Be32{key}, size));
}

Wqe compare_swap_wqe(EngineRig& rig, std::size_t target) {
  Wqe wqe = fetch_add_wqe(rig, 0, target, 1);
  wqe.opcode = Opcode::atomic_cs;
  return wqe;
}

void expect_syndrome(EngineRig& rig, const Wqe& wqe, Syndrome syndrome) {
  rig.a.post(wqe);
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  const auto cqe = rig.a.send_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(syndrome_of(*cqe), syndrome);
}

TEST(LocalProtection, ReadsAndAtomicsNeedTheRightToWriteLocally) {
  EngineRig reads;
  fill(reads.b.heap.data(), 8, 1);
  Wqe read = read_wqe(reads, 0, 0, 8);
  read.body[1] = read_only_data(reads, 0, 8);
  expect_syndrome(reads, read, Syndrome::local_protection);
  EXPECT_EQ(reads.a.word<std::uint64_t>(0), 0u);
  EngineRig adds;
  adds.b.word<std::uint64_t>(0) = 7;
  Wqe add = fetch_add_wqe(adds, 0, 0, 1);
  add.body[2] = read_only_data(adds, 0, 8);
  expect_syndrome(adds, add, Syndrome::local_protection);
  EXPECT_EQ(adds.a.word<std::uint64_t>(0), 0u);
}

// As ConnectX does, by rdma-unit-test: the local key is looked at when the response comes.
TEST(LocalProtection, OfReadsAndAtomicsIsToldAfterWhatThePeerRefuses) {
  const auto with_bad_local_key = [](EngineRig& rig, Wqe wqe) {
    wqe.body.back() = read_only_data(rig, 0, 8);
    return wqe;
  };
  const auto with_bad_keys = [&](EngineRig& rig, Wqe wqe) {
    wqe.body[0] =
        format::to_segment(format::remote_address(rig.b.heap_address(64), Be32{0xdead00}));
    return with_bad_local_key(rig, wqe);
  };
  EngineRig read, add, swap;
  expect_syndrome(read, with_bad_keys(read, read_wqe(read, 0, 64, 8)), Syndrome::remote_access);
  expect_syndrome(add, with_bad_keys(add, fetch_add_wqe(add, 0, 64, 1)), Syndrome::remote_access);
  expect_syndrome(swap, with_bad_keys(swap, compare_swap_wqe(swap, 64)), Syndrome::remote_access);
  EngineRig odd_add, odd_swap;
  expect_syndrome(odd_add, with_bad_local_key(odd_add, fetch_add_wqe(odd_add, 0, 65, 1)),
                  Syndrome::remote_invalid_request);
  expect_syndrome(odd_swap, with_bad_local_key(odd_swap, compare_swap_wqe(odd_swap, 65)),
                  Syndrome::remote_invalid_request);
}

TEST(LocalProtection, AKeyThatGoesAwayDuringAReadStopsItsResponses) {
  RigOptions options;
  options.wire.slots = 2;
  options.wire.mtu = 256;
  EngineRig rig(options);
  fill(rig.b.heap.data(), 100'000, 1);
  rig.a.post(read_wqe(rig, 0, 0, 100'000));
  rig.a.ring();
  for (int i = 0; i < 20; ++i) rig.step();
  ASSERT_EQ(rig.a.info().state, QpState::rts);
  ASSERT_NE(rig.a.heap.data()[256], 0);
  ASSERT_TRUE(rig.a.engine.dereg_mr(rig.a.key));
  const std::vector<std::uint8_t> then(rig.a.heap.data(), rig.a.heap.data() + 100'000);
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(syndrome_of(*rig.a.send_cq.poll()), Syndrome::local_protection);
  EXPECT_EQ(std::memcmp(rig.a.heap.data(), then.data(), then.size()), 0);
}

TEST(LocalProtection, AKeyThatGoesAwayDuringAnAtomicKeepsItsResultOut) {
  EngineRig rig;
  rig.b.word<std::uint64_t>(8) = 5;
  rig.a.post(write_wqe(rig, 64, 64, 8));
  rig.a.post(fetch_add_wqe(rig, 0, 8, 1));
  rig.a.ring();
  rig.a.engine.step(++rig.now_ns);
  rig.b.engine.step(++rig.now_ns);
  ASSERT_TRUE(rig.a.engine.dereg_mr(rig.a.key));
  ASSERT_TRUE(rig.run());
  // The answer says that the WRITE before has been executed.
  EXPECT_EQ(opcode_of(rig.a.send_cq.poll().value()), CqeOpcode::requester);
  EXPECT_EQ(syndrome_of(rig.a.send_cq.poll().value()), Syndrome::local_protection);
  EXPECT_EQ(rig.a.word<std::uint64_t>(0), 0u);
  EXPECT_EQ(rig.b.word<std::uint64_t>(8), 6u);
}

TEST(LocalProtection, AKeyThatGoesAwayDuringAWriteStopsIt) {
  RigOptions options;
  options.wire.slots = 2;
  options.wire.mtu = 256;
  EngineRig rig(options);
  rig.a.post(write_wqe(rig, 0, 0, 100'000));
  rig.a.ring();
  for (int i = 0; i < 20; ++i) rig.step();
  ASSERT_EQ(rig.a.info().state, QpState::rts);
  const std::uint64_t sent = rig.a.engine.counters().packets_sent;
  ASSERT_TRUE(rig.a.engine.dereg_mr(rig.a.key));
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(syndrome_of(*rig.a.send_cq.poll()), Syndrome::local_protection);
  EXPECT_EQ(rig.a.engine.counters().packets_sent, sent) << "from an address that was gone";
}

TEST(LocalProtection, OtherKeysThatGoAwayDuringAWriteDoNotMatter) {
  RigOptions options;
  options.wire.slots = 2;
  options.wire.mtu = 256;
  EngineRig rig(options);
  fill(rig.a.heap.data(), 100'000, 1);
  rig.a.post(write_wqe(rig, 0, 0, 100'000));
  rig.a.ring();
  for (int i = 0; i < 20; ++i) {
    const MemoryKey key = *rig.a.engine.reg_mr({rig.a.pd, {4096}, 0, 64, Access::all, kAnyQp, {}});
    rig.step();
    ASSERT_TRUE(rig.a.engine.dereg_mr(key));
  }
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(opcode_of(rig.a.send_cq.poll().value()), CqeOpcode::requester);
  EXPECT_EQ(std::memcmp(rig.b.heap.data(), rig.a.heap.data(), 100'000), 0);
}

}  // namespace
}  // namespace gdakit::softnic::test
