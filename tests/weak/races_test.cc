// What the weak memory calls a race, a mix of sizes, a weak poll; and what it cannot show.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/weak/scripts.h"

namespace gdakit::sim::weak::test {
namespace {

using testing::HasSubstr;
using Kinds = std::set<FindingKind>;

const Kinds kClean = {FindingKind::none};

bool races(const std::vector<Script>& scripts) {
  return findings(scripts).count(FindingKind::race) != 0;
}

Script writer(const Access& access, const Place& place = kBlock0) {
  return Script(place).store(kX, 1, access);
}
Script reader(const Access& access, const Place& place = kBlock1) {
  return Script(place).load(kX, access);
}

TEST(MemoryRaces, AreConflictsThatNothingOrders) {
  EXPECT_TRUE(races({writer(weak()), reader(weak())}));
  EXPECT_TRUE(races({writer(weak()), reader(relaxed())}));
  EXPECT_TRUE(races({writer(relaxed()), reader(weak())}));
  EXPECT_TRUE(races({writer(weak()), writer(weak(), kBlock1)}));
  EXPECT_EQ(findings({reader(weak(), kBlock0), reader(weak())}), kClean);
  EXPECT_EQ(findings({writer(relaxed()), reader(relaxed())}), kClean);
  EXPECT_EQ(findings({writer(weak()), Script(kBlock1).load(kY, weak())}), kClean);
}

TEST(MemoryRaces, AreAlsoStrongAccessesOfTooNarrowScopes) {
  EXPECT_TRUE(races({writer(relaxed(Scope::block)), reader(relaxed())}));
  EXPECT_TRUE(races({writer(relaxed(Scope::gpu)), reader(relaxed(), kGpu1)}));
  EXPECT_EQ(findings({writer(relaxed(Scope::gpu)), reader(relaxed(Scope::gpu))}), kClean);
  EXPECT_EQ(findings({writer(relaxed(Scope::block)), reader(relaxed(Scope::block), kBlock0)}),
            kClean);
}

TEST(MemoryRaces, EndWhereReleaseAndAcquireOrder) {
  // The reader looks at the data only if the flag was set.
  const auto message = [](const Access& flag_store, const Access& flag_load) {
    return std::vector<Script>{
        Script(kBlock0).store(kX, 1, weak()).store(kFlag, 1, flag_store),
        Script(kBlock1).step([=](Memory& memory, AgentId self, Script::Values&) {
          if (memory.load(self, kFlag, 8, flag_load) != 0) memory.load(self, kX, 8, weak());
        })};
  };
  EXPECT_EQ(findings(message(release(), acquire())), kClean);
  EXPECT_TRUE(races(message(relaxed(), acquire())));
  EXPECT_TRUE(races(message(release(), relaxed())));
  EXPECT_THAT(finding_text(message(relaxed(), acquire())),
              HasSubstr("agent 1 reads byte 0, which agent 0 has written"));
}

TEST(MemoryRaces, SpeculativeReadsAreNotLookedAt) {
  Access thrown_away = weak();
  thrown_away.speculative = true;
  EXPECT_EQ(findings({writer(weak()), reader(thrown_away)}), kClean);
}

TEST(MemoryRaces, SizesMustNotMixUnlessOrdered) {
  const auto halves = [](const Access& access) {
    return std::vector<Script>{Script(kBlock0).store(kX, 1, access),
                               Script(kBlock1).load(kX, access, 4)};
  };
  EXPECT_EQ(findings(halves(relaxed())).count(FindingKind::mixed_size), 1u);
  EXPECT_EQ(findings({Script(kBlock0).store(kX, 1, relaxed(), 4),
                      Script(kBlock1).load(kX + 4, relaxed(), 4)}),
            kClean);
  EXPECT_EQ(findings({Script(kBlock0).store(kX, 1, weak()).load(kX, weak(), 4)}), kClean);
  // A NIC's accesses have the sizes of its bus.
  EXPECT_EQ(
      findings({Script(kNic).store(kX, 1, relaxed()), Script(kBlock1).load(kX, relaxed(), 4)}),
      kClean);
}

TEST(MemoryRaces, AWaitLoopMustLookStrongly) {
  const auto poll = [](const Access& access) {
    return findings({Script(kBlock0).step([=](Memory& memory, AgentId self, Script::Values&) {
      memory.load(self, kFlag, 8, access);
      memory.end_turn(self);
    })});
  };
  EXPECT_EQ(poll(weak()), Kinds{FindingKind::weak_poll});
  EXPECT_EQ(poll(relaxed()), kClean);
}

TEST(MemoryRaces, OnlyTheFirstFindingIsKept) {
  EXPECT_EQ(findings({Script(kBlock0).step([](Memory& memory, AgentId, Script::Values&) {
              memory.find(FindingKind::mmio, "first");
              memory.find(FindingKind::race, "second");
              EXPECT_EQ(memory.finding_text(), "first");
            })}),
            Kinds{FindingKind::mmio});
}

// What PTX allows and this memory cannot show. They are here so that it stays visible.

TEST(MemoryLimits, DISABLED_AcquireLoadsAreNotBuffered) {
  const Outcomes all =
      outcomes({Script(kBlock0).load_later(kX, acquire()).store(kY, 1, relaxed()),
                Script(kBlock1).load_later(kY, acquire()).store(kX, 1, relaxed())});
  EXPECT_TRUE(has(all, {1, 1}));
}

TEST(MemoryLimits, DISABLED_StrongLoadsAreNotBufferedBehindAnAcquireFence) {
  const Outcomes all = outcomes(
      {Script(kBlock0).load_later(kX, relaxed()).fence(Sem::acquire).store(kY, 1, relaxed()),
       Script(kBlock1).load(kY, relaxed()).store(kX, 1, relaxed())});
  EXPECT_TRUE(has(all, {1, 1}));
}

TEST(MemoryLimits, DISABLED_OldWritesBeyondTheHistoryAreNotRead) {
  MemoryOptions options;
  options.history = 2;
  Script writer(kBlock0);
  for (std::uint64_t i = 1; i <= 3; ++i) writer.store(kX, i, relaxed());
  writer.store(kFlag, 1, relaxed());
  const Outcomes all =
      outcomes({writer, Script(kBlock1).load(kFlag, relaxed()).load(kX, relaxed())}, options);
  EXPECT_TRUE(has(all, {1, 0}));
}

// The update of the whole word may miss the store to its half: the sizes differ, so the two are not
// morally strong.
TEST(MemoryLimits, DISABLED_PartsOfAWordAreNotOverlookedByAnUpdate) {
  const Outcomes all =
      outcomes({Script(kBlock0).store(kX, 1, relaxed(), 4).store(kFlag, 1, relaxed()),
                Script(kBlock1).load(kFlag, relaxed()).add(kX, 0, relaxed())});
  EXPECT_TRUE(has(all, {1, 0}));
}

}  // namespace
}  // namespace gdakit::sim::weak::test
