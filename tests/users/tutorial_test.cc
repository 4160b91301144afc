// The tutorial of sim/test.h, word for word: test_header_test.cc compares the two.

#include <gtest/gtest.h>

#include "sim/test.h"

using namespace gdakit;

// PE 0 sends data and then a flag; PE 1 waits for the flag and takes the data.
struct Hand {
  std::uint64_t* source;
  std::uint64_t* data;
  std::uint64_t* flag;
  std::uint64_t* taken;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(source, 42);
      pe.put_nbi(data, source, 1, 1);
      pe.put_value(flag, 1, 1);
      pe.quiet();
    } else {
      while (m.load(order::Acquire<Scope::system>{}, flag) == 0) m.spin(Site::user);
      m.store_weak(taken, m.load_weak(data));
    }
  }
};

TEST(Hand, BringsTheData) {
  sim::World world("hand", {.pes = 2});
  auto* source = world.allocate<std::uint64_t>("source", 1);
  auto* data = world.allocate<std::uint64_t>("data", 1);
  auto* flag = world.allocate<std::uint64_t>("flag", 1, sim::RegionKind::signal);
  auto* taken = world.allocate<std::uint64_t>("taken", 1);
  world.launch({.blocks = 1, .threads = 1}, Hand{source, data, flag, taken});
  world.check([=](sim::After& after) { after.expect_eq("taken", after.value(1, taken), 42); });
  const sim::Exploration found = sim::explore_in_test(world);
  EXPECT_TRUE(found.passed()) << found.report();
}
