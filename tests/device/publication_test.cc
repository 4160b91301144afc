// Which slots the holder of the baton finds ready, against a model that looks at one after the
// other.
#include "device/publication.h"

#include <vector>

#include <gtest/gtest.h>

#include "sim/emulator.h"

namespace gdakit {
namespace {

using sim::HostMachine;

// The ready words of a queue in which the slots of [from, end) are ready, and no later one.
std::vector<std::uint64_t> words_ready_until(std::uint32_t depth, std::uint64_t from,
                                             std::uint64_t end) {
  std::vector<std::uint64_t> words(depth / kSlotsPerReadyWord);
  for (std::uint64_t index = from; index < from + depth; ++index) {
    const ReadyPlace place = ready_place(depth, index);
    const bool bit = (index < end) != place.odd_lap;
    words[place.word] |= std::uint64_t{bit} << place.bit;
  }
  return words;
}

// What a holder that has the baton at `from` finds.
std::uint64_t found(HostMachine& m, std::uint32_t depth, std::uint64_t from, std::uint64_t end) {
  std::vector<std::uint64_t> words = words_ready_until(depth, from, end);
  QueueView queue{};
  queue.depth = depth;
  queue.ready = words.data();
  return ready_end(m, queue, from, words[ready_place(depth, from).word]);
}

class ReadyEnd : public testing::TestWithParam<std::uint32_t> {};

// From the beginning, the middle and the end of a word, on an even and on an odd lap, and across
// the end of one; and where the index outgrows 32 bits, and far behind that.
TEST_P(ReadyEnd, IsTheFirstSlotThatIsNotReady) {
  const std::uint32_t depth = GetParam();
  const std::uint32_t step = depth <= 256 ? 1 : 29;
  const auto ran = sim::launch({1, 1}, {.workers = 1, .stacks = {}}, [&](HostMachine& m) {
    for (const std::uint64_t from :
         {std::uint64_t{0}, std::uint64_t{17}, std::uint64_t{31}, depth - std::uint64_t{1},
          depth + std::uint64_t{45}, (std::uint64_t{1} << 32) - 17,
          (std::uint64_t{1} << 40) + 31}) {
      for (std::uint64_t ready = 0; ready < depth; ready += step) {
        ASSERT_EQ(found(m, depth, from, from + ready), from + ready) << "from " << from;
      }
      ASSERT_EQ(found(m, depth, from, from + depth), from + depth) << "from " << from;
    }
  });
  EXPECT_TRUE(ran);
}

// Fewer words than the holder reads at once, as many, and more.
INSTANTIATE_TEST_SUITE_P(Depths, ReadyEnd, testing::Values(32, 64, 256, 512, 1024, 4096),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace gdakit
