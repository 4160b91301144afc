// What the guide says of order, from both sides: what orders two operations, and what does not.
#include <gtest/gtest.h>

#include "sim/world/scenarios/scenarios.h"
#include "tests/world/holds.h"

namespace gdakit::sim {
namespace {

using Word = std::uint64_t;

WorldOptions options_for(Reached reached) {
  WorldOptions options = scenarios::options_for(SubjectOptions{});
  options.reached = reached;
  return options;
}

// What stands between two operations.
enum class Between { nothing, fence, quiet };

template <class Pe>
void order(Pe& pe, Between between) {
  if (between == Between::fence) pe.fence();
  if (between == Between::quiet) pe.quiet();
}

// A put on one queue, and one that tells of it on another queue, or on the same one.
struct PutByTwoHandles {
  const Witness* witness;
  Word* data;
  std::uint64_t* flag;
  std::uint32_t second_queue;
  Between between;
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) {
      auto first = pe.on_queue(0);
      auto second = pe.on_queue(second_queue);
      first.put_value(data, 5, 1);
      order(first, between);
      second.put_value(flag, 1, 1);
      pe.quiet();
      return;
    }
    pe.wait_until(flag, Compare::eq, 1);
    witness->expect(pe.machine().load_weak(data) == 5, "the data is there when the flag is");
  }
};

bool two_handles_hold(std::uint32_t second_queue, Between between) {
  WorldOptions options = options_for(Reached::through_nic);
  options.queues = 2;
  World world("two handles", options);
  auto* data = world.allocate<Word>("data", 1);
  auto* flag = world.allocate<std::uint64_t>("flag", 1, RegionKind::signal);
  world.launch({.blocks = 1, .threads = 1},
               PutByTwoHandles{world.witness(), data, flag, second_queue, between});
  return holds(world);
}

TEST(Handles, OfOneQueueKeepTheOrderOfTheCalls) {
  EXPECT_TRUE(two_handles_hold(0, Between::nothing));
  EXPECT_TRUE(two_handles_hold(0, Between::fence));
}

TEST(Handles, OfTwoQueuesAreOrderedByQuietAlone) {
  EXPECT_FALSE(two_handles_hold(1, Between::nothing));
  EXPECT_FALSE(two_handles_hold(1, Between::fence));
  EXPECT_TRUE(two_handles_hold(1, Between::quiet));
}

// Gets words of a direct peer until the first of them is set, and then what was stored before it.
struct GetTwice {
  const Witness* witness;
  Word* flag;  // 2
  Word* data;
  Word* mine;  // 3
  std::size_t count;
  Between between;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 1) {
      m.store_weak(data, Word{8});
      pe.signal(flag, 1, SignalOp::set, 1);
      return;
    }
    for (;;) {
      pe.get(mine, flag, count, 1);
      if (m.load_weak(mine) != 0) break;
      m.spin(Site::user);
    }
    order(pe, between);
    pe.get(mine + 2, data, 1, 1);
    witness->expect(m.load_weak(mine + 2) == 8, "the data is there when the flag is");
  }
};

bool get_twice_holds(std::size_t count, Between between) {
  World world("get twice", options_for(Reached::directly));
  auto* flag = world.allocate<Word>("flag", 2, RegionKind::signal);
  auto* data = world.allocate<Word>("data", 1);
  auto* mine = world.allocate<Word>("mine", 3);
  world.launch({.blocks = 1, .threads = 1},
               GetTwice{world.witness(), flag, data, mine, count, between});
  return holds(world);
}

TEST(DirectGet, OfOneWordComesBeforeTheNextGet) {
  EXPECT_TRUE(get_twice_holds(1, Between::nothing));
}

TEST(DirectGet, OfMoreThanAWordIsOrderedByFenceAndQuiet) {
  EXPECT_FALSE(get_twice_holds(2, Between::nothing));
  EXPECT_TRUE(get_twice_holds(2, Between::fence));
  EXPECT_TRUE(get_twice_holds(2, Between::quiet));
}

// A thread stores to its own heap and tells of it by a store, too; another PE gets both.
struct StoreTwice {
  const Witness* witness;
  Word* data;
  Word* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(data, Word{8});
      pe.quiet();
      m.store(order::RelaxedSystem{}, flag, Word{1});
      return;
    }
    while (pe.get_value(flag, 0) == 0) m.spin(Site::user);
    witness->expect(pe.get_value(data, 0) == 8, "the data is there when the flag is");
  }
};

bool store_twice_holds(Reached reached) {
  World world("store twice", options_for(reached));
  auto* data = world.allocate<Word>("data", 1);
  auto* flag = world.allocate<Word>("flag", 1, RegionKind::signal);
  world.launch({.blocks = 1, .threads = 1}, StoreTwice{world.witness(), data, flag});
  return holds(world);
}

// The scenarios own-stores have what does order them: signals and barriers.
TEST(Quiet, OrdersStoresToTheThreadsOwnHeapAmongDirectPeersAlone) {
  EXPECT_FALSE(store_twice_holds(Reached::through_nic));
  EXPECT_TRUE(store_twice_holds(Reached::directly));
}

// A put to a direct peer and a flag, with quiet between the two or behind both; the peer calls
// quiet when it has seen the flag.
struct QuietOnBothSides {
  const Witness* witness;
  Word* data;
  Word* flag;
  bool between;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      pe.put_value(data, 8, 1);
      if (between) pe.quiet();
      m.store(order::RelaxedSystem{}, flag, Word{1});
      pe.quiet();
      return;
    }
    while (pe.get_value(flag, 0) == 0) m.spin(Site::user);
    pe.quiet();
    witness->expect(m.load_weak(data) == 8, "the data is there when the flag is");
  }
};

bool quiet_on_both_sides_holds(bool between) {
  World world("quiet on both sides", options_for(Reached::directly));
  auto* data = world.allocate<Word>("data", 1);
  auto* flag = world.allocate<Word>("flag", 1, RegionKind::signal);
  world.launch({.blocks = 1, .threads = 1}, QuietOnBothSides{world.witness(), data, flag, between});
  return holds(world);
}

// The fence of a late quiet may come behind that of whoever has seen the flag.
TEST(Quiet, BehindAFlagOrdersNothingBeforeIt) {
  EXPECT_TRUE(quiet_on_both_sides_holds(true));
  EXPECT_FALSE(quiet_on_both_sides_holds(false));
}

// An atomic by the NIC, quiet, and a look at the word by the same PE.
struct LookBehindQuiet {
  const Witness* witness;
  Word* sum;
  template <class Pe>
  void operator()(Pe& pe) const {
    pe.atomic_add(sum, Word{5}, 1);
    pe.quiet();
    witness->expect(pe.get_value(sum, 1) == 5, "the sum is there behind quiet");
  }
};

bool look_behind_quiet_holds(Reached reached, YesNo early_acks) {
  WorldOptions options = options_for(reached);
  options.base.early_acks = early_acks;
  World world("look behind quiet", options);
  auto* sum = world.allocate<Word>("sum", 1, RegionKind::signal);
  world.launch_on(0, {.blocks = 1, .threads = 1}, LookBehindQuiet{world.witness(), sum});
  return holds(world);
}

// That what is acknowledged is visible to everybody is what quiet relies on where atomics go
// through the NIC and loads do not: an assumption on the machine.
TEST(Quiet, NeedsAcknowledgesThatTellOfMemoryWhereLoadsGoPastTheNic) {
  for (const YesNo early_acks : {YesNo::no, YesNo::yes}) {
    EXPECT_TRUE(look_behind_quiet_holds(Reached::through_nic, early_acks));
  }
  EXPECT_TRUE(look_behind_quiet_holds(Reached::mixed, YesNo::no));
  EXPECT_FALSE(look_behind_quiet_holds(Reached::mixed, YesNo::yes));
}

// A thread that has seen a flag by a relaxed load knows nothing of what was written before it: it
// may find old values in all of many words.
struct ManyOldWords {
  static constexpr Word kWords = 16;

  const Witness* witness;
  Word* words;
  Word* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 0) {
      for (Word i = 0; i < kWords; ++i) m.store(order::RelaxedGpu{}, words + i, Word{1});
      m.store(order::RelaxedGpu{}, flag, Word{1});
      return;
    }
    while (m.load(order::RelaxedGpu{}, flag) == 0) m.spin(Site::user);
    Word found = 0;
    for (Word i = 0; i < kWords; ++i) found += m.load(order::RelaxedGpu{}, words + i);
    witness->expect(found != 0, "one of the words at least is new");
  }
};

TEST(Loads, MayAllBeOldThoughTheyAreMany) {
  WorldOptions options = options_for(Reached::through_nic);
  options.pes = 1;
  World world("many old words", options);
  auto* words = world.allocate<Word>("words", ManyOldWords::kWords);
  auto* flag = world.allocate<Word>("flag", 1);
  world.launch_on(0, {.blocks = 2, .threads = 1}, ManyOldWords{world.witness(), words, flag});
  EXPECT_FALSE(holds(world));
}

// Moves `count` words by one call.
struct PutSpread {
  Word* data;
  Word* source;
  Word count;
  template <class Pe>
  void operator()(Pe& pe) const {
    pe.iput(data, source, 2, 1, count, 1);
  }
};

constexpr std::uint32_t kDepth = 128;
constexpr Word kQuarter = kDepth / 4;

// How many completions the NIC of PE 0 makes, in a queue whose first slot is `first`. What asks for
// one rings, too.
std::uint64_t completions(Word first, Word count) {
  WorldOptions options;
  options.depth = kDepth;
  options.start_index = first;
  World world("spread", options);
  auto* data = world.allocate<Word>("data", 2 * count);
  auto* source = world.allocate<Word>("source", count);
  world.launch_on(0, {.blocks = 1, .threads = 1}, PutSpread{data, source, count});
  std::uint64_t made = 0;
  world.check([&](After& after) { made = after.nic_counters(0).cqes; });
  ExploreOptions once;
  once.schedules = 1;
  EXPECT_TRUE(explore(world, once).passed());
  return made;
}

TEST(Strided, SharesOneCompletionOrTwoWhereAQuarterOfTheQueueEnds) {
  for (const Word count : {Word{2}, kQuarter - 1, kQuarter}) {
    EXPECT_EQ(completions(0, count), 1u) << count;
  }
  for (Word first = 1; first < kQuarter; first += 5) {
    EXPECT_LE(completions(first, kQuarter), 2u) << first;
  }
  EXPECT_EQ(completions(kQuarter - 1, kQuarter), 2u);
}

}  // namespace
}  // namespace gdakit::sim
