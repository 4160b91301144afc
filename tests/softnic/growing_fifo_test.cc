#include "backends/softnic/queues/growing_fifo.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

TEST(GrowingFifo, KeepsItsEntriesWhereverItGrows) {
  for (std::uint32_t before = 0; before < 40; ++before) {
    GrowingFifo<std::uint64_t> fifo(32);
    for (std::uint32_t i = 0; i < before; ++i) {
      EXPECT_EQ(fifo.push(), 0u) << "not fresh";
      fifo.front() = 9;
      fifo.pop();
    }
    EXPECT_TRUE(fifo.empty());
    for (std::uint64_t i = 0; i < 32; ++i) {
      EXPECT_FALSE(fifo.full());
      EXPECT_EQ(fifo.tail(), before + i);
      fifo.push() = i;
    }
    EXPECT_TRUE(fifo.full());
    for (std::uint64_t i = 0; i < 32; ++i) EXPECT_EQ(fifo[before + i], i);
    fifo.truncate(before + 30);
    EXPECT_FALSE(fifo.full());
    for (std::uint64_t i = 0; i < 30; ++i, fifo.pop()) EXPECT_EQ(fifo.front(), i);
    EXPECT_TRUE(fifo.empty());
    EXPECT_EQ(fifo.head(), before + 30);
  }
}

TEST(GrowingFifo, MayBeOfOneEntry) {
  GrowingFifo<int> fifo(1);
  for (int i = 0; i < 3; ++i) {
    fifo.push() = i;
    EXPECT_TRUE(fifo.full());
    EXPECT_EQ(fifo.front(), i);
    fifo.pop();
  }
}

}  // namespace
}  // namespace gdakit::softnic
