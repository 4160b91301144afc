// Worlds: what is found, and what is not.
#include "sim/world/world.h"

#include <stdexcept>

#include <gtest/gtest.h>

#include "sim/explore/explorer.h"

namespace gdakit::sim {
namespace {

using Word = std::uint64_t;
using GpuRelease = order::Release<Scope::gpu>;
using GpuAcquire = order::Acquire<Scope::gpu>;

Exploration run(World& world, std::uint64_t executions = 300) {
  ExploreOptions options;
  options.schedules = executions;
  return explore(world, options);
}

FindingKind finding_of(const Exploration& found) {
  return found.failure ? found.failure->result.finding : FindingKind::none;
}

// Block 0 writes data and sets a flag, block 1 waits for the flag and reads the data.
template <class Store, class Load>
struct Pass {
  const Witness* witness;
  Word* data;
  Word* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 0) {
      m.store_weak(data, 42);
      m.store(Store{}, flag, 1);
      return;
    }
    while (m.load(Load{}, flag) == 0) m.spin(Site::user);
    witness->expect(m.load_weak(data) == 42, "the data is there when the flag is");
  }
};

template <class Store, class Load>
Exploration pass() {
  World world("pass", {.pes = 1});
  auto* const data = world.allocate<Word>("data", 1);
  auto* const flag = world.allocate<Word>("flag", 1);
  world.launch({.blocks = 2, .threads = 1}, Pass<Store, Load>{world.witness(), data, flag});
  return run(world);
}

TEST(World, PassesAMessageWithReleaseAndAcquire) {
  const Exploration found = pass<GpuRelease, GpuAcquire>();
  EXPECT_TRUE(found.passed()) << found.report();
}

TEST(World, FindsAMissingRelease) {
  const Exploration found = pass<order::RelaxedGpu, GpuAcquire>();
  EXPECT_EQ(finding_of(found), FindingKind::race);
  ASSERT_FALSE(found.passed());
  ASSERT_FALSE(found.failure->trace.missing.empty());
  EXPECT_NE(found.report().find("no release by PE 0 block 0 thread 0"), std::string::npos)
      << found.report();
}

TEST(World, FindsAMissingAcquire) {
  EXPECT_EQ((finding_of(pass<GpuRelease, order::RelaxedGpu>())), FindingKind::race);
}

TEST(World, FindsAScopeThatIsTooNarrow) {
  EXPECT_EQ((finding_of(pass<order::Release<Scope::block>, GpuAcquire>())), FindingKind::race);
}

template <class Kernel>
Exploration run_kernel(LaunchShape shape, const Kernel& kernel) {
  World world("kernel", {.pes = 1});
  world.launch(shape, kernel);
  return run(world, 50);
}

struct WaitsForEver {
  Word* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    while (m.load(order::RelaxedGpu{}, flag) == 0) m.spin(Site::user);
  }
};

TEST(World, FindsAHang) {
  World world("hang", {.pes = 1});
  auto* const flag = world.allocate<Word>("flag", 1);
  world.launch({.blocks = 1, .threads = 1}, WaitsForEver{flag});
  const Exploration found = run(world);
  EXPECT_EQ(finding_of(found), FindingKind::hang);
  EXPECT_NE(found.report().find("waits for something of its own"), std::string::npos);
}

struct PollsWeakly {
  Word* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 0) {
      m.store(GpuRelease{}, flag, 1);
    } else {
      while (m.load_weak(flag) == 0) m.spin(Site::user);
    }
  }
};

TEST(World, FindsAWeakPoll) {
  World world("weak poll", {.pes = 1});
  auto* const flag = world.allocate<Word>("flag", 1);
  world.launch({.blocks = 2, .threads = 1}, PollsWeakly{flag});
  const FindingKind kind = finding_of(run(world));
  EXPECT_TRUE(kind == FindingKind::weak_poll || kind == FindingKind::race) << finding_name(kind);
}

struct DivergesAtABarrier {
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.thread_index() == 0) {
      m.sync_warp(0b11);
    } else {
      m.ballot(0b11, true);
    }
  }
};

TEST(World, FindsAMisuseOfGroupOperations) {
  EXPECT_EQ(finding_of(run_kernel({.blocks = 1, .threads = 2}, DivergesAtABarrier{})),
            FindingKind::group);
}

struct Throws {
  template <class Pe>
  void operator()(Pe&) const {
    throw std::runtime_error("no luck");
  }
};

TEST(World, FindsAKernelThatThrows) {
  const Exploration found = run_kernel({.blocks = 1, .threads = 1}, Throws{});
  EXPECT_EQ(finding_of(found), FindingKind::thrown);
  EXPECT_NE(found.report().find("no luck"), std::string::npos);
}

struct StoresToADoorbell {
  template <class Pe>
  void operator()(Pe& pe) const {
    pe.machine().store(order::RelaxedSystem{}, pe.context().queues[0].doorbell, 1);
  }
};
struct RingsMemory {
  template <class Pe>
  void operator()(Pe& pe) const {
    pe.machine().store_mmio(pe.context().queues[0].ready, 1);
  }
};

TEST(World, FindsDoorbellsThatAreNotStoredAsSuch) {
  EXPECT_EQ(finding_of(run_kernel({.blocks = 1, .threads = 1}, StoresToADoorbell{})),
            FindingKind::mmio);
  EXPECT_EQ(finding_of(run_kernel({.blocks = 1, .threads = 1}, RingsMemory{})), FindingKind::mmio);
}

struct Strays {
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    pe.machine().load(order::RelaxedGpu{}, data + 8);
  }
};

TEST(World, FindsAccessesBeyondObjects) {
  World world("stray", {.pes = 1});
  auto* const data = world.allocate<Word>("data", 1);
  world.launch({.blocks = 1, .threads = 1}, Strays{data});
  EXPECT_EQ(finding_of(run(world)), FindingKind::stray);
}

struct TwoSizes {
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 0) {
      m.store(order::RelaxedGpu{}, data, 1);
    } else {
      m.load(order::RelaxedGpu{}, reinterpret_cast<std::uint32_t*>(data));
    }
  }
};

TEST(World, FindsAccessesOfTwoSizesThatNothingOrders) {
  World world("two sizes", {.pes = 1});
  auto* const data = world.allocate<Word>("data", 1);
  world.launch({.blocks = 2, .threads = 1}, TwoSizes{data});
  EXPECT_EQ(finding_of(run(world)), FindingKind::mixed_size);
}

// What a PE's memory holds is its own, at the same addresses.
struct AddOwn {
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    pe.machine().fetch_add(order::RelaxedGpu{}, data, Word(pe.my_pe()) + 1);
  }
};

TEST(World, GivesEveryPeMemoryOfItsOwn) {
  World world("own memory", {.pes = 3});
  auto* const data = world.allocate<Word>("data", 1);
  world.set(2, data, 100);
  world.launch({.blocks = 2, .threads = 1}, AddOwn{data});
  world.check([=](After& after) {
    after.expect(after.value(0, data) == 2, "PE 0 has its own sum");
    after.expect(after.value(1, data) == 4, "PE 1 has its own sum");
    after.expect(after.value(2, data) == 106, "PE 2 has begun with 100");
  });
  const Exploration found = run(world);
  EXPECT_TRUE(found.passed()) << found.report();
}

TEST(World, FailsWhenAnInvariantDoesNotHold) {
  World world("invariant", {.pes = 1});
  auto* const data = world.allocate<Word>("data", 1);
  world.launch({.blocks = 1, .threads = 1}, AddOwn{data});
  world.check([=](After& after) { after.expect(after.value(0, data) == 2, "there are two"); });
  const Exploration found = run(world);
  EXPECT_EQ(finding_of(found), FindingKind::invariant);
  EXPECT_NE(found.report().find("there are two"), std::string::npos);
}

TEST(World, RunsAgainAfterAFailureAsIfNothingHadHappened) {
  World world("again", {.pes = 1});
  auto* const flag = world.allocate<Word>("flag", 1);
  world.launch({.blocks = 2, .threads = 1}, PollsWeakly{flag});
  const std::string first = run(world).failure->result.text;
  EXPECT_EQ(run(world).failure->result.text, first);
}

struct PutsNothing {
  template <class Pe>
  void operator()(Pe&) const {}
};

TEST(World, IsSplitInsideOfItsHeapAndInAscendingOrderOnly) {
  const auto problem_of = [](int first, int second) {
    World world("split", {.pes = 1});
    auto* words = world.allocate<std::uint64_t>("words", 4);
    world.split_at(words + first);
    world.split_at(words + second);
    world.launch({}, PutsNothing{});
    ExploreOptions once;
    once.schedules = 1;
    const Exploration found = explore(world, once);
    return found.passed() ? std::string() : found.failure->result.text;
  };
  EXPECT_EQ(problem_of(1, 2), "");
  EXPECT_EQ(problem_of(2, 1).substr(0, 9), "split_at:");
  EXPECT_EQ(problem_of(1, 1).substr(0, 9), "split_at:");
  EXPECT_EQ(problem_of(1, 4096).substr(0, 9), "split_at:");
}

}  // namespace
}  // namespace gdakit::sim
