// Lists that keys consist of: which byte lies in which part.
#include "backends/softnic/memory/key_list.h"

#include <bit>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/softnic/mkey_lists.h"

namespace gdakit::softnic::test {
namespace {

// {key, address} of each of the first bytes.
struct Byte {
  MemoryKey key = 0;
  std::uint64_t iova = 0;
  friend bool operator==(const Byte&, const Byte&) = default;
};

std::vector<Byte> bytes_of(const KeyList& list, std::uint64_t count) {
  std::vector<Byte> bytes;
  for (std::uint64_t at = 0; at != count; ++at) {
    const auto part = list.find(at);
    if (!part) break;
    EXPECT_GT(part->length, 0u);
    bytes.push_back({part->key, part->iova});
  }
  return bytes;
}

TEST(KeyList, ConcatenatesItsParts) {
  KeyList list(4, {});
  ASSERT_TRUE(list.put(0, std::vector{klm(0x1000, 100, 2), klm(0x2000, 200, 3)}));
  const std::vector<Byte> expected = {
      {0x1000, 100}, {0x1000, 101}, {0x2000, 200}, {0x2000, 201}, {0x2000, 202}};
  EXPECT_EQ(bytes_of(list, 99), expected);
  EXPECT_EQ(list.find(2)->length, 3u);
  EXPECT_FALSE(list.find(5));
  EXPECT_FALSE(list.find(~std::uint64_t{0}));
}

TEST(KeyList, OfNothingHasNoByte) {
  const KeyList list(4, {});
  EXPECT_FALSE(list.find(0));
}

TEST(KeyList, TakesNoBytesForTwoGibibytes) {
  KeyList list(4, {});
  ASSERT_TRUE(list.put(0, std::vector{klm(0x1000, 100, 0), klm(0x2000, 0, 1)}));
  EXPECT_EQ(list.find(0x7fffffff)->key, 0x1000u);
  EXPECT_EQ(list.find(0x80000000)->key, 0x2000u);
}

TEST(KeyList, OfPartsOfOneSizeLooksAtNoOtherSize) {
  KeyList list(4, 12);
  ASSERT_TRUE(list.put(0, std::vector{klm(0x1000, 1, 7), klm(0x2000, 2, 0)}));
  EXPECT_EQ(list.find(4095)->iova, 4096u);
  EXPECT_EQ(list.find(4095)->length, 1u);
  EXPECT_EQ(list.find(4096)->key, 0x2000u);
  EXPECT_EQ(list.find(4096)->length, 4096u);
  EXPECT_FALSE(list.find(8192));
  // A repeat block is a part like others there.
  EXPECT_TRUE(list.put(0, repeat_block(3, {{100, 2, 1, 0x1000}})));
  EXPECT_EQ(list.find(0)->key, format::kRepeatBlock);
}

TEST(KeyList, OfAllSizesOfPartsEndsWhereTheyEnd) {
  for (std::uint8_t log = 0; log < 64; ++log) {
    KeyList list(4, log);
    ASSERT_TRUE(list.put(0, std::vector{klm(0x1000, 5, 0)}));
    const std::uint64_t last = (std::uint64_t{1} << log) - 1;
    EXPECT_EQ(list.find(last)->iova, 5 + last);
    EXPECT_FALSE(list.find(last + 1));
  }
}

TEST(KeyList, RepeatsPartsWithTheirStrides) {
  KeyList list(4, {});
  ASSERT_TRUE(list.put(0, repeat_block(2, {{100, 2, 8, 0x1000}, {500, 1, 0, 0x2000}})));
  const std::vector<Byte> expected = {{0x1000, 100}, {0x1000, 101}, {0x2000, 500},
                                      {0x1000, 110}, {0x1000, 111}, {0x2000, 501}};
  EXPECT_EQ(bytes_of(list, 99), expected);
  EXPECT_EQ(list.find(0)->length, 2u);
}

TEST(KeyList, RefusesBlocksThatAreNone) {
  const auto refused = [](auto change) {
    KeyList list(4, {});
    ASSERT_TRUE(list.put(0, std::vector{klm(0x1000, 100, 2)}));
    std::vector<KeyListEntry> block = repeat_block(2, {{100, 2, 8, 0x1000}, {500, 1, 0, 0x2000}});
    auto head = std::bit_cast<format::RepeatBlockSegment>(block[0]);
    change(head, block);
    block[0] = std::bit_cast<KeyListEntry>(head);
    EXPECT_FALSE(list.put(0, block));
    EXPECT_EQ(bytes_of(list, 9).size(), 2u) << "it is as it was";
  };
  using Head = format::RepeatBlockSegment;
  using Block = std::vector<KeyListEntry>;
  refused([](Head& head, Block&) { head.num_ent = Be16{0}; });
  refused([](Head& head, Block&) { head.num_ent = Be16{3}; });
  refused([](Head& head, Block&) { head.byte_count = Be32{4}; });
  refused([](Head& head, Block&) { head.num_ent = Be16{1}; });
  refused([](Head& head, Block& block) {
    head.byte_count = Be32{0};
    block[1] = block[2] = {};
  });
  refused([](Head&, Block& block) { block.resize(2); });
}

TEST(KeyList, HasRoomForAsManyAsItWasMadeFor) {
  KeyList list(4, {});
  EXPECT_TRUE(list.put(2, std::vector{klm(0x1000, 1, 1), klm(0x1000, 2, 1)}));
  EXPECT_FALSE(list.put(3, std::vector{klm(0x1000, 1, 1), klm(0x1000, 2, 1)}));
  EXPECT_FALSE(list.put(~std::uint64_t{0}, std::vector{klm(0x1000, 1, 1)}));
  EXPECT_FALSE(list.put(0, std::vector<KeyListEntry>(5)));
  EXPECT_TRUE(list.put(4, {}));
  EXPECT_EQ(list.entries().size(), 4u);
  EXPECT_EQ(list.find(0)->key, 0u) << "of what was never given";
}

TEST(KeyList, ChangesSomeOfItsParts) {
  KeyList list(4, {});
  ASSERT_TRUE(list.put(0, std::vector{klm(0x1000, 100, 2), klm(0x2000, 200, 2)}));
  ASSERT_TRUE(list.put(1, std::vector{klm(0x3000, 300, 1)}));
  EXPECT_EQ(list.find(2)->key, 0x3000u);
  EXPECT_FALSE(list.find(3));
}

// Against a walk from the first byte on.
TEST(KeyList, FindsEachByteWhereAWalkFindsIt) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::vector<Byte> expected;
    const std::uint32_t count = 1 + random() % 6, rounds = 1 + random() % 5;
    KeyList list(count + 1, {});
    if (random() % 2 == 0) {
      std::vector<KeyListEntry> entries;
      for (std::uint32_t i = 0; i < count; ++i) {
        entries.push_back(klm(0x1000 + i, random(), 1 + random() % 5));
        for (std::uint32_t at = 0; at < entries[i].byte_count; ++at) {
          expected.push_back({0x1000 + i, entries[i].address + at});
        }
      }
      ASSERT_TRUE(list.put(0, entries));
    } else {
      std::vector<Interleaved> parts;
      for (std::uint32_t i = 0; i < count; ++i) {
        const auto bytes = static_cast<std::uint16_t>(random() % 5 + (i == 0 ? 1 : 0));
        parts.push_back({random(), bytes, static_cast<std::uint16_t>(random() % 9), 0x1000 + i});
      }
      for (std::uint32_t r = 0; r < rounds; ++r) {
        for (const Interleaved& part : parts) {
          for (std::uint32_t at = 0; at < part.bytes; ++at) {
            expected.push_back(
                {part.key, part.address + std::uint64_t{r} * (part.bytes + part.skip) + at});
          }
        }
      }
      ASSERT_TRUE(list.put(0, repeat_block(rounds, parts)));
    }
    ASSERT_EQ(bytes_of(list, expected.size() + 1), expected) << round;
  }
}

}  // namespace
}  // namespace gdakit::softnic::test
