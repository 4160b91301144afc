#include "sim/world/region.h"

#include <gtest/gtest.h>

namespace gdakit::sim {
namespace {

Region region(std::uint64_t begin, std::uint64_t end, RegionKind kind, const char* name,
              Owner owner = Owner::gpu) {
  Region made;
  made.begin = begin;
  made.end = end;
  made.kind = kind;
  made.name = name;
  made.owner = owner;
  return made;
}

Layout example() {
  Layout layout;
  // Not in order: the layout sorts.
  layout.add(region(0x400, 0x800, RegionKind::heap, "heap"));
  layout.add(region(0x000, 0x100, RegionKind::slots, "queue 1"));
  layout.add(region(0x100, 0x140, RegionKind::cqe, "queue 1"));
  layout.add(region(0x140, 0x148, RegionKind::record, "queue 1"));
  layout.add(region(0x180, 0x1c8, RegionKind::state, "queue 1"));
  layout.add(region(0x200, 0x280, RegionKind::cqe, "receive queue"));
  layout.add(region(0x900, 0x980, RegionKind::command, "queue 1"));
  return layout;
}

TEST(Layout, NamesPlacesAsPeopleKnowThem) {
  const Layout layout = example();
  EXPECT_EQ(layout.name(0x00), "queue 1 WQE 0");
  EXPECT_EQ(layout.name(0xd0), "queue 1 WQE 3 +16");
  EXPECT_EQ(layout.name(0x138), "queue 1 CQE +56");
  EXPECT_EQ(layout.name(0x278), "receive queue CQE 1 +56");
  EXPECT_EQ(layout.name(0x140), "queue 1 record");
  EXPECT_EQ(layout.name(0x144), "queue 1 record +4");
  EXPECT_EQ(layout.name(0x188), "queue 1 completed");
  EXPECT_EQ(layout.name(0x18c), "queue 1 completed +4");
  EXPECT_EQ(layout.name(0x1c0), "queue 1 state +64");
  EXPECT_EQ(layout.name(0x948), "queue 1 command 1 +8");
  EXPECT_EQ(layout.name(0x440), "heap +0x40");
  EXPECT_EQ(layout.name(0x300), "offset 0x300");
}

TEST(Layout, FindsTheRegionOfAnOffsetAndNothingBetweenRegions) {
  const Layout layout = example();
  ASSERT_NE(layout.find(0x7ff), nullptr);
  EXPECT_EQ(layout.find(0x7ff)->name, "heap");
  EXPECT_EQ(layout.find(0x13f)->kind, RegionKind::cqe);
  EXPECT_EQ(layout.find(0x148), nullptr);
  EXPECT_EQ(layout.find(0x800), nullptr);
}

TEST(Layout, RefusesRegionsThatOverlap) {
  Layout layout = example();
  EXPECT_DEATH(layout.add(region(0x7f8, 0x900, RegionKind::other, "x")), "assertion");
  EXPECT_DEATH(layout.add(region(0x3f0, 0x401, RegionKind::other, "x")), "assertion");
}

TEST(Layout, BelongsToTheGpuIfEverythingThatTheNicTouchesDoes) {
  Layout layout = example();
  EXPECT_TRUE(layout.all_of_gpu());
  layout.add(region(0x800, 0x808, RegionKind::proxy, "queue 1", Owner::host));
  EXPECT_TRUE(layout.all_of_gpu()) << "the NIC never looks at the proxy's index";
  layout.add(region(0x840, 0x880, RegionKind::command, "queue 1", Owner::host));
  EXPECT_TRUE(layout.all_of_gpu()) << "nor at its commands";
  layout.add(region(0x810, 0x818, RegionKind::record, "queue 2", Owner::host));
  EXPECT_FALSE(layout.all_of_gpu());
}

TEST(AddressSpace, TranslatesTheSameVirtualAddressForEveryPe) {
  const AddressSpace space{0x70000000, 0x1000};
  EXPECT_EQ(space.model(0, 0x70000010), 0x10u);
  EXPECT_EQ(space.model(2, 0x70000010), 0x2010u);
  EXPECT_EQ(space.pe_of(0x2010), 2u);
  EXPECT_EQ(space.offset_of(0x2010), 0x10u);
  EXPECT_EQ(place_name(space, example(), 0x2440), "PE 2 heap +0x40");
}

TEST(AddressSpace, ContainsWhatLiesInItAsAWhole) {
  const AddressSpace space{0x70000000, 0x1000};
  EXPECT_TRUE(space.contains(0x70000000, 0x1000));
  EXPECT_TRUE(space.contains(0x70000ff8, 8));
  EXPECT_FALSE(space.contains(0x70000ff9, 8));
  EXPECT_FALSE(space.contains(0x6fffffff, 1));
  EXPECT_FALSE(space.contains(0x70000000, 0x1001));
  EXPECT_FALSE(space.contains(~std::uint64_t{0}, 8));
}

}  // namespace
}  // namespace gdakit::sim
