// One golden word per builder of core/format/wqe.h, worked out by hand from the rows of
// tests/data/wqe_cqe.csv.
#include "core/format/wqe.h"

#include <gtest/gtest.h>

#include "tests/format/hex.h"

namespace gdakit::format {
namespace {

// fm 2 is 0x40, ce 2 is 0x08, se is 0x02.
static_assert(fm_ce_se(FenceMode::none, Completion::on_error) == 0x00);
static_assert(fm_ce_se(FenceMode::none, Completion::always) == 0x08);
static_assert(fm_ce_se(FenceMode::fence, Completion::always, true) == 0x4a);
static_assert(fm_ce_se(FenceMode::fence_and_small, Completion::with_event, true) == 0x8e);

TEST(ControlSegment, PlacesOpmodIndexOpcodeQpnDsAndFlags) {
  constexpr ControlSegment kWrite = control(Opcode::rdma_write, 0, 0x1234, 0xabcdef, 3,
                                            fm_ce_se(FenceMode::none, Completion::always));
  EXPECT_EQ(hex(kWrite), "00123408 abcdef03 00000008 00000000");

  constexpr ControlSegment kAtomic =
      control(Opcode::atomic_masked_cs, kOpmodAtomic8, 0xffff, 0x000001, 5,
              fm_ce_se(FenceMode::fence, Completion::on_error), Be32{0xdeadbeef});
  EXPECT_EQ(hex(kAtomic), "09ffff14 00000105 00000040 deadbeef");
}

TEST(ControlSegment, ReadsBackWhatWasBuilt) {
  constexpr ControlSegment kDump =
      control(Opcode::dump, 0x5a, 0x8001, 0x800002, 63,
              fm_ce_se(FenceMode::strong, Completion::on_first_error, true));
  static_assert(kDump.opmod() == 0x5a && kDump.wqe_index() == 0x8001 && kDump.opcode() == 0x23);
  static_assert(kDump.qpn() == 0x800002 && kDump.ds() == 63 && kDump.solicited());
  static_assert(kDump.fence_mode() == FenceMode::strong);
  static_assert(kDump.completion() == Completion::on_first_error);
  EXPECT_EQ(hex(kDump), "5a800123 8000023f 00000066 00000000");
}

TEST(ControlSegment, FirstWordsStandAlone) {
  constexpr Be32 kFirst = opmod_idx_opcode(Opcode::atomic_masked_fa, 0x0102, kOpmodAtomic4);
  EXPECT_EQ(hex(kFirst), "08010215");
  constexpr Be32 kSecond = qpn_ds(0xfffffe, 4);
  EXPECT_EQ(hex(kSecond), "fffffe04");
}

TEST(RemoteAddressSegment, PlacesAddressAndKey) {
  constexpr RemoteAddressSegment kRemote = remote_address(0x0123'4567'89ab'cdef, Be32{0x00112233});
  EXPECT_EQ(hex(kRemote), "01234567 89abcdef 00112233 00000000");
}

TEST(DataSegment, PlacesCountKeyAndAddress) {
  constexpr DataSegment kData = data(0xfedc'ba98'7654'3210, Be32{0x00abcd01}, 0x7fffffff);
  EXPECT_EQ(hex(kData), "7fffffff 00abcd01 fedcba98 76543210");
}

TEST(InlineValue, HoldsTheLengthThenTheBytesAsMemoryShallHoldThem) {
  // 0x80000004 big-endian, then the value's bytes in the order of a little-endian machine.
  constexpr format::Segment kFour = inline_value(0x11223344, 4);
  EXPECT_EQ(hex(kFour), "80000004 44332211 00000000 00000000");
  constexpr format::Segment kEight = inline_value(0x1122'3344'5566'7788, 8);
  EXPECT_EQ(hex(kEight), "80000008 88776655 44332211 00000000");
}

TEST(AtomicSegments, HoldBigEndianOperands) {
  constexpr AtomicSegment kCompareSwap{Be64{0x0102030405060708}, Be64{0x1112131415161718}};
  EXPECT_EQ(hex(kCompareSwap), "01020304 05060708 11121314 15161718");
  constexpr MaskedAtomic4CsSegment kMasked4{Be32{1}, Be32{2}, Be32{0xff}, Be32{0xff00}};
  EXPECT_EQ(hex(kMasked4), "00000001 00000002 000000ff 0000ff00");
  constexpr MaskedAtomic4FaSegment kAdd4{Be32{0x0a0b0c0d}, Be32{0x80000000}, Be64{0}};
  EXPECT_EQ(hex(kAdd4), "0a0b0c0d 80000000 00000000 00000000");
  constexpr MaskedAtomic8CsSegment kMasked8{Be64{1}, Be64{2}, Be64{3}, Be64{0xff00000000000000}};
  EXPECT_EQ(hex(kMasked8),
            "00000000 00000001 00000000 00000002 00000000 00000003 ff000000 00000000");
  constexpr MaskedAtomic8FaSegment kAdd8{Be64{0xffffffffffffffff}, Be64{0x8000000000000000}};
  EXPECT_EQ(hex(kAdd8), "ffffffff ffffffff 80000000 00000000");
}

TEST(Segment, KeepsTheBytesOfItsLayout) {
  constexpr DataSegment kData = data(0xfedc'ba98'7654'3210, Be32{0x00abcd01}, 16);
  constexpr format::Segment kStored = to_segment(kData);
  static_assert(kStored.low == 0x01cdab0010000000 && kStored.high == 0x1032547698badcfe);
  EXPECT_EQ(hex(kStored), hex(kData));
}

TEST(Wqebbs, RoundUpToWholeBlocks) {
  static_assert(wqebbs_of(1) == 1 && wqebbs_of(4) == 1 && wqebbs_of(5) == 2);
  static_assert(wqebbs_of(63) == kMaxWqebbs);
  EXPECT_EQ(wqebbs_of(8), 2u);
  EXPECT_EQ(wqebbs_of(9), 3u);
}

}  // namespace
}  // namespace gdakit::format
