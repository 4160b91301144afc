#include "core/base/float16.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace gdakit {
namespace {

// Any two neighbouring values of T, and the float between them: conversions are judged by what
// nearest-even means, not by a second implementation.
template <class T>
void expect_nearest_even(std::uint16_t bits) {
  const T low = T::from_bits(bits);
  const T high = T::from_bits(static_cast<std::uint16_t>(bits + 1));
  const double a = static_cast<float>(low);
  const double b = static_cast<float>(high);
  const auto middle = static_cast<float>((a + b) / 2);
  ASSERT_EQ(double{middle}, (a + b) / 2);  // exact in float
  EXPECT_EQ(T(std::nextafter(middle, static_cast<float>(a))).bits, low.bits) << bits;
  EXPECT_EQ(T(std::nextafter(middle, static_cast<float>(b))).bits, high.bits) << bits;
  EXPECT_EQ(T(middle).bits, bits % 2 == 0 ? low.bits : high.bits) << bits;
}

TEST(Half, EveryValueSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const Half half = Half::from_bits(static_cast<std::uint16_t>(bits));
    const auto value = static_cast<float>(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(Half(value)))) << bits;
    } else {
      EXPECT_EQ(Half(value).bits, bits);
    }
  }
}

TEST(Half, RoundsToNearestEven) {
  for (std::uint16_t bits = 0; bits < 0x7bff; ++bits) expect_nearest_even<Half>(bits);
}

TEST(Half, HasTheValuesOfItsFormat) {
  EXPECT_EQ(static_cast<float>(Half::from_bits(0x3c00)), 1.0f);
  EXPECT_EQ(static_cast<float>(Half::from_bits(0xc000)), -2.0f);
  EXPECT_EQ(static_cast<float>(Half::from_bits(0x7bff)), 65504.0f);
  EXPECT_EQ(static_cast<float>(Half::from_bits(0x0001)), 0x1p-24f);
  EXPECT_EQ(Half(65519.0f).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0f).bits, 0x7c00);  // infinity
  EXPECT_EQ(Half(-std::numeric_limits<float>::infinity()).bits, 0xfc00);
  EXPECT_EQ(Half(-0.0f).bits, 0x8000);
  EXPECT_EQ(Half(0x1p-26f).bits, 0);
}

TEST(BFloat16, EveryValueSurvivesTheWayThroughFloat) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const BFloat16 number = BFloat16::from_bits(static_cast<std::uint16_t>(bits));
    const auto value = static_cast<float>(number);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(value)))) << bits;
    } else {
      EXPECT_EQ(BFloat16(value).bits, bits);
    }
  }
}

TEST(BFloat16, RoundsToNearestEven) {
  for (std::uint16_t bits = 0x80; bits < 0x7f7f; ++bits) expect_nearest_even<BFloat16>(bits);
}

TEST(BFloat16, HasTheValuesOfItsFormat) {
  EXPECT_EQ(static_cast<float>(BFloat16::from_bits(0x3f80)), 1.0f);
  EXPECT_EQ(static_cast<float>(BFloat16::from_bits(0xc040)), -3.0f);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80);  // infinity
}

TEST(Float16, CalculatesByWayOfFloat) {
  EXPECT_EQ((Half(1.5f) + Half(2.25f)).bits, Half(3.75f).bits);
  EXPECT_EQ((BFloat16(3.0f) * BFloat16(-2.0f)).bits, BFloat16(-6.0f).bits);
  EXPECT_LT(Half(-1.0f), Half(0.5f));
  EXPECT_EQ(Half(0.0f), Half(-0.0f));
  EXPECT_NE(Half(0.0f), Half(0.5f));
}

}  // namespace
}  // namespace gdakit
