#include "backends/softnic/dma/atomics.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "backends/softnic/dma/host_dma.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint64_t kAll = ~std::uint64_t{0};

AtomicRequest swap(std::uint64_t swap_add, std::uint64_t swap_mask, std::uint64_t compare,
                   std::uint64_t compare_mask) {
  return {AtomicKind::compare_swap, 8, swap_add, compare, swap_mask, compare_mask, 0};
}
AtomicRequest add(std::uint64_t value, std::uint64_t boundary, std::uint8_t size = 8) {
  return {AtomicKind::fetch_add, size, value, 0, 0, 0, boundary};
}

TEST(AtomicResult, AddsWithCarryWithoutBoundary) {
  EXPECT_EQ(atomic_result(add(1, 0), 0xffff), 0x10000u);
  EXPECT_EQ(atomic_result(add(1, 0), kAll), 0u);
}

TEST(AtomicResult, AddsFieldsThatEndAtABoundary) {
  // Two fields of eight bits: neither overflows into the other.
  EXPECT_EQ(atomic_result(add(0x0101, 0x8080), 0x01ff), 0x0200u);
  EXPECT_EQ(atomic_result(add(0x0100, 0x8080), 0xff12), 0x0012u);
  // Every bit a field of its own is XOR.
  EXPECT_EQ(atomic_result(add(0xf0f0, kAll), 0xff00), 0x0ff0u);
}

TEST(AtomicResult, AFieldsSumIsThatOfTheFieldAlone) {
  for (std::uint64_t a = 0; a < 256; a += 7) {
    for (std::uint64_t b = 0; b < 256; b += 11) {
      const std::uint64_t sum = add_fields(a | (0x5aull << 8), b | (0x11ull << 8), 0x80);
      EXPECT_EQ(sum & 0xff, (a + b) & 0xff);
      EXPECT_EQ(sum >> 8, 0x5aull + 0x11ull);
    }
  }
}

TEST(AtomicResult, CutsFourByteWordsToFourBytes) {
  EXPECT_EQ(atomic_result(add(1, 0, 4), 0xffffffff), 0u);
}

TEST(AtomicResult, SwapsIfTheComparedBitsAreEqual) {
  EXPECT_EQ(atomic_result(swap(7, kAll, 5, kAll), 5), 7u);
  EXPECT_EQ(atomic_result(swap(7, kAll, 5, kAll), 6), 6u);
  EXPECT_EQ(atomic_result(swap(7, kAll, 0x105, 0xff), 0x205), 7u);
  EXPECT_EQ(atomic_result(swap(0xabcd, 0xff, 5, 0xf), 0x1235), 0x12cdu);
}

TEST(AtomicResult, GivesTheBitwiseOperationsThatClientsBuild) {
  const std::uint64_t old = 0x0ff0, value = 0x00ff;
  EXPECT_EQ(atomic_result(swap(value, kAll, 0, 0), old), value);          // set
  EXPECT_EQ(atomic_result(swap(value, value, 0, 0), old), old | value);   // or
  EXPECT_EQ(atomic_result(swap(value, ~value, 0, 0), old), old & value);  // and
  EXPECT_EQ(atomic_result(add(value, kAll), old), old ^ value);           // xor
}

TEST(HostDmaAtomic, ChangesTheWordAloneAndReturnsTheOldOne) {
  HostDma dma;
  alignas(8) std::uint32_t words[2] = {0xffffffff, 0x11111111};
  std::uint64_t old = 0;
  dma.atomic(host_address(&words[0]), add(2, 0, 4), &old);
  EXPECT_EQ(old, 0xffffffffu);
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(words[1], 0x11111111u);
  std::uint64_t word = 40;
  dma.atomic(host_address(&word), add(2, 0), &old);
  EXPECT_EQ(old, 40u);
  EXPECT_EQ(word, 42u);
  dma.atomic(host_address(&word), swap(1, kAll, 41, kAll), &old);
  EXPECT_EQ(old, 42u);
  EXPECT_EQ(word, 42u);
}

}  // namespace
}  // namespace gdakit::softnic
