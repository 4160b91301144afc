#include "core/base/endian.h"

#include <array>
#include <bit>
#include <cstdint>
#include <type_traits>

#include <gtest/gtest.h>

namespace gdakit {
namespace {

TEST(ByteSwap, ReversesTheBytes) {
  static_assert(byte_swap(std::uint16_t{0x0102}) == 0x0201);
  static_assert(byte_swap(std::uint32_t{0x01020304}) == 0x04030201);
  static_assert(byte_swap(std::uint64_t{0x0102030405060708}) == 0x0807060504030201);
  EXPECT_EQ(byte_swap(std::uint16_t{0xff00}), 0x00ff);
}

TEST(ByteSwap, TwiceIsTheIdentity) {
  for (int bit = 0; bit < 64; ++bit) {
    const std::uint64_t value = std::uint64_t{1} << bit;
    EXPECT_EQ(byte_swap(byte_swap(value)), value);
  }
}

TEST(BigEndian, LiesInMemoryWithItsHighByteFirst) {
  using Bytes = std::array<std::uint8_t, 4>;
  EXPECT_EQ(std::bit_cast<Bytes>(Be32{0x01020304}), (Bytes{1, 2, 3, 4}));
}

TEST(BigEndian, ReadsBackWhatWasStored) {
  constexpr Be16 kShort{0x1234};
  constexpr Be64 kLong{0x0123456789abcdef};
  static_assert(kShort == 0x1234 && kLong == 0x0123456789abcdef);
  EXPECT_EQ(static_cast<std::uint32_t>(Be32{0xfffffffe}), 0xfffffffeu);
}

TEST(BigEndian, RawIsWhatAProcessorLoads) {
  constexpr Be32 kValue{0x01020304};
  static_assert(kValue.raw() == 0x04030201);
  EXPECT_EQ(Be32::from_raw(0x04030201), kValue);
}

// A layout is copied as bytes, and an unconverted integer must not slip into a field.
static_assert(std::is_trivially_copyable_v<Be64> &&
              std::is_trivially_default_constructible_v<Be64>);
static_assert(!std::is_convertible_v<std::uint32_t, Be32>);

}  // namespace
}  // namespace gdakit
