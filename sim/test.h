// Explore: the one header for tests that look for missing orders in kernels. No GPU is needed.
//
//   #include <gtest/gtest.h>
//
//   #include "sim/test.h"
//
//   using namespace gdakit;
//
//   // PE 0 sends data and then a flag; PE 1 waits for the flag and takes the data.
//   struct Hand {
//     std::uint64_t* source;
//     std::uint64_t* data;
//     std::uint64_t* flag;
//     std::uint64_t* taken;
//     template <class Pe>
//     GDAKIT_DEVICE void operator()(Pe& pe) const {
//       auto& m = pe.machine();
//       if (pe.my_pe() == 0) {
//         m.store_weak(source, 42);
//         pe.put_nbi(data, source, 1, 1);
//         pe.put_value(flag, 1, 1);
//         pe.quiet();
//       } else {
//         while (m.load(order::Acquire<Scope::system>{}, flag) == 0) m.spin(Site::user);
//         m.store_weak(taken, m.load_weak(data));
//       }
//     }
//   };
//
//   TEST(Hand, BringsTheData) {
//     sim::World world("hand", {.pes = 2});
//     auto* source = world.allocate<std::uint64_t>("source", 1);
//     auto* data = world.allocate<std::uint64_t>("data", 1);
//     auto* flag = world.allocate<std::uint64_t>("flag", 1, sim::RegionKind::signal);
//     auto* taken = world.allocate<std::uint64_t>("taken", 1);
//     world.launch({.blocks = 1, .threads = 1}, Hand{source, data, flag, taken});
//     world.check([=](sim::After& after) { after.expect_eq("taken", after.value(1, taken), 42); });
//     const sim::Exploration found = sim::explore_in_test(world);
//     EXPECT_TRUE(found.passed()) << found.report();
//   }
//
// Take the acquire away (order::RelaxedSystem) and the report names the load that may see old data,
// the store that it misses, and what would have ordered them.
//
// A kernel reaches symmetric memory through pe and pe.machine() only: puts, gets, waits, load_weak
// and store_weak for data, load and store with an order of device/order.h for words that threads
// synchronise by, spin(Site::user) once in every turn of a wait loop of its own. Reading *data ends
// the program with a sentence that says so. What a kernel may not change is everything else: it is
// const, and all its threads share it.
//
// Which machine is simulated: WorldOptions::base (hopper(), ampere()) and WorldOptions::knobs, see
// world/knobs.h. What the model can show and what not: weak/memory.h. The walk-through:
// docs/test-your-kernel.md.
#pragma once

#if __cplusplus < 202002L
#error "sim/test.h needs C++20 or newer: compile with -std=c++20"
#else

#include <string>

#include "device/order.h"
#include "device/pe.h"
#include "sim/explore/explorer.h"
#include "sim/explore/page.h"
#include "sim/world/kernel_channel.h"
#include "sim/world/world.h"

namespace gdakit::sim {

struct ReportOptions {
  // A token of an earlier report: runs that execution alone, as it was.
  std::string replay = {};
  // A failing run is written here as a page for a browser. A file that is there is replaced.
  std::string page = {};
};

// Explores the world as a test does: the report tells what to put into the test to see the failing
// run again. Only if it failed is there more in the result than the counts. A token or a file name
// that is of no use fails, too, and the report says why.
Exploration explore_in_test(World& world, const ExploreOptions& options = {},
                            const ReportOptions& report = {});

}  // namespace gdakit::sim

#endif  // C++20
