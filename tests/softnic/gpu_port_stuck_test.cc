// The GPU DMA port where kernels find no room: cancelled launches, the copy engine instead, and the
// way back. Random runs check every byte against plain memory.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/gpu/gpu_port.h"
#include "tests/softnic/fake_gpu.h"

namespace gdakit::softnic {
namespace {

using test::FakeGpu;
using test::make_port;
using test::on_gpu;

GpuOrderOptions impatient() {
  GpuOrderOptions options;
  options.engine_ops = 0;
  options.stuck_ns = 0;
  return options;
}

struct Job {
  explicit Job(const GpuOrderOptions& options, std::uint32_t seed = 1) {
    auto device = std::make_unique<FakeGpu>(seed);
    gpu = device.get();
    order = GpuOrder::create(std::move(device), options);
    early = std::make_shared<std::atomic<bool>>(true);
    for (auto& port : ports) port = make_port(order, early);
  }
  ~Job() {
    gpu->room = gpu->room_to_leave = true;
    settle();
    for (auto& port : ports) port.reset();
    EXPECT_EQ(gpu->slow_copies, 0u);
  }

  void turn() {
    for (auto& port : ports) {
      port->submit();
      port->poll();
    }
    gpu->step();
  }
  void settle() {
    for (auto& port : ports) {
      const DmaOp last = port->fence();
      for (int i = 0; i < 200000 && last.id != 0 && !port->done(last); ++i) turn();
      ASSERT_TRUE(last.id == 0 || port->done(last));
    }
  }

  FakeGpu* gpu = nullptr;
  std::shared_ptr<GpuOrder> order;
  std::shared_ptr<std::atomic<bool>> early;
  std::array<std::unique_ptr<GpuPort>, 2> ports;
};

TEST(GpuPortStuck, WorkThatFindsNoRoomGoesThroughTheCopyEngine) {
  Job job(impatient());
  job.gpu->room = false;
  std::vector<std::uint8_t> from(3u << 20), to(3u << 20);
  for (std::size_t i = 0; i != from.size(); ++i) from[i] = static_cast<std::uint8_t>(i * 13);
  alignas(8) std::uint64_t flag = 0, count = 5, old = 0;
  const std::uint64_t one = 1;
  job.ports[0]->copy(on_gpu(to.data()), on_gpu(from.data()), from.size());
  job.ports[0]->atomic(on_gpu(&count), {.swap_add = 2}, &old);
  job.ports[0]->write(on_gpu(&flag), &one, sizeof one);
  job.settle();
  EXPECT_EQ(to, from);
  EXPECT_EQ(old, 5u);
  EXPECT_EQ(count, 7u);
  EXPECT_EQ(flag, 1u);
  EXPECT_EQ(job.gpu->kernels, 0u);
  EXPECT_NE(job.order->counts().cancelled, 0u);
}

// Words by themselves, in the host's memory and at the end of what goes in pieces: the copy engine
// would be slow at them (~Job).
TEST(GpuPortStuck, NoPieceForTheCopyEngineIsAWord) {
  constexpr std::size_t kWritePiece = 256 * 1024;
  constexpr std::size_t kBouncePiece = 512 * 1024;
  Job job(impatient());
  job.gpu->room = false;
  alignas(8) std::uint64_t word = 0;
  const std::uint64_t seven = 7;
  job.ports[0]->copy(on_gpu(&word), {reinterpret_cast<std::uintptr_t>(&seven)}, sizeof word);
  for (const std::size_t rest : {1u, 4u, 8u, 15u}) {
    std::vector<std::uint64_t> from(kBouncePiece / 8 + 2), written(from.size()), bounced = written;
    for (std::size_t i = 0; i != from.size(); ++i) from[i] = i + rest;
    const std::size_t size = kWritePiece + (rest & ~std::size_t{3});
    job.ports[0]->write(on_gpu(written.data()), from.data(), size);
    job.ports[0]->copy(on_gpu(bounced.data()), on_gpu(from.data()), kBouncePiece + rest);
    job.settle();
    EXPECT_EQ(std::memcmp(written.data(), from.data(), size), 0);
    EXPECT_EQ(std::memcmp(bounced.data(), from.data(), kBouncePiece + rest), 0);
  }
  EXPECT_EQ(word, 7u);
  EXPECT_EQ(job.gpu->kernels, 0u);
}

TEST(GpuPortStuck, WhatWasCancelledDoesNothingWhenTheGpuHasRoomAgain) {
  Job job(impatient());
  job.gpu->room = false;
  alignas(8) std::uint64_t word = 0;
  const std::uint64_t one = 1;
  job.ports[0]->write(on_gpu(&word), &one, sizeof one);
  job.settle();
  ASSERT_EQ(word, 1u);
  word = 0;
  job.gpu->room = true;
  job.gpu->finish();
  EXPECT_EQ(word, 0u);
  EXPECT_EQ(job.gpu->kernels, 0u);
}

TEST(GpuPortStuck, KernelsAreUsedAgainOnceTheStuckLaunchHasDrained) {
  GpuOrderOptions options = impatient();
  Job job(options);
  job.gpu->room = false;
  alignas(8) std::uint64_t word = 0;
  std::uint64_t value = 1;
  job.ports[0]->write(on_gpu(&word), &value, sizeof value);
  job.settle();
  const std::uint64_t before = job.order->counts().launches;
  value = 2;
  job.ports[0]->write(on_gpu(&word), &value, sizeof value);
  job.settle();
  EXPECT_EQ(job.order->counts().launches, before);
  job.gpu->room = true;
  job.gpu->finish();
  value = 3;
  job.ports[0]->write(on_gpu(&word), &value, sizeof value);
  job.turn();
  EXPECT_EQ(job.order->counts().launches, before + 1);
  job.gpu->finish();
  job.settle();
  EXPECT_EQ(word, 3u);
}

TEST(GpuPortStuck, ALaunchWhoseLastBlocksFindNoRoomHoldsNothingUp) {
  Job job(impatient());
  job.gpu->room_to_leave = false;
  alignas(8) std::uint64_t word = 0;
  for (std::uint64_t value = 1; value <= 3; ++value) {
    job.ports[0]->write(on_gpu(&word), &value, sizeof value);
    job.turn();
    job.settle();
    EXPECT_EQ(word, value);
  }
}

// CUDA takes no launch while another thread waits in it for a kernel, but copies.
TEST(GpuPortStuck, ALaunchThatCudaDoesNotTakeIsGivenMoreTimeAndThenCancelled) {
  GpuOrderOptions options = impatient();
  options.unissued_ns = 5'000'000;
  Job job(options);
  job.gpu->room = job.gpu->taken = false;
  std::uint64_t word = 0;
  const std::uint64_t one = 1;
  job.ports[0]->write(on_gpu(&word), &one, sizeof one);
  job.turn();
  job.turn();
  EXPECT_EQ(job.order->counts().cancelled, 0u);
  std::this_thread::sleep_for(std::chrono::milliseconds(6));
  job.settle();
  EXPECT_EQ(word, 1u);
  EXPECT_EQ(job.order->counts().cancelled, 1u);
  EXPECT_EQ(job.gpu->kernels, 0u);
}

TEST(GpuPortStuck, ALongLaunchIsNotTakenForAStuckOneWhenItEnds) {
  GpuOrderOptions options = impatient();
  options.stuck_ns = 5'000'000;
  Job job(options);
  job.gpu->slow = true;
  std::array<std::uint64_t, 4> words{};
  const std::uint64_t one = 1;
  const auto turn = [&job] {
    job.ports[0]->submit();
    job.ports[0]->poll();
  };
  for (std::uint64_t& word : words) {
    job.ports[0]->write(on_gpu(&word), &one, sizeof one);
    turn();
  }
  job.gpu->step();  // the first begins
  std::this_thread::sleep_for(std::chrono::milliseconds(6));
  turn();
  job.gpu->step();  // and finishes, but has not left
  turn();
  turn();
  EXPECT_EQ(words[0], 1u);
  EXPECT_EQ(job.order->counts().cancelled, 0u);
  job.gpu->finish();
  job.settle();
  EXPECT_EQ(words[3], 1u);
}

TEST(GpuPortStuck, AGpuThatFailsEndsEverything) {
  Job job(impatient());
  alignas(8) std::uint64_t word = 0, read = 1, old = 0;
  const std::uint64_t one = 1;
  job.ports[0]->write(on_gpu(&word), &one, sizeof one);
  job.ports[0]->submit();
  job.gpu->broken = true;
  job.ports[0]->atomic(on_gpu(&word), {.swap_add = 2}, &old);
  job.ports[0]->read(&read, on_gpu(&word), sizeof word);
  job.settle();
  EXPECT_EQ(read, 0u);
  EXPECT_TRUE(job.ports[0]->lost());
}

// What the operations of one chain do to a region of its own, and, one at a time, to memory that
// stands for what must be there at the end.
class Chain {
 public:
  static constexpr std::size_t kBytes = 64 * 1024;

  Chain(std::uint64_t number, std::mt19937& random)
      : number_(number), random_(random), memory_(kBytes), expected_(kBytes) {}

  void queue(GpuPort& port) {
    port.order_chain(number_);
    switch (random_() % 5) {
      case 0: write(port, 1 + random_() % 200); break;
      case 1: write(port, std::size_t{1} << random_() % 4); break;
      case 2: copy(port, 1 + random_() % 100); break;
      case 3: copy(port, 9000 + random_() % 9000); break;
      case 4: atomic(port); break;
    }
  }
  void check() {
    ASSERT_EQ(memory_, expected_);
    for (const auto& [got, wanted] : results_) ASSERT_EQ(*got, wanted);
  }

 private:
  void write(GpuPort& port, std::size_t size) {
    std::array<std::uint8_t, 256> bytes;
    for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random_());
    const std::size_t at = random_() % (kBytes - size);
    port.write(on_gpu(&memory_[at]), bytes.data(), size);
    std::memcpy(&expected_[at], bytes.data(), size);
  }
  void copy(GpuPort& port, std::size_t size) {
    const std::size_t half = kBytes / 2;
    const std::size_t from = random_() % (half - size);
    const std::size_t to = half + random_() % (half - size);
    port.copy(on_gpu(&memory_[to]), on_gpu(&memory_[from]), size);
    std::memcpy(&expected_[to], &expected_[from], size);
  }
  void atomic(GpuPort& port) {
    const std::size_t at = random_() % (kBytes / 8) * 8;
    std::uint64_t word;
    std::memcpy(&word, &expected_[at], sizeof word);
    results_.emplace_back(std::make_unique<std::uint64_t>(0), word);
    port.atomic(on_gpu(&memory_[at]), {.swap_add = 3}, results_.back().first.get());
    word += 3;
    std::memcpy(&expected_[at], &word, sizeof word);
  }

  std::uint64_t number_;
  std::mt19937& random_;
  std::vector<std::uint8_t> memory_;
  std::vector<std::uint8_t> expected_;
  std::vector<std::pair<std::unique_ptr<std::uint64_t>, std::uint64_t>> results_;
};

TEST(GpuPortStuck, RandomWorkOnAGpuThatIsFullNowAndThenLeavesTheRightBytes) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    GpuOrderOptions options = impatient();
    options.stuck_ns = seed % 3 == 0 ? 1000000 : seed % 3 == 1 ? 0 : 3000;
    options.engine_ops = seed % 2 == 0 ? 3 : 0;
    options.ring_bytes = seed % 4 == 0 ? 1u << 20 : 4u << 20;
    std::vector<Chain> chains;
    for (std::uint64_t i = 0; i != 6; ++i) chains.emplace_back(i, random);
    Job job(options, seed);
    for (int round = 0; round < 400; ++round) {
      const std::size_t pick = random() % chains.size();
      // A chain belongs to one port.
      for (std::size_t i = random() % 4; i != 0; --i) chains[pick].queue(*job.ports[pick % 2]);
      if (random() % 20 == 0) job.gpu->room = !job.gpu->room;
      if (random() % 30 == 0) job.gpu->room_to_leave = !job.gpu->room_to_leave;
      for (std::size_t i = random() % 6; i != 0; --i) job.turn();
    }
    job.settle();
    for (Chain& chain : chains) chain.check();
  }
}

// The works of `rounds` turns, of a port that has these chains.
void run_port(GpuPort& port, std::vector<Chain>& chains, std::mt19937& random, int rounds) {
  for (int round = 0; round < rounds; ++round) {
    Chain& chain = chains[random() % chains.size()];
    for (std::size_t i = random() % 4; i != 0; --i) chain.queue(port);
    port.submit();
    port.poll();
  }
}

// Launches begin, finish and leave while two ports, each on a thread of its own, look at them and
// cancel them.
TEST(GpuPortStuck, AGpuAndItsPortsOnThreadsOfTheirOwnLeaveTheRightBytes) {
  for (std::uint32_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(seed);
    GpuOrderOptions options = impatient();
    options.stuck_ns = seed % 2 == 0 ? 200 : 20000;
    options.engine_ops = seed % 3 == 0 ? 3 : 0;
    std::array<std::mt19937, 2> random{std::mt19937(seed), std::mt19937(seed + 100)};
    std::array<std::vector<Chain>, 2> chains;
    for (std::uint64_t i = 0; i != 6; ++i) chains[i % 2].emplace_back(i, random[i % 2]);
    Job job(options, seed);
    job.gpu->slow = seed % 3 != 0;
    std::atomic<bool> stop{false};
    std::thread gpu([&, turns = std::mt19937(seed + 200)]() mutable {
      while (!stop.load()) {
        if (turns() % 30 == 0) job.gpu->room = !job.gpu->room;
        if (turns() % 40 == 0) job.gpu->room_to_leave = !job.gpu->room_to_leave;
        if (!job.gpu->step()) std::this_thread::yield();
      }
    });
    std::thread other([&] { run_port(*job.ports[1], chains[1], random[1], 2000); });
    run_port(*job.ports[0], chains[0], random[0], 2000);
    other.join();
    job.settle();
    stop.store(true);
    gpu.join();
    for (auto& of_port : chains) {
      for (Chain& chain : of_port) chain.check();
    }
  }
}

}  // namespace
}  // namespace gdakit::softnic
