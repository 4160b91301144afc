#include "core/base/block_queue.h"

#include <vector>

#include <gtest/gtest.h>

namespace gdakit {
namespace {

using Bytes = std::vector<std::uint8_t>;

TEST(BlockQueue, KeepsEveryByteWhereItWrapsAround) {
  BlockQueue queue(64);
  std::uint8_t next = 0, expected = 0;
  for (int round = 0; round < 100; ++round) {
    Bytes block(4 * (1 + static_cast<std::size_t>(round % 7)));
    for (std::uint8_t& byte : block) byte = next++;
    ASSERT_TRUE(queue.push(block));
    const BlockQueue::Blocks blocks = queue.peek();
    ASSERT_EQ(blocks.size(), block.size());
    for (const auto& part : {blocks.first, blocks.second}) {
      for (const std::uint8_t byte : part) ASSERT_EQ(byte, expected++);
    }
    queue.pop(blocks.size());
  }
  EXPECT_FALSE(queue.push(Bytes(68)));
  EXPECT_TRUE(queue.push(Bytes(64)));
  EXPECT_FALSE(queue.push(Bytes(4)));
}

}  // namespace
}  // namespace gdakit
