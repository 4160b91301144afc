// The pieces of docs/write-a-kernel.md: collectives of a team, calls from the host, and a kernel
// that can be explored.
#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

#include <gtest/gtest.h>

#include "gdakit.h"
#include "host_calls/host_calls.h"
#include "sim/test.h"
#include "tests/support/job.h"

namespace gdakit::test {
namespace {

struct RowWork {
  Team rows;
  int* sums;
  int* values;
  int* dest;
  int* source;
  std::size_t count;
  int root;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
#include <guides/write-a-kernel-2.inc>
  }
};

TEST(WriteAKernel, ARowReducesAndBroadcasts) {
  expect_job(4, job_options(), [](Context& context) -> Result<void> {
    constexpr std::size_t kCount = 5;
    auto teams = context.split_2d(kTeamWorld, 2);
    if (!teams) return teams.error();
    auto objects = context.allocate<int>(4 * kCount);
    if (!objects) return objects.error();
    int* const at = *objects;
    const std::vector<int> mine(2 * kCount, 10 + context.my_pe());
    if (auto done = context.upload(at, mine.data(), mine.size()); !done) return done;
    if (auto done = context.barrier(); !done) return done;
    const RowWork work{teams->x, at + 2 * kCount, at, at + 3 * kCount, at + kCount, kCount, 1};
    if (auto done = context.launch(work, {.blocks = 1, .threads = 64}); !done) return done;
    std::array<int, 2 * kCount> got{};
    if (auto done = context.download(got.data(), at + 2 * kCount, got.size()); !done) return done;
    const int first = context.my_pe() / 2 * 2;
    EXPECT_EQ(got[0], 20 + 2 * first + 1);
    EXPECT_EQ(got[2 * kCount - 1], 10 + first + 1);
    return {};
  });
}

struct SaysWhoItIs {
  std::uint32_t* table;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const std::uint32_t number = pe.block_index() * pe.block_threads() + pe.thread_index();
    table[2 * number] = pe.grid_blocks() * 1000 + pe.block_index();
    table[2 * number + 1] = pe.warp_index() * 1000 + pe.lane();
  }
};

TEST(WriteAKernel, AThreadLearnsWhoItIs) {
  expect_job(1, job_options(), [](Context& context) -> Result<void> {
    constexpr std::uint32_t kBlocks = 2;
    constexpr std::uint32_t kThreads = 40;
    auto table = context.allocate<std::uint32_t>(2 * kBlocks * kThreads);
    if (!table) return table.error();
    auto done = context.launch(SaysWhoItIs{*table}, {.blocks = kBlocks, .threads = kThreads});
    if (!done) return done;
    std::array<std::uint32_t, 2 * kBlocks * kThreads> got{};
    if (auto copied = context.download(got.data(), *table, got.size()); !copied) return copied;
    for (std::uint32_t i = 0; i < kBlocks * kThreads; ++i) {
      EXPECT_EQ(got[2 * i], 2000 + i / kThreads);
      EXPECT_EQ(got[2 * i + 1], i % kThreads / 32 * 1000 + i % kThreads % 32);
    }
    return {};
  });
}

TEST(WriteAKernel, TheHostSendsAndWaits) {
  expect_job(2, job_options(), [](Context& context) -> Result<void> {
    auto objects = context.allocate<std::uint64_t>(513);
    if (!objects) return objects.error();
    std::uint64_t* const outbox = *objects;
    std::uint64_t* const inbox = outbox + 256;
    std::uint64_t* const arrived = outbox + 512;
    const std::vector<std::uint64_t> letter(256, 42);
    if (auto done = context.upload(outbox, letter.data(), letter.size()); !done) return done;
    if (context.my_pe() == 1) {
#include <guides/write-a-kernel-3.inc>
      EXPECT_TRUE(sent && seen);
      EXPECT_EQ(seen ? *seen : 0, 1u);
    }
    if (auto done = context.barrier(); !done) return done;
    std::uint64_t last = 0;
    if (auto done = context.download(&last, &inbox[255], 1); !done) return done;
    EXPECT_EQ(last, context.my_pe() == 1 ? 42u : 0u);
    return {};
  });
}

#include <guides/write-a-kernel-4.inc>

struct SendAndSmooth {
  Smooth smooth;
  double* halo;
  const double* edge;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.my_pe() == 1) return smooth(pe);
    if (pe.machine().thread_index() != 0) return;
    pe.put_signal(halo, edge, 1, smooth.arrived, 1, SignalOp::set, 1);
  }
};

TEST(WriteAKernel, AKernelOfTheMachinesAccessesIsExplored) {
  sim::World world("smooth", {.pes = 2});
  auto* const was = world.allocate<double>("was", 4);
  auto* const now = world.allocate<double>("now", 4);
  auto* const edge = world.allocate<double>("edge", 1);
  auto* const arrived = world.allocate<std::uint64_t>("arrived", 1, sim::RegionKind::signal);
  world.set(0, edge, 42);
  world.launch({.blocks = 1, .threads = 2}, SendAndSmooth{{was, now, 2, arrived}, was, edge});
  world.check([=](sim::After& after) { after.expect_eq("a cell", after.value(1, now + 1), 21.0); });
  const sim::Exploration found = sim::explore_in_test(world, {.schedules = 200});
  EXPECT_TRUE(found.passed()) << found.report();
}

}  // namespace
}  // namespace gdakit::test
