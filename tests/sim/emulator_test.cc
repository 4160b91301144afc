#include "sim/emulator.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include "tests/sim/run.h"

namespace gdakit::sim {
namespace {

// ThreadSanitizer has room for some 8000 fibers in a process.
constexpr std::uint32_t kManyBlocks = kThreadSanitizer ? 16 : 64;

// Every thread of the grid waits here for all others.
void grid_barrier(HostMachine& m, std::uint32_t* arrived) {
  m.fetch_add(kAcqRel, arrived, 1);
  while (m.load(kAcquire, arrived) != m.grid_blocks() * m.block_threads()) m.spin(Site::user);
}

TEST(Launch, RunsEveryThreadOfEveryBlockOnce) {
  for (std::uint32_t blocks = 1; blocks <= 64; blocks = blocks * 3 / 2 + 1) {
    const LaunchShape shape{blocks, 33};
    std::vector<std::uint32_t> runs(blocks * 33);
    const auto kernel = [&](HostMachine& m) {
      EXPECT_EQ(m.grid_blocks(), blocks);
      EXPECT_EQ(m.block_threads(), 33u);
      EXPECT_EQ(m.lane(), m.thread_index() % 32);
      EXPECT_EQ(m.warp(), m.thread_index() / 32);
      m.fetch_add(kRelaxed, &runs[m.block_index() * 33 + m.thread_index()], 1);
    };
    run(shape, kernel);
    run(shape, kernel, {.workers = 2});
    for (std::uint32_t count : runs) ASSERT_EQ(count, 2u);
  }
}

// Counts what it is told, and looks whether that is so.
class CountedBlocks final : public BlockObserver {
 public:
  explicit CountedBlocks(std::uint32_t blocks) : begun(blocks), ended(blocks), threads(blocks) {}
  void block_begins(std::uint32_t block) override {
    ++begun[block];
    EXPECT_EQ(threads[block].load(), 0u) << "threads ran before their block began";
  }
  void block_ends(std::uint32_t block) override {
    ++ended[block];
    EXPECT_EQ(threads[block].load(), 40u) << "the block ended before its threads";
  }

  std::vector<std::uint32_t> begun, ended;
  std::vector<std::atomic<std::uint32_t>> threads;  // that have ended, about
};

TEST(Launch, TellsWhenEachBlockBeginsAndEnds) {
  for (const std::uint32_t workers : {1u, 3u}) {
    CountedBlocks blocks(7);
    const auto kernel = [&](HostMachine& m) {
      m.sync_block();
      spin_times(m, m.thread_index() % 3);
      ++blocks.threads[m.block_index()];
    };
    run({7, 40}, kernel, {.workers = workers, .observer = &blocks});
    EXPECT_EQ(blocks.begun, std::vector<std::uint32_t>(7, 1));
    EXPECT_EQ(blocks.ended, std::vector<std::uint32_t>(7, 1));
  }
}

TEST(Launch, BlocksMayWaitForOneAnother) {
  // A block waits for the one after it, which starts later.
  for (std::uint32_t workers : {1u, 2u, 5u}) {
    std::vector<std::uint32_t> done(65);
    done[64] = 1;
    const auto kernel = [&](HostMachine& m) {
      while (m.load(kAcquire, &done[m.block_index() + 1]) == 0) m.spin(Site::user);
      m.sync_block();
      if (m.thread_index() == 0) m.store(kRelease, &done[m.block_index()], 1);
    };
    run({64, 32}, kernel, {.workers = workers});
    EXPECT_EQ(done[0], 1u);
  }
}

TEST(Launch, AllThreadsAreResidentAtOnce) {
  std::uint32_t arrived = 0;
  run({kManyBlocks, 256}, [&](HostMachine& m) { grid_barrier(m, &arrived); });
  EXPECT_EQ(arrived, kManyBlocks * 256);
}

TEST(Launch, CommitsOnlyTheStackThatIsTouched) {
  if (kThreadSanitizer || kAddressSanitizer) GTEST_SKIP() << "sanitizers use memory of their own";
  const auto peak_kilobytes = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_maxrss;
  };
  const long before = peak_kilobytes();
  std::uint32_t arrived = 0;
  run({64, 256}, [&](HostMachine& m) { grid_barrier(m, &arrived); });
  EXPECT_LT(peak_kilobytes() - before, 16384 * 16);  // a quarter of the stacks
}

TEST(Launch, RunsBlocksOf1024Threads) {
  std::uint32_t arrived = 0;
  run({2, 1024}, [&](HostMachine& m) {
    m.sync_block();
    EXPECT_EQ(m.ballot(kFullWarp, true), kFullWarp);
    grid_barrier(m, &arrived);
  });
  EXPECT_EQ(arrived, 2048u);
}

TEST(Launch, KeepsABlockOnOneOsThread) {
  std::vector<std::set<std::thread::id>> ids(4);
  run({4, 64},
      [&](HostMachine& m) {
        ids[m.block_index()].insert(std::this_thread::get_id());
        m.sync_block();
        ids[m.block_index()].insert(std::this_thread::get_id());
      },
      {.workers = 2});
  for (const auto& block : ids) EXPECT_EQ(block.size(), 1u);
  EXPECT_EQ(ids[0], ids[2]);
  EXPECT_NE(ids[0], ids[1]);
}

TEST(Launch, WorkersRaceForReal) {
  constexpr std::uint32_t kRounds = 2000;
  std::uint64_t sum = 0;
  std::uint32_t greatest = 0;
  run({4, 32},
      [&](HostMachine& m) {
        for (std::uint32_t i = 0; i != kRounds; ++i) {
          m.fetch_add(kRelaxed, &sum, 3);
          m.fetch_max(kRelaxed, &greatest, m.block_index() * kRounds + i);
          if (i % 64 == 0) m.spin(Site::user);
        }
      },
      {.workers = 2});
  EXPECT_EQ(sum, 3u * 4 * 32 * kRounds);
  EXPECT_EQ(greatest, 4 * kRounds - 1);
}

TEST(Launch, UpdatesThatAreNotAtomicAreLost) {
  std::uint32_t sum = 0;
  run({1, 32}, [&](HostMachine& m) {
    const std::uint32_t old = m.load(kRelaxed, &sum);
    m.spin(Site::user);
    m.store(kRelaxed, &sum, old + 1);
  });
  EXPECT_EQ(sum, 1u);
}

TEST(Launch, RefusesShapesAndOptionsOutOfRange) {
  const auto refused = [](LaunchShape shape, EmulatorOptions options, const char* word) {
    bool ran = false;
    const Result<void> done = launch(shape, options, [&](HostMachine&) { ran = true; });
    ASSERT_FALSE(done) << word;
    EXPECT_EQ(done.error().code(), Code::invalid_argument);
    EXPECT_NE(done.error().message().find(word), std::string::npos) << done.error().message();
    EXPECT_FALSE(ran);
  };
  refused({0, 32}, {}, "blocks is 0");
  refused({1, 0}, {}, "a block of 0 threads");
  refused({1, 1025}, {}, "a block of 1025 threads; ask for 1 to 1024");
  refused({1, 32}, {.workers = 0}, "workers is 0");
}

TEST(Launch, ReportsThatThereIsNoRoomForStacks) {
  const EmulatorOptions options{.stacks = {.bytes = std::size_t{1} << 50}};
  const Result<void> done = launch({2, 32}, options, [](HostMachine&) {});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code(), Code::exhausted);
  EXPECT_NE(done.error().message().find("block 0 thread 0"), std::string::npos);
}

// Counts the kernels that are under way.
struct Under {
  std::atomic<int>* count;
  explicit Under(std::atomic<int>* counter) : count(counter) { ++*count; }
  ~Under() { --*count; }
};

TEST(Launch, ReturnsTheKernelsExceptionAndUnwindsTheOthers) {
  for (std::uint32_t workers : {1u, 2u}) {
    std::atomic<int> under_way = 0;
    std::atomic<int> begun = 0;
    const EmulatorOptions options{.workers = workers};
    const Result<void> done = launch({2, 64}, options, [&](HostMachine& m) {
      const Under under(&under_way);
      ++begun;
      if (m.block_index() == 1 && m.thread_index() == 7) {
        while (begun.load() != 128) m.spin(Site::user);
        throw std::runtime_error("lost the key");
      }
      if (m.warp() == 0) m.sync_block();
      for (;;) m.spin(Site::user);
    });
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code(), Code::aborted);
    EXPECT_EQ(done.error().message(), "launch: the kernel threw in block 1 thread 7: lost the key");
    EXPECT_EQ(begun, 128);
    EXPECT_EQ(under_way, 0);
  }
}

TEST(Launch, AnExceptionIsNoEndThatOthersMaySee) {
  // The barrier must not count the thread that threw, nor a mask that names it be reported.
  bool passed = false;
  const Result<void> done = launch({1, 64}, {}, [&](HostMachine& m) {
    if (m.thread_index() == 63) throw 5;
    if (m.warp() == 0) {
      m.sync_block();
    } else {
      m.sync_warp(kFullWarp);
    }
    passed = true;
  });
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message().find("block 0 thread 63: something that is no std::exception"),
            std::string::npos);
  EXPECT_FALSE(passed);
}

TEST(Launch, SeveralMayRunAtTheSameTime) {
  // Eight grids on eight OS threads, each of which waits for the one before it, again and again.
  constexpr std::uint32_t kGrids = 8;
  std::vector<std::uint64_t> turns(kGrids);
  std::vector<std::jthread> threads;
  for (std::uint32_t grid = 0; grid != kGrids; ++grid) {
    threads.emplace_back([&turns, grid] {
      run({2, 32}, [&](HostMachine& m) {
        if (m.block_index() != 0 || m.thread_index() != 0) return;
        for (std::uint64_t turn = 1; turn <= 20; ++turn) {
          const std::uint64_t* before = &turns[(grid + kGrids - 1) % kGrids];
          while (m.load(kAcquire, before) < (grid == 0 ? turn - 1 : turn)) m.spin(Site::user);
          m.store(kRelease, &turns[grid], turn);
        }
      });
    });
  }
  threads.clear();
  for (std::uint64_t turn : turns) EXPECT_EQ(turn, 20u);
}

TEST(Launch, SleepsWhileAllThreadsPoll) {
  // Lanes poll together, so that the wait is not made of spins alone.
  std::uint32_t flag = 0;
  std::int64_t polls = 0;
  const auto poll = [&](HostMachine& m) {
    for (;;) {
      const bool ready = m.lane() == 0 && m.load(kAcquire, &flag) != 0;
      if (m.lane() == 0) ++polls;
      if (m.ballot(kFullWarp, ready) != 0) return;
      m.spin(Site::user);
    }
  };
  const auto start = std::chrono::steady_clock::now();
  std::jthread grid([&] { run({1, 32}, poll); });
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
  grid.join();
  // Once asleep it polls at most twice in a sleep of 100 us; awake it would some hundred times.
  const std::int64_t sleeps =
      (std::chrono::steady_clock::now() - start) / std::chrono::microseconds(100);
  EXPECT_LT(polls, 1000 + 2 * sleeps);
}

// Sets a flag when it is asked for the n-th time.
class FlagProgress final : public ProgressEngine {
 public:
  explicit FlagProgress(int times) : times_(times) {}
  bool progress() override {
    ++asked;
    if (asked == times_) __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    return asked == times_;
  }

  std::uint32_t flag = 0;
  int asked = 0;

 private:
  const int times_;
};

TEST(Launch, ThreadsThatWaitMakeProgress) {
  for (const std::uint32_t threads : {1u, 64u}) {
    FlagProgress progress(300);
    run({1, threads},
        [&](HostMachine& m) {
          while (m.load(kAcquire, &progress.flag) == 0) m.spin(Site::user);
        },
        {.progress = &progress});
    EXPECT_EQ(progress.asked, 300);
  }
}

TEST(Launch, ThreadsThatWaitAndWriteMakeProgress) {
  FlagProgress progress(300);
  std::uint32_t tries = 0;
  run({1, 1},
      [&](HostMachine& m) {
        while (m.load(kAcquire, &progress.flag) == 0) {
          m.store(kRelaxed, &tries, tries + 1);
          m.spin(Site::user);
        }
      },
      {.progress = &progress});
  EXPECT_EQ(progress.asked, 300);
}

// Who has something else to do is not kept from it.
TEST(Launch, ThreadsThatDoNotWaitMakeNoProgress) {
  FlagProgress progress(1);
  std::uint32_t sum = 0;
  run({2, 64},
      [&](HostMachine& m) {
        for (int i = 0; i != 100; ++i) m.fetch_add(kRelaxed, &sum, 1);
        m.sync_block();
      },
      {.progress = &progress});
  EXPECT_EQ(progress.asked, 0);
}

}  // namespace
}  // namespace gdakit::sim
