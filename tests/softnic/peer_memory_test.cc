#include "backends/softnic/wire/peer_memory.h"

#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

constexpr std::uint64_t kTag = std::uint64_t{1} << 63;

TEST(PeerMemory, TranslatesBetweenTwoMappingsOfAHeap) {
  PeerMemory sender(2, 0), receiver(2, 1);
  sender.set(0, {0x10000}, 0x2000);
  receiver.set(0, {0x900000}, 0x2000);
  const auto offset = sender.offset_of({{0x10100}, 0x40});
  ASSERT_TRUE(offset);
  EXPECT_EQ(*offset, 0x100u);
  EXPECT_EQ(*receiver.at(0, *offset, 0x40), DmaAddress{0x900100});
}

TEST(PeerMemory, TheGpuTagIsThatOfEachSidesOwnAddress) {
  PeerMemory sender(2, 0), receiver(2, 1);
  sender.set(0, {kTag | 0x10000}, 0x2000);
  receiver.set(0, {kTag | 0x900000}, 0x2000);
  const auto offset = sender.offset_of({{kTag | 0x10100}, 0x40});
  ASSERT_TRUE(offset);
  EXPECT_EQ(receiver.at(0, *offset, 0x40)->value, kTag | 0x900100);
  // The same address without the tag is other memory.
  EXPECT_FALSE(sender.offset_of({{0x10100}, 0x40}));
}

TEST(PeerMemory, KnowsNothingBeforeItIsToldAndNothingOutside) {
  PeerMemory memory(3, 1);
  EXPECT_FALSE(memory.offset_of({{0}, 0}));
  EXPECT_FALSE(memory.at(0, 0, 1));
  EXPECT_FALSE(memory.at(7, 0, 0));
  memory.set(1, {0x10000}, 0x1000);
  memory.set(0, {0x50000}, 0x1000);
  EXPECT_TRUE(memory.offset_of({{0x10fff}, 1}));
  EXPECT_FALSE(memory.offset_of({{0x10fff}, 2}));
  EXPECT_FALSE(memory.offset_of({{0xffff}, 1}));
  EXPECT_FALSE(memory.offset_of({{0x10000}, ~std::uint64_t{0}}));
  EXPECT_TRUE(memory.at(0, 0xfff, 1));
  EXPECT_FALSE(memory.at(0, 0xfff, 2));
  EXPECT_FALSE(memory.at(0, ~std::uint64_t{0}, 2));
  EXPECT_FALSE(memory.at(0, 1, ~std::uint64_t{0}));
  EXPECT_FALSE(memory.at(2, 0, 1));
}

TEST(PeerMemory, Grows) {
  PeerMemory memory(2, 0);
  memory.set(0, {0x10000}, 0x1000);
  EXPECT_FALSE(memory.offset_of({{0x11000}, 8}));
  memory.set(0, {0x10000}, 0x2000);
  EXPECT_EQ(*memory.offset_of({{0x11000}, 8}), 0x1000u);
}

}  // namespace
}  // namespace gdakit::softnic
