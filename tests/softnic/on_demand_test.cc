// Memory that is paged on demand, and need not be there.
#include "backends/softnic/dma/on_demand.h"

#include <atomic>
#include <cstring>
#include <sys/mman.h>
#include <thread>

#include <gtest/gtest.h>

#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::Completion;
using format::CqeOpcode;
using format::Opcode;
using format::Syndrome;

constexpr std::size_t kPage = 4096;

// Pages of one row of addresses, which are there or not.
class Row {
 public:
  explicit Row(std::size_t pages)
      : bytes_(pages * kPage),
        memory_(static_cast<std::uint8_t*>(
            ::mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
  ~Row() { ::munmap(memory_, bytes_); }

  void make(std::size_t page, int rights = PROT_READ | PROT_WRITE) const {
    ::mmap(at(page), kPage, rights, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  }
  void take_away(std::size_t page) const { make(page, PROT_NONE); }

  std::uint8_t* at(std::size_t page) const { return memory_ + page * kPage; }
  std::uint64_t value(std::size_t page) const { return host_address(at(page)).value; }
  DmaAddress address(std::size_t page, std::size_t offset = 0) const {
    return {(value(page) + offset) | kOnDemandBit};
  }
  std::size_t bytes() const { return bytes_; }

 private:
  std::size_t bytes_;
  std::uint8_t* memory_;
};

TEST(OnDemand, TheSystemSaysWhereThereIsNothing) {
  if (!has_on_demand_memory()) GTEST_SKIP() << "the system does not copy for this process";
  const Row row(3);
  row.make(0);
  row.make(2, PROT_READ);
  std::uint8_t bytes[64] = {7};
  EXPECT_TRUE(write_on_demand(row.address(0), bytes, sizeof bytes));
  EXPECT_EQ(row.at(0)[0], 7);
  EXPECT_TRUE(read_on_demand(bytes, row.address(0), sizeof bytes));
  EXPECT_TRUE(read_on_demand(bytes, row.address(2), sizeof bytes));
  EXPECT_FALSE(write_on_demand(row.address(2), bytes, sizeof bytes));
  EXPECT_FALSE(read_on_demand(bytes, row.address(1), sizeof bytes));
  EXPECT_FALSE(write_on_demand(row.address(1), bytes, sizeof bytes));
  EXPECT_FALSE(write_on_demand(row.address(0, kPage - 32), bytes, sizeof bytes));
  EXPECT_FALSE(read_on_demand(bytes, row.address(0, kPage - 32), sizeof bytes));
}

TEST(OnDemand, EveryLengthAtEveryPlaceArrives) {
  if (!has_on_demand_memory()) GTEST_SKIP() << "the system does not copy for this process";
  const Row row(1);
  row.make(0);
  std::uint8_t from[32], back[32];
  fill(from, sizeof from, 3);
  for (std::size_t place = 0; place < 9; ++place) {
    for (std::size_t size = 1; size <= sizeof from; ++size) {
      std::memset(row.at(0), 0, 64);
      ASSERT_TRUE(write_on_demand(row.address(0, place), from, size));
      ASSERT_EQ(std::memcmp(row.at(0) + place, from, size), 0);
      ASSERT_EQ(row.at(0)[place + size], 0);
      ASSERT_TRUE(read_on_demand(back, row.address(0, place), size));
      ASSERT_EQ(std::memcmp(back, from, size), 0);
    }
  }
}

TEST(OnDemand, AtomicsChangeTheirWordOrNothing) {
  if (!has_on_demand_memory()) GTEST_SKIP() << "the system does not copy for this process";
  const Row row(2);
  row.make(0);
  auto* const word = reinterpret_cast<std::uint64_t*>(row.at(0));
  *word = 40;
  AtomicRequest add;
  add.swap_add = 2;
  std::uint64_t old = 0;
  EXPECT_TRUE(atomic_on_demand(row.address(0), add, &old));
  EXPECT_EQ(old, 40u);
  EXPECT_EQ(*word, 42u);
  add.size = 4;
  add.swap_add = 0xffffffff;
  EXPECT_TRUE(atomic_on_demand(row.address(0), add, &old));
  EXPECT_EQ(*word, 41u);
  EXPECT_FALSE(atomic_on_demand(row.address(1), add, &old));
  row.make(1, PROT_READ);
  EXPECT_FALSE(atomic_on_demand(row.address(1), add, &old));
  EXPECT_EQ(old, 42u);
}

// The process lives on, whenever it takes its memory away.
TEST(OnDemand, MemoryMayGoAtAnyMoment) {
  if (!has_on_demand_memory()) GTEST_SKIP() << "the system does not copy for this process";
  const Row row(1);
  std::atomic<bool> ended{false};
  std::thread owner([&] {
    while (!ended) {
      row.make(0);
      row.take_away(0);
    }
  });
  std::uint8_t bytes[512] = {};
  AtomicRequest add;
  std::uint64_t old = 0;
  for (int i = 0; i < 5000; ++i) {
    static_cast<void>(read_on_demand(bytes, row.address(0), sizeof bytes));
    static_cast<void>(write_on_demand(row.address(0), bytes, sizeof bytes));
    static_cast<void>(atomic_on_demand(row.address(0), add, &old));
  }
  ended = true;
  owner.join();
}

// Both sides have a region over a row of their own.
struct OnDemandRig : testing::Test {
  static RigOptions options() {
    RigOptions options;
    options.settings.log_msg_max = 30;
    return options;
  }
  OnDemandRig() : key_a(key_of(rig.a, row_a)), key_b(key_of(rig.b, row_b)) {}
  void SetUp() override {
    if (!has_on_demand_memory()) GTEST_SKIP() << "the system does not copy for this process";
  }

  static MemoryKey key_of(Side& side, const Row& row) {
    MrAttributes attributes;
    attributes.pd = side.pd;
    attributes.base = row.address(0);
    attributes.start = row.value(0);
    attributes.length = row.bytes();
    attributes.access = Access::all;
    return *side.engine.reg_mr(attributes);
  }
  Wqe wqe(Opcode opcode, std::uint32_t size) const {
    Wqe wqe;
    wqe.opcode = opcode;
    wqe.body = {format::to_segment(format::remote_address(row_b.value(0), Be32{key_b})),
                format::to_segment(format::data(row_a.value(0), Be32{key_a}, size))};
    return wqe;
  }
  Syndrome outcome_of(const Wqe& wqe) {
    rig.a.post(wqe);
    rig.a.ring();
    EXPECT_TRUE(rig.run());
    const auto cqe = rig.a.send_cq.poll();
    if (!cqe) throw std::runtime_error("no CQE");
    return opcode_of(*cqe) == CqeOpcode::requester ? Syndrome::none : syndrome_of(*cqe);
  }

  EngineRig rig{options()};
  Row row_a{4}, row_b{4};
  MemoryKey key_a, key_b;
};

TEST_F(OnDemandRig, AWriteGoesWhereThereIsMemoryByNow) {
  for (std::size_t page = 0; page < 4; ++page) {
    row_a.make(page);
    row_b.make(page);
  }
  fill(row_a.at(0), row_a.bytes(), 5);
  const auto size = static_cast<std::uint32_t>(row_a.bytes());
  EXPECT_EQ(outcome_of(wqe(Opcode::rdma_write, size)), Syndrome::none);
  EXPECT_EQ(std::memcmp(row_b.at(0), row_a.at(0), row_a.bytes()), 0);
  std::memset(row_a.at(0), 0, row_a.bytes());
  EXPECT_EQ(outcome_of(wqe(Opcode::rdma_read, size)), Syndrome::none);
  EXPECT_EQ(std::memcmp(row_b.at(0), row_a.at(0), row_a.bytes()), 0);
}

// By reference it would be, of a region of the other kind.
TEST_F(OnDemandRig, OtherMemoryIsWrittenThereByReference) {
  for (std::size_t page = 0; page < 4; ++page) row_b.make(page);
  fill(rig.a.heap.data(), 10000, 6);
  Wqe wqe;
  wqe.opcode = Opcode::rdma_write;
  wqe.body = {format::to_segment(format::remote_address(row_b.value(0), Be32{key_b})),
              rig.a.data(0, 5000), rig.a.data(5000, 5000)};
  EXPECT_EQ(outcome_of(wqe), Syndrome::none);
  EXPECT_EQ(std::memcmp(row_b.at(0), rig.a.heap.data(), 10000), 0);
}

TEST_F(OnDemandRig, NoMemoryToReadFromEndsAWriteHere) {
  row_b.make(0);
  EXPECT_EQ(outcome_of(wqe(Opcode::rdma_write, 8)), Syndrome::local_protection);
  EXPECT_EQ(rig.a.info().state, QpState::err);
  EXPECT_EQ(row_b.at(0)[0], 0);
}

TEST_F(OnDemandRig, NoMemoryInTheMiddleEndsALongWrite) {
  for (const std::size_t page : {0u, 1u, 3u}) row_a.make(page);
  for (std::size_t page = 0; page < 4; ++page) row_b.make(page);
  EXPECT_EQ(outcome_of(wqe(Opcode::rdma_write, 4 * kPage)), Syndrome::local_protection);
}

TEST_F(OnDemandRig, NoMemoryToWriteToIsToldToThePeer) {
  for (std::size_t page = 0; page < 4; ++page) row_a.make(page);
  row_b.make(0);
  EXPECT_EQ(outcome_of(wqe(Opcode::rdma_write, 2 * kPage)), Syndrome::remote_access);
  EXPECT_EQ(rig.b.info().state, QpState::err);
}

TEST_F(OnDemandRig, MemoryThatMayNotBeWrittenIsNotWritten) {
  row_a.make(0);
  row_b.make(0, PROT_READ);
  EXPECT_EQ(outcome_of(wqe(Opcode::rdma_write, 64)), Syndrome::remote_access);
}

TEST_F(OnDemandRig, NoMemoryToReadFromIsToldToThePeer) {
  for (std::size_t page = 0; page < 4; ++page) row_a.make(page);
  row_b.make(0);
  EXPECT_EQ(outcome_of(wqe(Opcode::rdma_read, 2 * kPage)), Syndrome::remote_access);
}

TEST_F(OnDemandRig, NoMemoryForAnAnswerEndsAReadHere) {
  row_b.make(0);
  EXPECT_EQ(outcome_of(wqe(Opcode::rdma_read, 64)), Syndrome::local_protection);
}

TEST_F(OnDemandRig, AtomicsNeedTheirWord) {
  row_a.make(0);
  row_b.make(0);
  *reinterpret_cast<std::uint64_t*>(row_b.at(0)) = 5;
  Wqe add = wqe(Opcode::atomic_fa, 8);
  format::AtomicSegment operands{};
  operands.swap_add = Be64{3};
  add.body.insert(add.body.begin() + 1, format::to_segment(operands));
  EXPECT_EQ(outcome_of(add), Syndrome::none);
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(row_b.at(0)), 8u);
  EXPECT_EQ(*reinterpret_cast<std::uint64_t*>(row_a.at(0)), 5u);
  row_b.take_away(0);
  EXPECT_EQ(outcome_of(add), Syndrome::remote_access);
}

TEST_F(OnDemandRig, ADumpNeedsItsMemory) {
  row_a.make(0);
  Wqe dump;
  dump.opcode = Opcode::dump;
  dump.body = {format::to_segment(format::data(row_a.value(0), Be32{key_a}, kPage))};
  EXPECT_EQ(outcome_of(dump), Syndrome::none);
  row_a.take_away(0);
  EXPECT_EQ(outcome_of(dump), Syndrome::local_protection);
}

}  // namespace
}  // namespace gdakit::softnic::test
