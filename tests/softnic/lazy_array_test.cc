#include "backends/softnic/queues/lazy_array.h"

#include <algorithm>
#include <cstdint>

#include <gtest/gtest.h>

#include "backends/softnic/queues/fifo.h"

namespace gdakit::softnic {
namespace {

int alive = 0;
struct Counted {
  Counted() { ++alive; }
  Counted(const Counted&) { ++alive; }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --alive; }
  std::uint64_t value = 7;
};

TEST(LazyArray, MakesWhatIsNamedAndWhatLiesBefore) {
  {
    LazyArray<Counted> array(100);
    EXPECT_EQ(array.size(), 100u);
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(array[3].value, 7u);
    EXPECT_EQ(alive, 4);
    array[0].value = 1;
    EXPECT_EQ(array[0].value, 1u);
    EXPECT_EQ(alive, 4);
  }
  EXPECT_EQ(alive, 0);
}

TEST(LazyArray, AFifoMakesAsMuchAsItHasHeld) {
  {
    Fifo<Counted> fifo(64);
    for (int i = 0; i < 200; ++i) {
      fifo.push().value = static_cast<std::uint64_t>(i);
      EXPECT_EQ(fifo.front().value, static_cast<std::uint64_t>(i));
      EXPECT_EQ(alive, std::min(i + 1, 64));
      fifo.pop();
    }
    EXPECT_EQ(fifo.push().value, 7u) << "a fresh entry";
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace gdakit::softnic
