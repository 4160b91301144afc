#include "backends/softnic/queues/fetch_buffers.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

TEST(FetchBuffers, AreAsManyAsAreUsedAtOnce) {
  FetchBuffers buffers;
  std::uint8_t* const first = buffers.take();
  std::uint8_t* const second = buffers.take();
  EXPECT_NE(first, second);
  buffers.give_back(first);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(buffers.take(), first);
    buffers.give_back(first);
  }
  buffers.give_back(second);
}

}  // namespace
}  // namespace gdakit::softnic
