#include "core/host/memory/heap_allocator.h"

#include <map>
#include <random>

#include <gtest/gtest.h>

namespace gdakit {
namespace {

TEST(HeapAllocator, GivesTheLowestOffsetThatFits) {
  HeapAllocator heap;
  heap.extend(4096);
  EXPECT_EQ(heap.allocate(256), 0u);
  EXPECT_EQ(heap.allocate(1), 256u);
  EXPECT_EQ(heap.allocate(512), 512u);
  EXPECT_TRUE(heap.free(256));
  EXPECT_EQ(heap.allocate(300), 1024u);
  EXPECT_EQ(heap.allocate(256), 256u);
}

TEST(HeapAllocator, TellsWhatIsMissing) {
  HeapAllocator heap;
  EXPECT_EQ(heap.missing_for(100), 256u);
  heap.extend(1024);
  EXPECT_EQ(heap.missing_for(1024), 0u);
  EXPECT_EQ(heap.missing_for(1025), 256u);  // the free end counts
  ASSERT_EQ(heap.allocate(1024), 0u);
  EXPECT_EQ(heap.missing_for(1), 256u);
  EXPECT_FALSE(heap.allocate(1).has_value());
  heap.extend(256);
  EXPECT_EQ(heap.allocate(1), 1024u);
}

TEST(HeapAllocator, RefusesToFreeWhatIsNotAnObject) {
  HeapAllocator heap;
  heap.extend(1024);
  ASSERT_EQ(heap.allocate(512), 0u);
  EXPECT_FALSE(heap.free(256));
  EXPECT_TRUE(heap.free(0));
  EXPECT_FALSE(heap.free(0));
}

TEST(HeapAllocator, GivesAnObjectOfNoBytesAnAddressOfItsOwn) {
  HeapAllocator heap;
  heap.extend(1024);
  EXPECT_EQ(heap.allocate(0), 0u);
  EXPECT_EQ(heap.allocate(0), 256u);
}

TEST(HeapAllocator, RefusesSizesBeyondAllMemory) {
  HeapAllocator heap;
  heap.extend(1024);
  EXPECT_FALSE(heap.allocate(~std::uint64_t{0}).has_value());
}

// Against a plain model: objects never overlap, stay inside, and all memory comes back.
TEST(HeapAllocator, NeverHandsOutMemoryTwice) {
  std::mt19937_64 random(7);
  HeapAllocator heap;
  heap.extend(1 << 20);
  std::map<std::uint64_t, std::uint64_t> objects;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 2 == 0 || objects.empty()) {
      const std::uint64_t bytes = random() % 20'000;
      const auto offset = heap.allocate(bytes);
      if (!offset) continue;
      ASSERT_LE(*offset + bytes, heap.size());
      ASSERT_EQ(*offset % kHeapAlignment, 0u);
      const auto next = objects.lower_bound(*offset);
      if (next != objects.end()) {
        ASSERT_LE(*offset + bytes, next->first);
      }
      if (next != objects.begin()) {
        const auto before = std::prev(next);
        ASSERT_LE(before->first + before->second, *offset);
      }
      objects.emplace(*offset, std::max<std::uint64_t>(bytes, 1));
    } else {
      auto victim = objects.begin();
      std::advance(victim, random() % objects.size());
      ASSERT_TRUE(heap.free(victim->first));
      objects.erase(victim);
    }
  }
  for (const auto& [offset, bytes] : objects) ASSERT_TRUE(heap.free(offset));
  EXPECT_EQ(heap.bytes_in_use(), 0u);
  EXPECT_EQ(heap.allocate(1 << 20), 0u);
}

}  // namespace
}  // namespace gdakit
