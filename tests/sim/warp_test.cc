#include "sim/warp.h"

#include <bit>
#include <cstdint>
#include <string>

#include "tests/sim/run.h"

namespace gdakit::sim {
namespace {

constexpr LaneMask kEven = 0x55555555u;
constexpr LaneMask kOdd = 0xaaaaaaaau;

TEST(Shuffle, TakesTheSourceLanesValue) {
  int checked = 0;
  run({1, 32}, [&](HostMachine& m) {
    const std::uint32_t next = (m.lane() + 1) % 32;
    EXPECT_EQ(m.shuffle(kFullWarp, std::uint64_t{m.lane()} << 40, next), std::uint64_t{next} << 40);
    EXPECT_EQ(m.shuffle(kFullWarp, -static_cast<int>(m.lane()), next), -static_cast<int>(next));
    EXPECT_EQ(m.shuffle(kFullWarp, m.lane() * 0.5, next), next * 0.5);
    EXPECT_EQ(m.shuffle(kFullWarp, static_cast<std::uint8_t>(m.lane() + 200), 9u), 209);
    int* const pointers[2] = {&checked, nullptr};
    EXPECT_EQ(m.shuffle(kFullWarp, pointers[m.lane() == 3 ? 0 : 1], 3u), &checked);
    ++checked;
  });
  EXPECT_EQ(checked, 32);
}

TEST(Shuffle, WaitsOnlyForTheLanesOfItsMask) {
  run({1, 32}, [](HostMachine& m) {
    const LaneMask mask = 0x00000ff0;
    if ((mask >> m.lane() & 1) == 0) return;
    EXPECT_EQ(m.shuffle(mask, m.lane(), 4 + m.lane() % 8), 4 + m.lane() % 8);
  });
}

TEST(Shuffle, AlonePassesWithoutGivingUpTheTurn) {
  std::string log;
  run({1, 2}, [&](HostMachine& m) {
    log += "(";
    const LaneMask self = LaneMask{1} << m.lane();
    EXPECT_EQ(m.shuffle(self, 7, m.lane()), 7);
    EXPECT_EQ(m.ballot(self, true), self);
    EXPECT_EQ(m.ballot(self, false), 0u);
    EXPECT_EQ(m.match_any(self, 5), self);
    m.sync_warp(self);
    log += ")";
  });
  EXPECT_EQ(log, "()()");
}

TEST(Ballot, NamesTheLanesWhosePredicateHolds) {
  run({1, 32}, [](HostMachine& m) {
    EXPECT_EQ(m.ballot(kFullWarp, m.lane() % 3 == 0), 0x49249249u);
    EXPECT_EQ(m.ballot(kFullWarp, false), 0u);
    EXPECT_EQ(m.ballot(kFullWarp, true), kFullWarp);
    if (m.lane() % 2 == 0) {
      EXPECT_EQ(m.ballot(kEven, m.lane() < 8), 0x55u);
    }
  });
}

TEST(MatchAny, GroupsLanesByValue) {
  run({1, 32}, [](HostMachine& m) {
    const LaneMask third = 0x49249249u;
    const LaneMask expected = third << m.lane() % 3;
    EXPECT_EQ(m.match_any(kFullWarp, m.lane() % 3), expected);
    // Values that differ in the upper half only are different.
    EXPECT_EQ(m.match_any(kFullWarp, std::uint64_t{m.lane() % 2} << 63),
              m.lane() % 2 == 0 ? kEven : kOdd);
    EXPECT_EQ(m.match_any(kFullWarp, m.lane()), LaneMask{1} << m.lane());
    if (m.lane() % 2 == 1) {
      EXPECT_EQ(m.match_any(kOdd, 0), kOdd);
    }
  });
}

// Lanes 0..30 read what lane 31 writes. Lane 31 runs last, so only the barrier makes the value
// visible.
int readers_that_see_the_write(bool with_barrier) {
  int seen = 0;
  std::uint32_t word = 0;
  run({1, 32}, [&](HostMachine& m) {
    if (m.lane() == 31) m.store(kRelaxed, &word, 1);
    if (with_barrier) m.sync_warp(kFullWarp);
    if (m.lane() != 31 && m.load(kRelaxed, &word) == 1) ++seen;
  });
  return seen;
}

TEST(SyncWarp, MakesLanesWait) {
  EXPECT_EQ(readers_that_see_the_write(true), 31);
  EXPECT_EQ(readers_that_see_the_write(false), 0);
}

TEST(Warp, OneMaskMayBeUsedBackToBackByLanesOfUnequalPace) {
  constexpr std::uint32_t kRounds = 200;
  run({1, 32}, [](HostMachine& m) {
    for (std::uint32_t round = 0; round != kRounds; ++round) {
      spin_times(m, (m.lane() * 7 + round) % 5);
      const std::uint32_t source = (m.lane() + round) % 32;
      EXPECT_EQ(m.shuffle(kFullWarp, round * 100 + m.lane(), source), round * 100 + source);
      EXPECT_EQ(m.ballot(kFullWarp, m.lane() == round % 32), LaneMask{1} << round % 32);
      EXPECT_EQ(m.match_any(kFullWarp, round), kFullWarp);
    }
  });
}

TEST(Warp, DisjointMasksAreInProgressAtOnce) {
  std::uint32_t rounds[2] = {};
  run({1, 32}, [&](HostMachine& m) {
    if (m.lane() % 2 == 0) {
      for (std::uint32_t i = 0; i != 100; ++i) {
        EXPECT_EQ(m.shuffle(kEven, i + m.lane(), 4), i + 4);
        spin_times(m, m.lane() == 6 ? 3 : 0);
      }
      rounds[0] += 100;
    } else {
      for (std::uint32_t i = 0; i != 57; ++i) {
        EXPECT_EQ(m.ballot(kOdd, m.lane() > 15), 0xaaaa0000u);
        spin_times(m, m.lane() % 4);
      }
      rounds[1] += 57;
    }
    m.sync_warp(kFullWarp);
    EXPECT_EQ(rounds[0], 1600u);
    EXPECT_EQ(rounds[1], 912u);
  });
}

TEST(Warp, NestedDivergenceReconverges) {
  std::string log;
  run({1, 32}, [&](HostMachine& m) {
    if (m.lane() < 16) {
      if (m.lane() < 8) {
        EXPECT_EQ(m.ballot(0x000000ff, true), 0x000000ffu);
        spin_times(m, m.lane());
      } else {
        EXPECT_EQ(m.shuffle(0x0000ff00, m.lane(), 8), 8u);
      }
      m.sync_warp(0x0000ffff);
      if (m.lane() == 3) log += "inner ";
    } else {
      EXPECT_EQ(m.match_any(0xffff0000, 1), 0xffff0000u);
    }
    EXPECT_EQ(m.ballot(kFullWarp, true), kFullWarp);
    if (m.lane() == 20) log += "outer";
  });
  EXPECT_EQ(log, "inner outer");
}

TEST(Warp, LanesThatDoNotExistAreIgnoredInMasks) {
  run({1, 40}, [](HostMachine& m) {
    EXPECT_EQ(m.warp_mask(), m.warp() == 0 ? kFullWarp : 0xffu);
    EXPECT_EQ(m.ballot(kFullWarp, true), m.warp_mask());
    EXPECT_EQ(m.shuffle(m.warp_mask(), m.thread_index(), 7), m.warp() * 32 + 7);
    EXPECT_EQ(m.match_any(kFullWarp, m.warp()), m.warp_mask());
  });
}

TEST(ActiveMask, GroupsTheLanesThatComeTogether) {
  run({1, 64}, [](HostMachine& m) { EXPECT_EQ(m.active_mask(), kFullWarp); });
}

TEST(ActiveMask, KeepsBranchesApart) {
  run({1, 32}, [](HostMachine& m) {
    if (m.lane() < 10) {
      EXPECT_EQ(m.active_mask(), 0x000003ffu);
    } else {
      EXPECT_EQ(m.active_mask(), 0xfffffc00u);
    }
  });
}

TEST(ActiveMask, DoesNotWaitForLanesThatAreElsewhere) {
  std::uint32_t flag = 0;
  run({1, 32}, [&](HostMachine& m) {
    if (m.lane() == 31) {
      while (m.load(kAcquire, &flag) == 0) m.spin(Site::user);
    } else {
      EXPECT_EQ(m.active_mask(), 0x7fffffffu);
      m.store(kRelease, &flag, 1);
    }
  });
}

TEST(ActiveMask, GivesEveryLaneOfAGroupTheSameMask) {
  constexpr std::uint32_t kRounds = 50;
  std::uint32_t led = 0;
  run({1, 32}, [&](HostMachine& m) {
    for (std::uint32_t round = 0; round != kRounds; ++round) {
      spin_times(m, (m.lane() * 5 + round) % 7);
      const LaneMask group = m.active_mask();
      ASSERT_NE(group >> m.lane() & 1, 0u);
      // Masks that were not the same for all would never complete here.
      EXPECT_EQ(m.ballot(group, true), group);
      const auto leader = static_cast<std::uint32_t>(std::countr_zero(group));
      if (m.lane() == leader) led += static_cast<std::uint32_t>(std::popcount(group));
    }
  });
  EXPECT_EQ(led, 32 * kRounds);  // each lane was in one group each round
}

TEST(ActiveMask, ReturnsAtOnceForTheOnlyLiveLane) {
  std::string log;
  run({1, 33}, [&](HostMachine& m) {
    if (m.thread_index() == 0) log += "0";
    if (m.warp() == 0) return spin_times(m, 2);  // there is always another thread to run
    log += "(";
    EXPECT_EQ(m.active_mask(), 1u);
    log += ")";
  });
  EXPECT_EQ(log, "0()");
  run({1, 32}, [&](HostMachine& m) {
    if (m.lane() != 5) return;
    spin_times(m, 1);  // until the others have ended
    EXPECT_EQ(m.active_mask(), 1u << 5);
  });
}

void launch_or_die(LaunchShape shape, void (*kernel)(HostMachine&)) {
  (void)launch(shape, {}, kernel).operator bool();
}

TEST(WarpDeathTest, AMaskMustNameTheCaller) {
  EXPECT_DEATH(launch_or_die({1, 32}, [](HostMachine& m) { m.sync_warp(0xfffffffe); }),
               "block 0 warp 0 lane 0: sync_warp\\(mask 0xfffffffe\\) does not name the calling");
}

TEST(WarpDeathTest, AMaskMustNotNameALaneThatHasEnded) {
  EXPECT_DEATH(launch_or_die({1, 64},
                             [](HostMachine& m) {
                               if (m.thread_index() == 34) return;
                               spin_times(m, 1);
                               if (m.warp() == 1) m.ballot(kFullWarp, true);
                             }),
               "block 0 warp 1 lane 0: ballot\\(mask 0xffffffff\\) names lanes that have ended: "
               "0x00000004");
}

TEST(WarpDeathTest, ALaneMustNotEndWhileOthersWaitForIt) {
  EXPECT_DEATH(launch_or_die({1, 32},
                             [](HostMachine& m) {
                               if (m.lane() != 9) m.shuffle(kFullWarp, 1, 9);
                             }),
               "lane 9: shuffle\\(mask 0xffffffff\\) in which lanes 0x000001ff wait");
}

TEST(WarpDeathTest, LanesOfOneMaskMustCallOneOperation) {
  EXPECT_DEATH(
      launch_or_die({1, 32},
                    [](HostMachine& m) {
                      if (m.lane() < 4) m.sync_warp(kFullWarp);
                      m.ballot(kFullWarp, true);
                    }),
      "lane 4: ballot\\(mask 0xffffffff\\) meets lanes 0x0000000f, which wait in sync_warp");
}

TEST(WarpDeathTest, AShuffleMustTakeFromALaneOfItsMask) {
  EXPECT_DEATH(launch_or_die({1, 32},
                             [](HostMachine& m) {
                               if (m.lane() < 16) m.shuffle(0x0000ffff, 1, 16);
                             }),
               "lane 0: shuffle\\(mask 0x0000ffff\\) takes the value of lane 16");
  EXPECT_DEATH(launch_or_die({1, 1}, [](HostMachine& m) { m.shuffle(1, 1, 32); }), "of lane 32");
}

TEST(WarpDeathTest, MasksThatWaitForEachOtherAreReported) {
  EXPECT_DEATH(launch_or_die({2, 33},
                             [](HostMachine& m) {
                               if (m.block_index() == 0 || m.warp() == 1) return;
                               if (m.lane() == 0) m.sync_warp(0x00000003);
                               if (m.lane() == 1) m.sync_warp(0x00000006);
                               if (m.lane() == 2) m.sync_warp(0x00000005);
                             }),
               "deadlock in block 1.*\n.*warp 0: lanes 0x00000001 wait in sync_warp\\(mask "
               "0x00000003\\) for lanes 0x00000002");
}

}  // namespace
}  // namespace gdakit::sim
