// Reads and writes bits of mailboxes.
#include "core/format/prm/mailbox.h"

#include <array>
#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit::format::prm {
namespace {

using testing::ElementsAre;

struct Inner {
  static constexpr std::size_t kBytes = 4;
  static constexpr Field<Inner, 4, 8> middle{};
};

struct Base {
  static constexpr std::size_t kBytes = 4;
  static constexpr Field<Base, 0, 16> first{};
};

struct Sample : Base {
  static constexpr std::size_t kBytes = 24;
  static constexpr Field<Sample, 16, 1> bit{};
  static constexpr Field<Sample, 29, 3> low{};
  static constexpr Field<Sample, 32, 32> word{};
  static constexpr Field<Sample, 64, 64> address{};
  static constexpr Part<Sample, Inner, 128> inner{};
  static constexpr Octets<Sample, 160, 4> octets{};
};

TEST(Mailbox, BitsAreCountedFromTheHighestOfTheFirstByte) {
  Mailbox<Sample> box;
  box.set(Sample::first, 0x1234);
  box.set(Sample::bit, 1);
  box.set(Sample::low, 5);
  EXPECT_THAT(box.bytes().first(4), ElementsAre(0x12, 0x34, 0x80, 0x05));
  box.set(Sample::word, 0xa1b2c3d4);
  EXPECT_THAT(box.bytes().subspan(4, 4), ElementsAre(0xa1, 0xb2, 0xc3, 0xd4));
  box.set(Sample::address, 0x0102030405060708);
  EXPECT_THAT(box.bytes().subspan(8, 8), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_EQ(box.get(Sample::first), 0x1234u);
  EXPECT_EQ(box.get(Sample::bit), 1u);
  EXPECT_EQ(box.get(Sample::low), 5u);
  EXPECT_EQ(box.get(Sample::word), 0xa1b2c3d4u);
  EXPECT_EQ(box.get(Sample::address), 0x0102030405060708u);
}

TEST(Mailbox, AFieldIsWrittenAndItsNeighboursStay) {
  Mailbox<Sample> box;
  for (std::uint8_t& byte : box.bytes()) byte = 0xff;
  box.set(Sample::low, 2);
  box.set(Sample::bit, 0);
  EXPECT_THAT(box.bytes().first(4), ElementsAre(0xff, 0xff, 0x7f, 0xfa));
  box.at(Sample::inner).set(Inner::middle, 0);
  EXPECT_THAT(box.bytes().subspan(16, 4), ElementsAre(0xf0, 0x0f, 0xff, 0xff));
}

TEST(Mailbox, PartsAndOctetsLieWhereTheyAre) {
  Mailbox<Sample> box;
  box.at(Sample::inner).set(Inner::middle, 0xab);
  EXPECT_THAT(box.bytes().subspan(16, 4), ElementsAre(0x0a, 0xb0, 0, 0));
  box.at(Sample::octets)[1] = 7;
  EXPECT_THAT(box.bytes().last(4), ElementsAre(0, 7, 0, 0));
  const Mailbox<Sample>& same = box;
  EXPECT_EQ(same.at(Sample::inner).get(Inner::middle), 0xabu);
  EXPECT_THAT(same.at(Sample::octets), ElementsAre(0, 7, 0, 0));
}

TEST(Mailbox, ViewsAreOfBytesThatAreAnothers) {
  std::array<std::uint8_t, Sample::kBytes + 3> bytes{};
  View<Sample, std::uint8_t>(bytes).set(Sample::word, 0x80000001);
  EXPECT_EQ(View<Sample>(bytes).get(Sample::word), 0x80000001u);
  EXPECT_EQ(bytes[4], 0x80);
  EXPECT_EQ(bytes[7], 0x01);
}

TEST(MailboxDeath, AValueFitsAndSoDoesALayout) {
  Mailbox<Sample> box;
  EXPECT_DEATH(box.set(Sample::low, 8), "mask");
  std::array<std::uint8_t, Sample::kBytes - 1> bytes{};
  EXPECT_DEATH(View<Sample>{bytes}, "kBytes");
}

}  // namespace
}  // namespace gdakit::format::prm
