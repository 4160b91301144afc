#include "backends/softnic/engine/timers.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <random>

#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

TEST(Timers, NoneRunsAtFirst) {
  Timers timers;
  Timer timer;
  timers.add();
  EXPECT_EQ(timers.earliest(), nullptr);
  timers.set(timer, 0);
  EXPECT_EQ(timers.earliest(), nullptr);
}

TEST(Timers, NameTheEarliestAsTheyStartMoveAndStop) {
  Timers timers;
  Timer a, b;
  timers.add();
  timers.add();
  timers.set(a, 20);
  timers.set(b, 10);
  EXPECT_EQ(timers.earliest(), &b);
  timers.set(b, 30);
  EXPECT_EQ(timers.earliest(), &a);
  timers.set(b, 5);
  EXPECT_EQ(timers.earliest(), &b);
  timers.set(b, 0);
  EXPECT_EQ(timers.earliest(), &a);
  timers.remove(a);
  EXPECT_EQ(timers.earliest(), nullptr);
}

// Against the simplest list.
TEST(Timers, AreInOrderWhateverHappens) {
  std::mt19937 random(1);
  std::array<Timer, 50> all;
  std::array<std::uint64_t, 50> expected{};
  Timers timers;
  for (std::size_t i = 0; i < all.size(); ++i) timers.add();
  for (int i = 0; i < 100'000; ++i) {
    const std::size_t picked = random() % all.size();
    expected[picked] = random() % 4 == 0 ? 0 : 1 + random() % 100;
    timers.set(all[picked], expected[picked]);
    std::optional<std::uint64_t> first;
    for (const std::uint64_t at : expected) {
      if (at != 0) first = std::min(first.value_or(at), at);
    }
    const Timer* const earliest = timers.earliest();
    ASSERT_EQ(earliest != nullptr, first.has_value());
    if (first) {
      ASSERT_EQ(earliest->at_ns, *first);
    }
  }
}

}  // namespace
}  // namespace gdakit::softnic
