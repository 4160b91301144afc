#include "core/host/memory/allocations.h"

#include <gtest/gtest.h>

namespace gdakit {
namespace {

TEST(Allocations, TellAnAddressByNameOrNumber) {
  Allocations heap;
  heap.add_own(0, 100, "teams");
  heap.add(256, 4096, "counts");
  heap.add(4352, 300, "");
  EXPECT_EQ(heap.describe(8), "gdakit's teams (100 bytes) + 8");
  EXPECT_EQ(heap.describe(256), "'counts' (4096 bytes)");
  EXPECT_EQ(heap.describe(512), "'counts' (4096 bytes) + 256");
  EXPECT_EQ(heap.describe(4353), "allocation 2 (300 bytes) + 1");
}

TEST(Allocations, TellHowFarBehindAnObjectAnAddressLies) {
  Allocations heap;
  EXPECT_EQ(heap.describe(8), "the symmetric heap + 8");
  heap.add(256, 100, "");
  EXPECT_EQ(heap.describe(8), "the symmetric heap + 8");
  EXPECT_EQ(heap.describe(355), "allocation 1 (100 bytes) + 99");
  EXPECT_EQ(heap.describe(356), "right behind allocation 1 (100 bytes)");
  EXPECT_EQ(heap.describe(420), "64 bytes behind allocation 1 (100 bytes)");
}

TEST(Allocations, RememberWhatWasFreedUntilItsMemoryIsUsedAgain) {
  Allocations heap;
  heap.add(0, 1024, "old");
  heap.add(1024, 256, "other");
  heap.release(0);
  EXPECT_EQ(heap.describe(512), "'old' (1024 bytes, freed) + 512");
  EXPECT_FALSE(heap.nearest(512)->in_use);
  heap.add(512, 256, "new");  // in the middle of what was freed
  EXPECT_EQ(heap.describe(600), "'new' (256 bytes) + 88");
  EXPECT_EQ(heap.describe(100), "the symmetric heap + 100");
  EXPECT_EQ(heap.describe(1024), "'other' (256 bytes)");
  heap.add(0, 256, "");
  EXPECT_EQ(heap.describe(0), "allocation 4 (256 bytes)");
}

TEST(Allocations, GiveAnObjectOfNoBytesItsPlace) {
  Allocations heap;
  heap.add(0, 0, "nothing");
  heap.release(0);
  heap.add(0, 0, "");
  EXPECT_EQ(heap.describe(0), "allocation 2 (0 bytes)");
}

}  // namespace
}  // namespace gdakit
