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
  if (number) table.put(*number, std::make_unique<int>(0));
  return number;
}

TEST(NumberTable, HandsOutFirstToLimitAndThenWhatWasFreed) {
  NumberTable<int> table(2, 5);
  for (const std::uint32_t number : {2u, 3u, 4u}) EXPECT_EQ(add(table), number);
  EXPECT_EQ(add(table), std::nullopt);
  for (const std::uint32_t number : {0u, 1u, 5u}) EXPECT_EQ(table.find(number), nullptr);
  table.remove(3);
  EXPECT_EQ(table.find(3), nullptr);
  EXPECT_EQ(add(table), 3u);
  EXPECT_EQ(add(table), std::nullopt);
}

TEST(NumberTable, LetsAFreedNumberRest) {
  NumberTable<int> table(1, 1000);
  ASSERT_EQ(add(table), 1u);
  table.remove(1);
  for (std::uint32_t i = 0; i < NumberTable<int>::kResting; ++i) {
    const auto number = add(table);
    ASSERT_EQ(number, i + 2);
    table.remove(*number);
  }
  EXPECT_EQ(add(table), 1u);
}

// As on hardware: 0 and 1 are the ports' own queue pairs, and 0 is no object of any other kind.
TEST(Engine, KeepsReservedNumbers) {
  EngineRig rig;
  EXPECT_EQ(rig.a.qpn, 2u);
  EXPECT_NE(rig.a.pd, 0u);
  EXPECT_NE(rig.a.uar, 0u);
  EXPECT_NE(rig.a.send_cqn, 0u);
  EXPECT_GE(rig.a.key >> 8, KeyTable::kFirstIndex);
  for (const QpNumber qpn : {0u, 1u, kMulticastQp}) EXPECT_FALSE(rig.a.engine.query_qp(qpn));
}

}  // namespace
}  // namespace gdakit::softnic::test
