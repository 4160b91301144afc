// The kernels of host calls under the weak-memory model.
#include <gtest/gtest.h>

#include "host_calls/operation.h"
#include "sim/test.h"
#include "sim/world/world.h"

namespace gdakit::sim {
namespace {

// What PE 0's stream has to do, in one kernel: a put, and a signal that tells PE 1 of it.
struct PutThenSignal {
  const Witness* witness;
  std::uint64_t* source;
  std::uint64_t* data;
  std::uint64_t* word;

  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(source, std::uint64_t{7});
      MoveBytes{transfer(HostOperation::Kind::put, false, data, source, 1, sizeof(*data), 1)}(pe);
      ActOnWord{signalling(word, 1, SignalOp::add, 1)}(pe);
    } else {
      witness->expect(pe.wait_until(word, Compare::eq, 1).ok(), "the signal comes");
      witness->expect(m.load_weak(data) == 7, "the data is there when the signal is");
    }
  }
};

TEST(HostCallsInOrder, ASignalIsBehindWhatWasPutBefore) {
  for (const auto reached : {Reached::through_nic, Reached::directly, Reached::mixed}) {
    World world("put, then signal", {.base = hopper(), .reached = reached});
    auto* source = world.allocate<std::uint64_t>("source", 1);
    auto* data = world.allocate<std::uint64_t>("data", 1);
    auto* word = world.allocate<std::uint64_t>("word", 1, RegionKind::signal);
    world.launch({.blocks = 1, .threads = 1}, PutThenSignal{world.witness(), source, data, word});
    const Exploration found = explore(world, {.schedules = 500});
    EXPECT_TRUE(found.passed()) << found.report();
  }
}

}  // namespace
}  // namespace gdakit::sim
