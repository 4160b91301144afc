#include "sim/block.h"

#include <cstdint>
#include <vector>

#include "tests/sim/run.h"

namespace gdakit::sim {
namespace {

// Each thread writes its slot, then reads that of the thread after it, which runs later.
int neighbours_seen(std::uint32_t threads, bool with_barrier) {
  int seen = 0;
  std::vector<std::uint32_t> slots(threads);
  run({1, threads}, [&](HostMachine& m) {
    m.store(kRelaxed, &slots[m.thread_index()], 1);
    if (with_barrier) m.sync_block();
    const std::uint32_t next = (m.thread_index() + 1) % threads;
    if (m.load(kRelaxed, &slots[next]) == 1) ++seen;
  });
  return seen;
}

TEST(SyncBlock, MakesAllThreadsWait) {
  EXPECT_EQ(neighbours_seen(256, true), 256);
  EXPECT_EQ(neighbours_seen(256, false), 1);  // only the last, whose neighbour is the first
  EXPECT_EQ(neighbours_seen(1024, true), 1024);
  EXPECT_EQ(neighbours_seen(1, true), 1);
}

TEST(SyncBlock, MayBeUsedBackToBack) {
  constexpr std::uint32_t kThreads = 96;
  std::uint32_t arrived = 0;
  run({1, kThreads}, [&](HostMachine& m) {
    for (std::uint32_t round = 0; round != 50; ++round) {
      spin_times(m, (m.thread_index() + round) % 4);
      m.fetch_add(kRelaxed, &arrived, 1);
      m.sync_block();
      EXPECT_EQ(m.load(kRelaxed, &arrived), kThreads * (round + 1));
      m.sync_block();
    }
  });
}

TEST(SyncBlock, CountsThreadsThatHaveEnded) {
  std::uint32_t passed = 0;
  run({1, 80}, [&](HostMachine& m) {
    // Thread t takes part in t rounds, so each round some thread has ended before or during it.
    for (std::uint32_t round = 0; round != m.thread_index(); ++round) {
      spin_times(m, (m.thread_index() * 3 + round) % 5);
      m.sync_block();
    }
    ++passed;
  });
  EXPECT_EQ(passed, 80u);
}

TEST(SyncBlock, IsReleasedByTheLastThreadsEnd) {
  std::uint32_t passed = 0;
  run({1, 32}, [&](HostMachine& m) {
    if (m.thread_index() == 31) return spin_times(m, 10);
    m.sync_block();
    ++passed;
  });
  EXPECT_EQ(passed, 31u);
}

// Round after round another thread's predicate holds, or none; threads end on the way.
TEST(AnyBlock, IsTrueForAllIfItIsForOne) {
  constexpr std::uint32_t kThreads = 70;
  run({2, kThreads}, [&](HostMachine& m) {
    for (std::uint32_t round = 0; round != m.thread_index() + 1; ++round) {
      spin_times(m, (m.thread_index() + round) % 4);
      const std::uint32_t chosen = 2 * round + m.block_index();
      EXPECT_EQ(m.any_block(m.thread_index() == chosen), chosen < kThreads) << round;
      EXPECT_FALSE(m.any_block(false));
      m.sync_block();
    }
  });
}

TEST(SyncBlock, DoesNotConcernOtherBlocks) {
  std::uint32_t flag = 0;
  run({2, 64}, [&](HostMachine& m) {
    if (m.block_index() == 0) {
      while (m.load(kAcquire, &flag) == 0) m.spin(Site::user);
    } else {
      m.sync_block();
      m.store(kRelease, &flag, 1);
    }
  });
}

TEST(BlockDeathTest, ADeadlockNamesWhoWaitsWhere) {
  const auto half_at_each = [](HostMachine& m) {
    if (m.warp() == 1 && m.lane() >= 16) return m.sync_warp(0xffffffff);
    m.sync_block();
  };
  EXPECT_DEATH((void)launch({1, 64}, {}, half_at_each).operator bool(),
               "deadlock in block 0: .*\n"
               ".*warp 0: lanes 0xffffffff wait in sync_block\n"
               ".*warp 1: lanes 0x0000ffff wait in sync_block\n"
               ".*warp 1: lanes 0xffff0000 wait in sync_warp\\(mask 0xffffffff\\) for lanes "
               "0x0000ffff");
}

TEST(BlockDeathTest, ADeadlockIsReportedWhileOtherBlocksSpin) {
  const auto kernel = [](HostMachine& m) {
    while (m.block_index() != 1) m.spin(Site::user);
    if (m.lane() == 0) return m.sync_block();
    if (m.lane() == 1) m.sync_warp(3);
  };
  EXPECT_DEATH((void)launch({3, 32}, {}, kernel).operator bool(),
               "deadlock in block 1: .*\n.*lanes 0x00000001 wait in sync_block\n"
               ".*lanes 0x00000002 wait in sync_warp.*\n.*lanes 0xfffffffc have ended");
}

}  // namespace
}  // namespace gdakit::sim
