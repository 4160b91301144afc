// The rules of the weak memory, one by one: what they forbid, and beside it what is allowed as soon
// as one part is missing.
#include "sim/weak/memory.h"

#include <gtest/gtest.h>

#include "tests/weak/scripts.h"

namespace gdakit::sim::weak::test {
namespace {

Outcomes message(const Access& flag_store, const Access& flag_load, const Place& reader = kBlock1) {
  return outcomes({Script(kBlock0).store(kX, 1, weak()).store(kFlag, 1, flag_store),
                   Script(reader).load(kFlag, flag_load).load(kX, weak())});
}

TEST(Memory, AReleaseThatAnAcquireReadsCarriesWhatCameBefore) {
  EXPECT_EQ(message(release(), acquire()), (Outcomes{{0, 0}, {0, 1}, {1, 1}}));
  EXPECT_TRUE(has(message(relaxed(), acquire()), {1, 0}));
  EXPECT_TRUE(has(message(release(), relaxed()), {1, 0}));
  EXPECT_TRUE(has(message(release(), weak()), {1, 0}));
  EXPECT_TRUE(has(message(weak(), acquire()), {1, 0}));
}

TEST(Memory, ScopesMustIncludeEachOthersAgents) {
  EXPECT_FALSE(has(message(release(Scope::gpu), acquire(Scope::gpu)), {1, 0}));
  EXPECT_TRUE(has(message(release(Scope::block), acquire(Scope::gpu)), {1, 0}));
  EXPECT_TRUE(has(message(release(Scope::gpu), acquire(Scope::block)), {1, 0}));
  EXPECT_FALSE(has(message(release(Scope::block), acquire(Scope::block), kBlock0), {1, 0}));
  EXPECT_FALSE(has(message(release(), acquire(), kGpu1), {1, 0}));
  EXPECT_TRUE(has(message(release(Scope::gpu), acquire(), kGpu1), {1, 0}));
  EXPECT_TRUE(has(message(release(), acquire(Scope::gpu), kHost), {1, 0}));
}

Outcomes fenced_message(Sem before, Scope scope, const Access& flag, Sem after) {
  return outcomes({Script(kBlock0).store(kX, 1, weak()).fence(before, scope).store(kFlag, 1, flag),
                   Script(kGpu1).load(kFlag, relaxed()).fence(after).load(kX, weak())});
}

TEST(Memory, FencesMakeReleasesAndAcquiresOfStrongAccesses) {
  EXPECT_FALSE(has(fenced_message(Sem::release, Scope::system, relaxed(), Sem::acquire), {1, 0}));
  EXPECT_FALSE(has(fenced_message(Sem::acq_rel, Scope::system, relaxed(), Sem::acq_rel), {1, 0}));
  // fence.sc is both as well.
  EXPECT_FALSE(has(fenced_message(Sem::sc, Scope::system, relaxed(), Sem::sc), {1, 0}));
  EXPECT_TRUE(has(fenced_message(Sem::acquire, Scope::system, relaxed(), Sem::acquire), {1, 0}));
  EXPECT_TRUE(has(fenced_message(Sem::release, Scope::system, weak(), Sem::acquire), {1, 0}));
  // The fence's scope counts, not that of the store behind it.
  EXPECT_TRUE(has(fenced_message(Sem::release, Scope::gpu, relaxed(), Sem::acquire), {1, 0}));
}

TEST(Memory, PatternsReachOverAccessesToTheSamePlace) {
  const auto writer = [](Address second) {
    return Script(kBlock0)
        .store(kX, 1, weak())
        .store(second, 1, release())
        .store(kFlag, 2, relaxed());
  };
  const auto reader = [](Address second) {
    return Script(kGpu1).load(kFlag, relaxed()).load(second, acquire()).load(kX, weak());
  };
  const auto late = [](const Outcomes& all) { return has(all, {2, 2, 0}) || has(all, {2, 0, 0}); };
  EXPECT_FALSE(late(outcomes({writer(kFlag), reader(kFlag)})));
  EXPECT_TRUE(late(outcomes({writer(kY), reader(kFlag)})));
  EXPECT_TRUE(has(outcomes({writer(kFlag), reader(kY)}), {2, 0, 0}));
}

TEST(Memory, UpdatesCarryTheReleasesOfOthersOn) {
  const auto chain = [](Scope scope) {
    return outcomes({Script(kBlock0).store(kX, 1, weak()).store(kFlag, 1, release(Scope::gpu)),
                     Script(kBlock1).add(kFlag, 1, relaxed(scope)),
                     Script(kBlock0).load(kFlag, acquire(Scope::gpu)).load(kX, weak())});
  };
  EXPECT_FALSE(has(chain(Scope::gpu), {1, 2, 0}));
  EXPECT_TRUE(has(chain(Scope::block), {1, 2, 0}));
}

TEST(Memory, AnUpdateWithoutResultIsNoAcquire) {
  const auto reads = [](bool no_result) {
    Access access = relaxed();
    access.no_result = no_result;
    return outcomes({Script(kBlock0).store(kX, 1, weak()).store(kFlag, 1, release()),
                     Script(kGpu1).add(kFlag, 1, access).fence(Sem::acquire).load(kX, weak())});
  };
  EXPECT_FALSE(has(reads(false), {1, 0}));
  EXPECT_TRUE(has(reads(true), {1, 0}));
}

Outcomes store_buffering(Sem sem, Scope scope, const Place& second = kBlock1) {
  return outcomes({Script(kBlock0).store(kX, 1, relaxed()).fence(sem, scope).load(kY, relaxed()),
                   Script(second).store(kY, 1, relaxed()).fence(sem, scope).load(kX, relaxed())});
}

TEST(Memory, ScFencesStandInOneOrder) {
  EXPECT_EQ(store_buffering(Sem::sc, Scope::gpu), (Outcomes{{0, 1}, {1, 0}, {1, 1}}));
  EXPECT_TRUE(has(store_buffering(Sem::acq_rel, Scope::gpu), {0, 0}));
  // Only those that are morally strong do.
  EXPECT_TRUE(has(store_buffering(Sem::sc, Scope::gpu, kGpu1), {0, 0}));
  EXPECT_FALSE(has(store_buffering(Sem::sc, Scope::system, kGpu1), {0, 0}));
  EXPECT_TRUE(has(store_buffering(Sem::sc, Scope::block), {0, 0}));
}

TEST(Memory, ReadersNeedNotAgreeOnTheOrderOfIndependentWrites) {
  const auto readers = [](Sem sem) {
    return outcomes({Script(kBlock0).store(kX, 1, relaxed()),
                     Script(kBlock1).store(kY, 1, relaxed()),
                     Script(kGpu1).load(kX, relaxed()).fence(sem).load(kY, relaxed()),
                     Script(kHost).load(kY, relaxed()).fence(sem).load(kX, relaxed())});
  };
  EXPECT_FALSE(has(readers(Sem::sc), {1, 0, 1, 0}));
  EXPECT_TRUE(has(readers(Sem::acq_rel), {1, 0, 1, 0}));
}

TEST(Memory, StrongReadsOfOnePlaceGoForwards) {
  const auto twice = [](const Access& load) {
    return outcomes(
        {Script(kBlock0).store(kX, 1, relaxed()), Script(kBlock1).load(kX, load).load(kX, load)});
  };
  EXPECT_FALSE(has(twice(relaxed()), {1, 0}));
  EXPECT_TRUE(has(twice(weak()), {1, 0}));
  EXPECT_TRUE(has(twice(relaxed(Scope::block)), {1, 0}));
}

TEST(Memory, UpdatesOfIncludingScopesLoseNothing) {
  const auto count = [](Scope scope) {
    return finals({Script(kBlock0).add(kX, 1, relaxed(scope)),
                   Script(kBlock1).add(kX, 1, relaxed(scope)).add(kX, 1, relaxed(scope))},
                  {kX});
  };
  for (const std::vector<std::uint64_t>& outcome : count(Scope::gpu)) {
    EXPECT_EQ(outcome.back(), 3u);
  }
  EXPECT_TRUE(has(count(Scope::block), {0, 0, 1, 1}));
}

TEST(Memory, AStoreMayLoseAgainstAnOlderOne) {
  const auto shape = [](const Access& flag) {
    return finals({Script(kBlock0).store(kX, 2, relaxed()).store(kFlag, 1, flag),
                   Script(kBlock1).load(kFlag, acquire()).store(kX, 1, relaxed())},
                  {kX});
  };
  EXPECT_TRUE(has(shape(relaxed()), {1, 2}));
  EXPECT_FALSE(has(shape(release()), {1, 2}));
}

TEST(Memory, WritesThatNothingOrdersAreNotOrdered) {
  // Two observers find different last values.
  const Outcomes racing =
      finals({Script(kBlock0).store(kX, 1, weak()), Script(kBlock1).store(kX, 2, weak())}, {kX});
  EXPECT_EQ(racing, (Outcomes{{1}, {2}}));
  const Outcomes alone = finals({Script(kBlock0).store(kX, 1, weak()).store(kX, 2, weak())}, {kX});
  EXPECT_EQ(alone, (Outcomes{{2}}));
}

// A store that goes before another one must not make old what somebody has read since.
TEST(Memory, ALateStoreLeavesEarlierReadsRight) {
  const Outcomes all =
      finals({Script(kGpu1).store(kX, 1, relaxed(Scope::block)).store(kX, 2, relaxed()),
              Script(kBlock1).store(kX, 3, relaxed()).load(kX, relaxed(Scope::block))},
             {kX});
  EXPECT_TRUE(has(all, {1, 2}));
  EXPECT_FALSE(has(all, {1, 3}));
}

TEST(Memory, LoadsThatAreSettledLateShowBuffering) {
  const auto shape = [](const Access& credit, bool deferral) {
    MemoryOptions options;
    options.deferral = deferral;
    return outcomes({Script(kBlock0).load_later(kX, relaxed()).store(kFlag, 1, credit),
                     Script(kGpu1).load(kFlag, acquire()).store(kX, 2, relaxed())},
                    options);
  };
  EXPECT_TRUE(has(shape(relaxed(), true), {2, 1}));
  EXPECT_FALSE(has(shape(release(), true), {2, 1}));
  EXPECT_FALSE(has(shape(relaxed(), false), {2, 1}));
}

TEST(Memory, NothingComesOutOfThinAir) {
  // What is read late is stored by the other and comes back.
  const auto copy = [](const Place& place, Address from, Address to) {
    return Script(place).step([=](Memory& memory, AgentId self, Script::Values& values) {
      const std::uint64_t value = memory.settle(memory.load_later(self, from, 8, relaxed()));
      values.push_back(value);
      memory.store(self, to, 8, value + 1, relaxed());
    });
  };
  const Outcomes all = outcomes({copy(kBlock0, kX, kY), copy(kBlock1, kY, kX)});
  EXPECT_EQ(all, (Outcomes{{0, 0}, {0, 1}, {1, 0}}));
}

TEST(Memory, AnInitialValueIsKnownToAll) {
  Script reader(kBlock0);
  reader.load(kX, weak());
  const Outcomes all = outcomes({Script(kBlock0).load(kX, weak()), Script(kGpu1).load(kX, weak())});
  EXPECT_EQ(all, (Outcomes{{0, 0}}));
}

}  // namespace
}  // namespace gdakit::sim::weak::test
