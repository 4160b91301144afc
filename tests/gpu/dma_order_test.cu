// The soft NIC's DMA port on a GPU: what the messages of a chain read and write, and those of many.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gpu/dma_port.cuh"

namespace gdakit::softnic {
namespace {

using test::Words;

class GpuDmaOrder : public test::GpuDma {};

INSTANTIATE_TEST_SUITE_P(Gpu, GpuDmaOrder, test::every_dma_method(), test::name_of_dma_method);

// What one has written, the next may read at once, whatever the kernels read ahead.
TEST_P(GpuDmaOrder, MessagesOfAChainReadWhatTheOnesBeforeThemWrote) {
  constexpr std::size_t kHalf = 4u << 20;
  constexpr std::array<std::size_t, 8> kSizes = {16, 100, 4096, 9001, 9008, 30000, 65536, 1u << 20};
  Words memory(2 * kHalf / sizeof(std::uint64_t));
  std::vector<std::uint8_t> expected(2 * kHalf);
  std::mt19937 random(13);
  for (std::uint8_t& byte : expected) byte = static_cast<std::uint8_t>(random());
  memory.fill(expected);
  std::size_t last = 0;
  for (int i = 0; i < 600; ++i) {
    const std::size_t size = kSizes[random() % (i % 16 == 0 ? kSizes.size() : kSizes.size() - 1)];
    const std::size_t other = last < kHalf ? kHalf : 0;
    // From a little before what was written last, or from anywhere in that half.
    const std::size_t near = last % kHalf - std::min<std::size_t>(last % kHalf, random() % 64);
    const std::size_t place = i % 4 == 0 ? random() % (kHalf - size) : std::min(near, kHalf - size);
    const std::size_t from = (kHalf - other) + place;
    const std::size_t to = other + random() % (kHalf - size);
    port_->copy_last(memory.at(to), memory.at(from), size);
    std::memcpy(&expected[to], &expected[from], size);
    last = to;
    if (i % 150 == 149) settle();
  }
  EXPECT_TRUE(memory.read() == expected);
}

// More last words of one launch than a warp has lanes, and more pieces than a block holds at hand.
TEST_P(GpuDmaOrder, ManyChainsMessagesArriveWhole) {
  constexpr std::size_t kChains = 100, kSizes = 3;
  constexpr std::array<std::size_t, kSizes> kSize = {(64u << 10) + 8, 9000, 40000};
  constexpr std::size_t kRoom = 128u << 10;
  Words from(kRoom / 8), to(kChains * kRoom / 8);
  std::vector<std::uint8_t> source(kRoom), expected(kChains * kRoom, 0);
  for (std::size_t i = 0; i != source.size(); ++i) source[i] = static_cast<std::uint8_t>(i % 251);
  from.fill(source);
  for (std::size_t chain = 0; chain != kChains; ++chain) {
    port_->order_chain(chain);
    std::size_t at = chain * kRoom;
    for (const std::size_t size : kSize) {
      port_->copy_last(to.at(at), from.at(chain), size);
      std::memcpy(&expected[at], &source[chain], size);
      at += size;
    }
  }
  settle();
  EXPECT_TRUE(to.read() == expected);
}

}  // namespace
}  // namespace gdakit::softnic
