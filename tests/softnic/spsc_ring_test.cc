#include "backends/softnic/wire/spsc_ring.h"

#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

TEST(SpscRing, HandsSlotsOverInOrderAndHoldsNoMoreThanItHas) {
  RingIndices indices;
  RingWriter writer(&indices, 4);
  RingReader reader(&indices, 4);
  EXPECT_FALSE(reader.peek());
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(writer.reserve(), i);
    writer.commit();
  }
  EXPECT_FALSE(writer.reserve());
  EXPECT_FALSE(reader.peek());  // not published
  writer.publish();
  for (std::uint32_t i = 0; i < 4; ++i) {
    EXPECT_EQ(reader.peek(), i);
    reader.advance();
  }
  EXPECT_FALSE(reader.peek());
  EXPECT_FALSE(writer.reserve());  // read, not retired
  reader.retire();
  EXPECT_FALSE(writer.reserve());  // retired, not given back
  reader.publish();
  EXPECT_EQ(writer.reserve(), 0u);
  EXPECT_EQ(reader.unretired(), 3u);
}

TEST(SpscRing, ANewReaderGoesOnWhereTheLastRetired) {
  RingIndices indices;
  RingWriter writer(&indices, 8);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(writer.reserve());
    writer.commit();
  }
  writer.publish();
  RingReader first(&indices, 8);
  ASSERT_TRUE(first.peek());
  first.advance();
  first.retire();
  first.publish();
  RingReader second(&indices, 8);
  EXPECT_EQ(second.peek(), 1u);
}

TEST(SpscRing, ATailThatCannotBeBreaksTheReader) {
  for (const std::uint64_t tail : {5ull, ~0ull, 1ull << 63}) {
    RingIndices indices;
    RingReader reader(&indices, 4);
    indices.tail.store(tail);
    EXPECT_FALSE(reader.peek());
    EXPECT_TRUE(reader.broken());
    indices.tail.store(1);
    EXPECT_FALSE(reader.peek());
  }
}

TEST(SpscRing, ATailThatGoesBackBreaksTheReader) {
  RingIndices indices;
  RingReader reader(&indices, 16);
  indices.tail.store(5);
  for (int i = 0; i < 5; ++i) {
    ASSERT_TRUE(reader.peek());
    reader.advance();
  }
  indices.tail.store(2);
  EXPECT_FALSE(reader.peek());
  EXPECT_TRUE(reader.broken());
}

TEST(SpscRing, AHeadThatCannotBeBreaksTheWriter) {
  RingIndices indices;
  RingWriter writer(&indices, 4);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(writer.reserve());
    writer.commit();
  }
  indices.head.store(5);  // more than was ever written
  EXPECT_FALSE(writer.reserve());
  EXPECT_TRUE(writer.broken());
  indices.head.store(4);
  EXPECT_FALSE(writer.reserve());
}

// It would wait for ever for one that reads no more.
TEST(SpscRing, AReaderThatIsBrokenTellsTheWriter) {
  RingIndices indices;
  RingWriter writer(&indices, 4);
  RingReader reader(&indices, 4);
  ASSERT_TRUE(writer.reserve());
  writer.commit();
  writer.publish();
  EXPECT_EQ(writer.unretired(), 1u);
  indices.tail.store(77);
  EXPECT_FALSE(reader.peek());
  EXPECT_EQ(writer.unretired(), 0u);
  reader.publish();
  EXPECT_EQ(writer.unretired(), 0u);
  static_cast<void>(writer.head());
  EXPECT_TRUE(writer.broken());
}

TEST(SpscRing, ANewPairBeginsAnewWhateverItFinds) {
  for (const std::uint64_t head : {0ull, 5ull, 1ull << 63, ~0ull}) {
    for (const std::uint64_t tail : {0ull, 3ull, 1ull << 62, ~0ull}) {
      RingIndices indices;
      indices.head.store(head);
      indices.tail.store(tail);
      RingWriter writer(&indices, 4);
      if (writer.broken()) writer.restart();
      RingReader reader(&indices, 4);
      reader.skip_all();
      ASSERT_TRUE(writer.reserve());
      writer.commit();
      writer.publish();
      EXPECT_TRUE(reader.peek()) << head << " " << tail;
      EXPECT_FALSE(writer.broken());
    }
  }
}

TEST(SpscRing, TwoThreadsPassEveryValue) {
  constexpr std::uint64_t kValues = 200'000;
  RingIndices indices;
  std::vector<std::uint64_t> slots(16);
  std::thread producer([&] {
    RingWriter writer(&indices, 16);
    for (std::uint64_t value = 0; value < kValues;) {
      if (const auto slot = writer.reserve()) {
        slots[*slot] = value++;
        writer.commit();
        writer.publish();
      } else {
        std::this_thread::yield();
      }
    }
  });
  RingReader reader(&indices, 16);
  for (std::uint64_t value = 0; value < kValues;) {
    if (const auto slot = reader.peek()) {
      ASSERT_EQ(slots[*slot], value++);
      reader.advance();
      reader.retire();
      reader.publish();
    } else {
      std::this_thread::yield();
    }
  }
  producer.join();
}

}  // namespace
}  // namespace gdakit::softnic
