#include "backends/softnic/memory/keys.h"

#include <cstdint>
#include <set>

#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

constexpr PdNumber kPd = 3;
constexpr QpNumber kQp = 17;

MrAttributes region() {
  MrAttributes mr;
  mr.pd = kPd;
  mr.base = {0x10000};
  mr.start = 0x10000;
  mr.length = 0x1000;
  mr.access = Access::local_read | Access::local_write | Access::remote_read;
  return mr;
}

class KeyTableTest : public testing::Test {
 protected:
  KeyFault fault(std::uint64_t iova, std::uint64_t size, Access wanted = Access::local_read,
                 PdNumber pd = kPd, QpNumber qpn = kQp) const {
    return keys.translate(key, pd, qpn, iova, size, wanted).fault;
  }
  KeyTable keys;
  MemoryKey key = *keys.add(region());
};

// Keys that nobody guesses: neither of them is known by the other table.
TEST(KeyTable, BeginsBehindTheIndicesThatAreSkippedWithItsVariant) {
  constexpr std::uint32_t kSkipped = 7'000'000;
  KeyTable first, skipping(1000, kSkipped, 0xff);
  const MemoryKey key = *first.add(region()), far = *skipping.add(region());
  EXPECT_EQ(far >> 8, (key >> 8) + kSkipped);
  EXPECT_EQ(far & 0xff, 0xffu);
  EXPECT_EQ(*skipping.add(region()), far + 0x100);
  const auto fault = [](const KeyTable& keys, MemoryKey asked) {
    return keys.translate(asked, kPd, kQp, 0x10000, 1, Access::local_read).fault;
  };
  EXPECT_EQ(fault(skipping, far), KeyFault::none);
  for (const MemoryKey wrong : {key, far - 1, far - 0x100, far + 0x200, 0u}) {
    EXPECT_EQ(fault(skipping, wrong), KeyFault::unknown_key);
  }
  EXPECT_EQ(fault(first, far), KeyFault::unknown_key);
  EXPECT_FALSE(skipping.remove(key));
  EXPECT_TRUE(skipping.remove(far));
  EXPECT_EQ(fault(skipping, far), KeyFault::unknown_key);
}

TEST_F(KeyTableTest, GrantsWhatWasRegistered) {
  const Translation found = keys.translate(key, kPd, kQp, 0x10010, 0xff0, Access::local_write);
  EXPECT_EQ(found.fault, KeyFault::none);
  EXPECT_EQ(found.piece.base, DmaAddress{0x10010});
  EXPECT_EQ(fault(0x10000, 0x1000), KeyFault::none);
  EXPECT_EQ(fault(0x11000, 0), KeyFault::none);
}

// The key itself stays, and so do the rights of whom it belongs to.
TEST_F(KeyTableTest, ChangesWhatAKeyMeans) {
  MrAttributes other = region();
  other.base = {0x50000};
  other.access = Access::local_read;
  ASSERT_TRUE(keys.change(key, other));
  EXPECT_EQ(keys.removals(), 1u) << "who remembers where the old memory lies must look again";
  EXPECT_EQ(keys.translate(key, kPd, kQp, 0x10010, 8, Access::local_read).piece.base,
            DmaAddress{0x50010});
  EXPECT_EQ(fault(0x10000, 8, Access::local_write), KeyFault::access);
  other.start = ~std::uint64_t{0} - 10;
  EXPECT_FALSE(keys.change(key, other));
  EXPECT_EQ(fault(0x10000, 0x1000), KeyFault::none) << "a change that is refused changes nothing";
  EXPECT_FALSE(keys.change(key, region(), kNicUid + 1));
  EXPECT_FALSE(keys.change(key + 1, region()));
  EXPECT_FALSE(keys.find_memory(key + 1, kNicUid));
}

TEST_F(KeyTableTest, CountsRemovals) {
  EXPECT_EQ(keys.removals(), 0u);
  ASSERT_TRUE(keys.remove(key));
  EXPECT_EQ(keys.removals(), 1u);
  EXPECT_FALSE(keys.remove(key));
  key = *keys.add(region());
  EXPECT_EQ(keys.removals(), 1u);
  ASSERT_TRUE(keys.remove(key));
  EXPECT_EQ(keys.removals(), 2u);
}

TEST_F(KeyTableTest, RefusesRangesThatReachOutside) {
  EXPECT_EQ(fault(0x10000, 0x1001), KeyFault::range);
  EXPECT_EQ(fault(0xffff, 1), KeyFault::range);
  EXPECT_EQ(fault(0x11000, 1), KeyFault::range);
  EXPECT_EQ(fault(0x10fff, 2), KeyFault::range);
  EXPECT_EQ(fault(0, 1), KeyFault::range);
  EXPECT_EQ(fault(0x10001, ~std::uint64_t{0}), KeyFault::range);
  EXPECT_EQ(fault(~std::uint64_t{0}, 1), KeyFault::range);
}

TEST_F(KeyTableTest, RefusesRightsThatWereNotGiven) {
  EXPECT_EQ(fault(0x10000, 8, Access::remote_write), KeyFault::access);
  EXPECT_EQ(fault(0x10000, 8, Access::remote_atomic), KeyFault::access);
  EXPECT_EQ(fault(0x10000, 8, Access::remote_read), KeyFault::none);
  MrAttributes none = region();
  none.access = Access::none;
  key = *keys.add(none);
  EXPECT_EQ(fault(0x10000, 8, Access::local_read), KeyFault::access);
  EXPECT_EQ(fault(0x10000, 8, Access::local_write), KeyFault::access);
  EXPECT_EQ(fault(0x10000, 8, Access::remote_read), KeyFault::access);
}

TEST_F(KeyTableTest, RefusesOtherProtectionDomainsAndQueuePairs) {
  EXPECT_EQ(fault(0x10000, 8, Access::local_read, kPd + 1), KeyFault::wrong_pd);
  MrAttributes bound = region();
  bound.qpn = kQp;
  key = *keys.add(bound);
  EXPECT_EQ(fault(0x10000, 8, Access::local_read, kPd, kQp), KeyFault::none);
  EXPECT_EQ(fault(0x10000, 8, Access::local_read, kPd, kQp + 1), KeyFault::wrong_qp);
}

TEST_F(KeyTableTest, RefusesUnknownIndexAndWrongVariant) {
  const MemoryKey good = key;
  key = good ^ 1;
  EXPECT_EQ(fault(0x10000, 8), KeyFault::unknown_key);
  key = good + 0x100;
  EXPECT_EQ(fault(0x10000, 8), KeyFault::unknown_key);
  key = 0;
  EXPECT_EQ(fault(0x10000, 8), KeyFault::unknown_key);
  key = 0xffffffff;
  EXPECT_EQ(fault(0x10000, 8), KeyFault::unknown_key);
}

TEST_F(KeyTableTest, GivesOutNoKeyThatMeansSomethingByItself) {
  KeyTable fresh;
  MrAttributes mr = region();
  mr.variant = 0;
  constexpr MemoryKey kEndOfList = 0x100;  // of a receive WQE's data segments
  EXPECT_GT(*fresh.add(mr), kEndOfList);
}

TEST_F(KeyTableTest, TranslatesZeroBasedAndShiftedRegions) {
  MrAttributes zero = region();
  zero.start = 0;
  key = *keys.add(zero);
  EXPECT_EQ(keys.translate(key, kPd, kQp, 0x20, 8, Access::local_read).piece.base,
            DmaAddress{0x10020});
  EXPECT_EQ(fault(0x10020, 8), KeyFault::range);
  MrAttributes top = region();
  top.start = 0xfffffffffffff000;
  key = *keys.add(top);
  EXPECT_EQ(fault(0xfffffffffffff000, 0x1000), KeyFault::none);
  EXPECT_EQ(fault(0xfffffffffffff001, 0x1000), KeyFault::range);
}

MrAttributes region_of_pages() {
  MrAttributes mr = region();
  mr.base = {};
  mr.start = 0x40000f00;
  mr.length = 0x3200;  // from the last 256 bytes of a page to the first 256 of the fourth behind it
  mr.pages = {{0x70000}, {0x20000}, {0x21000}, {0x22000}, {0x90000}};
  return mr;
}

TEST_F(KeyTableTest, TranslatesPagesAndJoinsNeighbours) {
  key = *keys.add(region_of_pages());
  const auto piece = [&](std::uint64_t iova, std::uint64_t size) {
    return keys.translate(key, kPd, kQp, iova, size, Access::local_read).piece;
  };
  EXPECT_EQ(piece(0x40000f00, 8).base, DmaAddress{0x70f00});
  EXPECT_EQ(piece(0x40000f00, 0x3200).length, 0x100u);
  EXPECT_EQ(piece(0x40001000, 0x3100).base, DmaAddress{0x20000});
  EXPECT_EQ(piece(0x40001000, 0x3100).length, 0x3000u);
  EXPECT_EQ(piece(0x40002010, 0x10).length, 0x10u);
  EXPECT_EQ(piece(0x40003fff, 2).length, 1u);
  EXPECT_EQ(piece(0x40004000, 0x100).base, DmaAddress{0x90000});
  EXPECT_EQ(fault(0x40004000, 0x101), KeyFault::range);
  EXPECT_EQ(fault(0x40000eff, 1), KeyFault::range);
  EXPECT_EQ(fault(0x40004100, 0), KeyFault::none);
  const std::vector<MemoryRange> memory = keys.memory(key);
  ASSERT_EQ(memory.size(), 3u);
  EXPECT_EQ(memory[1].base, DmaAddress{0x20000});
  EXPECT_EQ(memory[1].length, 0x3000u);
}

TEST_F(KeyTableTest, RefusesPagesThatDoNotFitTheRegion) {
  MrAttributes few = region_of_pages();
  few.pages.pop_back();
  EXPECT_FALSE(keys.add(few));
  MrAttributes many = region_of_pages();
  many.pages.push_back({0xa0000});
  EXPECT_FALSE(keys.add(many));
  MrAttributes askew = region_of_pages();
  askew.pages[2] = {0x21008};
  EXPECT_FALSE(keys.add(askew));
  for (const int log_size : {0, 11, 32, 64, 255}) {
    MrAttributes odd = region_of_pages();
    odd.log_page_size = static_cast<std::uint8_t>(log_size);
    EXPECT_FALSE(keys.add(odd)) << log_size;
  }
}

TEST_F(KeyTableTest, ARemovedKeyGrantsNothing) {
  ASSERT_TRUE(keys.remove(key));
  EXPECT_EQ(fault(0x10000, 8), KeyFault::unknown_key);
  const auto again = keys.remove(key);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.status().status, CommandStatus::bad_res);
}

TEST_F(KeyTableTest, AnIndexComesBackLateAndWithAnotherVariant) {
  const std::uint32_t index = key >> 8;
  const MemoryKey first = key;
  constexpr std::size_t kResting = kind_row(ObjectKind::mkey).resting;
  std::size_t rounds = 0;
  for (;; ++rounds) {
    ASSERT_TRUE(keys.remove(key));
    key = *keys.add(region());
    if (key >> 8 == index) break;
    ASSERT_LT(rounds, 3 * kResting);
  }
  EXPECT_GE(rounds, kResting);
  EXPECT_NE(key, first);
}

TEST_F(KeyTableTest, TakesTheCallersVariant) {
  MrAttributes chosen = region();
  chosen.variant = 0x5a;
  EXPECT_EQ(*keys.add(chosen) & 0xff, 0x5au);
}

TEST_F(KeyTableTest, RefusesRegionsThatCannotBe) {
  MrAttributes bad = region();
  bad.start = ~std::uint64_t{0} - 10;
  EXPECT_FALSE(keys.add(bad));
  bad = region();
  bad.base = {~std::uint64_t{0} - 10};
  EXPECT_FALSE(keys.add(bad));
  bad = region();
  bad.access = Access::remote_write;
  EXPECT_FALSE(keys.add(bad));
  bad.access = Access::remote_atomic;
  EXPECT_FALSE(keys.add(bad));
}

TEST_F(KeyTableTest, ARegionMayHaveNoBytes) {
  MrAttributes none = region();
  none.length = 0;
  key = *keys.add(none);
  EXPECT_EQ(fault(none.start, 0), KeyFault::none);
  EXPECT_EQ(fault(none.start, 1), KeyFault::range);
  none.log_page_size = 12;
  none.pages = {none.base};
  EXPECT_FALSE(keys.add(none)) << "nor any pages";
}

TEST_F(KeyTableTest, CountsTheKeysOfADomain) {
  EXPECT_EQ(keys.count(kPd), 1u);
  EXPECT_EQ(keys.count(kPd + 1), 0u);
  ASSERT_TRUE(keys.remove(key));
  EXPECT_EQ(keys.count(kPd), 0u);
}

}  // namespace
}  // namespace gdakit::softnic
