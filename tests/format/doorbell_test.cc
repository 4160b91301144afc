#include "core/format/doorbell.h"

#include <gtest/gtest.h>

#include "core/format/cq_doorbell.h"
#include "core/format/wqe.h"
#include "tests/format/hex.h"

namespace gdakit::format {
namespace {

TEST(WireIndex, KeepsSixteenBits) {
  static_assert(wire_index(0) == 0 && wire_index(0xffff) == 0xffff);
  static_assert(wire_index(0x10000) == 0 && wire_index(0x123456789) == 0x6789);
  EXPECT_EQ(wire_index(~0ull), 0xffff);
}

TEST(DoorbellRecord, HoldsTheSendCounterInItsSecondWord) {
  constexpr DoorbellRecord kRecord{Be32{0}, doorbell_record_value(0x1'2345)};
  EXPECT_EQ(hex(kRecord), "00000000 00002345");
}

TEST(DoorbellValue, IsTheStartOfAControlSegmentOfTheNextIndex) {
  constexpr std::uint64_t kValue = doorbell_value(0x4'1234, 0xabcdef);
  static_assert(kValue == 0x00ef'cdab'0034'1200);
  EXPECT_EQ(hex(kValue), "00123400 abcdef00");

  // Opcode 0 is NOP and ds is 0, so the index itself is what the NIC takes as announced.
  constexpr ControlSegment kStart = control(Opcode::nop, 0, 0x1234, 0xabcdef, 0, 0);
  EXPECT_EQ(hex(kStart).substr(0, 17), hex(kValue));
}

TEST(CqArm, SaysHowManyEventsWereReadWhatIsAwaitedAndWhatIsSeen) {
  constexpr Be32 kAny = cq_arm(5, false, 0x1'234567);
  static_assert(kAny == Be32{0x10234567});
  constexpr CqDoorbellRecord kRecord{Be32{0x234567}, cq_arm(3, true, 0xffffff)};
  EXPECT_EQ(hex(kRecord), "00234567 31ffffff");
  for (std::uint32_t sn = 0; sn < 4; ++sn) EXPECT_NE(cq_arm(sn, true, ~0ull), Be32{kCqNotArmed});
}

TEST(CqArm, ItsRegisterHoldsTheWordAndTheNumberBehindIt) {
  constexpr std::uint64_t kValue = cq_arm_value(cq_arm(2, true, 0x42), 0xabcdef);
  static_assert(kValue == 0xefcd'ab00'4200'0021);
  EXPECT_EQ(hex(kValue), "21000042 00abcdef");
}

TEST(Uar, HasTwoRegistersOfTwoHalves) {
  static_assert(kUarDoorbellEnd <= kUarPageBytes);
  EXPECT_EQ(kDoorbellsPerUar, 2u * 2u * 256u / 8u);
}

}  // namespace
}  // namespace gdakit::format
