#include "backends/softnic/objects/number_table.h"

#include <cstdint>
#include <memory>
#include <optional>

#include <gtest/gtest.h>

#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {
namespace {

std::optional<std::uint32_t> add(NumberTable<int>& table) {
  const auto number = table.take();
  if (number) table.put(*number, kNicUid, std::make_unique<int>(0));
  return number;
}

TEST(NumberTable, HandsOutFirstToLimitAndThenWhatWasFreed) {
  NumberSpace numbers(2, 5, 64);
  NumberTable<int> table(numbers);
  for (const std::uint32_t number : {2u, 3u, 4u}) EXPECT_EQ(add(table), number);
  EXPECT_EQ(add(table), std::nullopt);
  for (const std::uint32_t number : {0u, 1u, 5u}) EXPECT_EQ(table.find(number), nullptr);
  table.remove(3);
  EXPECT_EQ(table.find(3), nullptr);
  EXPECT_EQ(add(table), 3u);
  EXPECT_EQ(add(table), std::nullopt);
}

TEST(NumberTable, BeginsBehindTheNumbersThatAreSkipped) {
  constexpr std::uint32_t kSkipped = 5'000'000, kFirst = kSkipped + 2;
  NumberSpace numbers(ObjectKind::qp, 2, kSkipped);
  NumberTable<int> table(numbers);
  EXPECT_EQ(add(table), kFirst);
  EXPECT_EQ(add(table), kFirst + 1);
  EXPECT_EQ(add(table), std::nullopt);
  EXPECT_EQ(table.begin_number(), kFirst);
  EXPECT_EQ(table.end_number(), kFirst + 2);
  for (const std::uint32_t number : {0u, 2u, kFirst - 1, kFirst + 2, 0xffffffu}) {
    EXPECT_EQ(table.find(number), nullptr);
  }
  EXPECT_NE(table.find(kFirst), nullptr);
  EXPECT_NE(table.remove(kFirst), nullptr);
  EXPECT_EQ(table.find(kFirst), nullptr);
  EXPECT_EQ(add(table), kFirst);
}

TEST(NumberTable, SkipsAllButTheLastNumbers) {
  const KindRow& row = kind_row(ObjectKind::qp);
  for (const std::uint32_t left : {1u, 4u, 1u << 22}) {
    NumberSpace numbers(ObjectKind::qp, 1u << 24, row.limit - row.first - left);
    EXPECT_EQ(numbers.most(), left);
    EXPECT_EQ(numbers.first() + numbers.most(), row.limit);
  }
}

TEST(NumberTable, SkippingAllNumbersIsAnError) {
  const KindRow& row = kind_row(ObjectKind::qp);
  const std::uint32_t all = row.limit - row.first;
  for (const std::uint32_t skipped : {all, all + 1}) {
    EXPECT_DEATH(NumberSpace(ObjectKind::qp, 4, skipped), "first < row.limit") << skipped;
  }
}

TEST(NumberTable, LetsAFreedNumberRest) {
  constexpr std::uint32_t kResting = 64;
  NumberSpace numbers(1, 1000, kResting);
  NumberTable<int> table(numbers);
  ASSERT_EQ(add(table), 1u);
  table.remove(1);
  for (std::uint32_t i = 0; i < kResting; ++i) {
    const auto number = add(table);
    ASSERT_EQ(number, i + 2);
    table.remove(*number);
  }
  EXPECT_EQ(add(table), 1u);
}

TEST(NumberTable, SharesNumbersWithOtherKinds) {
  NumberSpace numbers(1, 4, 64);
  NumberTable<int> table(numbers), other(numbers);
  EXPECT_EQ(add(table), 1u);
  EXPECT_EQ(add(other), 2u);
  EXPECT_EQ(add(table), 3u);
  EXPECT_EQ(add(other), std::nullopt);
  EXPECT_EQ(table.find(2), nullptr);
  EXPECT_EQ(other.find(1), nullptr);
  EXPECT_EQ(other.find(3), nullptr);
  table.remove(1);
  EXPECT_EQ(add(other), 1u);
  EXPECT_EQ(kind_row(ObjectKind::qp).space, kind_row(ObjectKind::dct).space);
}

TEST(NumberTable, ShowsAnObjectToItsOwnerAlone) {
  NumberSpace numbers(1, 3, 64);
  NumberTable<int> table(numbers);
  table.put(*table.take(), 7, std::make_unique<int>(0));
  EXPECT_NE(table.find(1, 7), nullptr);
  EXPECT_NE(table.find(1), nullptr);
  for (const Uid other : {kNicUid, Uid{6}, Uid{0xffff}}) EXPECT_EQ(table.find(1, other), nullptr);
  for (const std::uint32_t number : {0u, 2u, 3u}) EXPECT_EQ(table.find(number, 7), nullptr);
  table.remove(1);
  EXPECT_EQ(table.find(1, 7), nullptr);
}

TEST(NumberSpace, HandsOutNoMoreThanTheyMayBe) {
  NumberSpace few(ObjectKind::qp, 2);
  EXPECT_EQ(few.most(), 2u);
  EXPECT_EQ(few.take(), 2u);
  EXPECT_EQ(few.take(), 3u);
  EXPECT_EQ(few.take(), std::nullopt);
  few.give_back(2);
  EXPECT_EQ(few.take(), 2u);
  EXPECT_EQ(NumberSpace(ObjectKind::qp, 0xffffffff).most(), 0xffffffu - 2);
}

// The last four numbers that queue pairs may have, as one of several NICs may get them.
TEST(Engine, HasTheQueuePairsOfItsSliceAndAsManyOtherObjectsAsEver) {
  RigOptions options;
  options.engine.max_qps = 4;
  options.engine.skipped_qps = kMulticastQp - 4 - kind_row(ObjectKind::qp).first;
  EngineRig rig(options);
  Side& side = rig.a;
  EXPECT_EQ(side.qpn, kMulticastQp - 4);
  for (const QpNumber expected : {kMulticastQp - 3, kMulticastQp - 2, kMulticastQp - 1}) {
    const Outcome<QpNumber> qpn = side.engine.create_qp(side.another_qp(side.record));
    ASSERT_TRUE(qpn);
    EXPECT_EQ(*qpn, expected);
  }
  EXPECT_EQ(side.engine.create_qp(side.another_qp(side.record)).status().syndrome,
            CommandSyndrome::create_qp_numbers);
  CqAttributes cq;
  cq.entries = side.send_cq.address();
  cq.overrun_ignore = true;
  MrAttributes mr;
  mr.pd = side.pd;
  mr.base = host_address(side.heap.data());
  mr.length = 64;
  for (int i = 0; i < 8; ++i) {
    EXPECT_TRUE(side.engine.alloc_pd());
    EXPECT_TRUE(side.engine.alloc_uar(UarType::dense));
    EXPECT_TRUE(side.engine.create_cq(cq));
    EXPECT_TRUE(side.engine.reg_mr(mr));
  }
  // What is sent to these numbers comes.
  side.post(write_wqe(rig, 0, 64, 64));
  side.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(side.send_cq.poll_all().size(), 1u);
}

// As on hardware: 0 and 1 are the ports' own queue pairs, and 0 is no object of any other kind.
TEST(Engine, KeepsReservedNumbers) {
  EngineRig rig;
  EXPECT_EQ(rig.a.qpn, 2u);
  EXPECT_NE(rig.a.pd, 0u);
  EXPECT_NE(rig.a.uar, 0u);
  EXPECT_NE(rig.a.send_cqn, 0u);
  EXPECT_GE(rig.a.key >> 8, kind_row(ObjectKind::mkey).first);
  for (const QpNumber qpn : {0u, 1u, kMulticastQp}) EXPECT_FALSE(rig.a.engine.query_qp(qpn));
}

}  // namespace
}  // namespace gdakit::softnic::test
