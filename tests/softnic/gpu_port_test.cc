// The GPU DMA port on a GPU double: what it does with streams, launches and a GPU that has no room.
#include "backends/softnic/gpu/gpu_port.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/softnic/fake_gpu.h"

namespace gdakit::softnic {
namespace {

using test::FakeGpu;
using test::make_port;
using test::on_gpu;
using test::on_host;
using test::on_pinned;

struct Rig {
  explicit Rig(GpuOrderOptions options = {}, bool early_is = false, std::uint32_t seed = 1) {
    auto device = std::make_unique<FakeGpu>(seed);
    gpu = device.get();
    order = GpuOrder::create(std::move(device), options);
    early = std::make_shared<std::atomic<bool>>(early_is);
    port = make_port(order, early);
  }
  ~Rig() {
    gpu->room = gpu->room_to_leave = true;
    settle();
    port.reset();
  }

  // Until everything is complete.
  void settle() {
    const DmaOp last = port->fence();
    for (int i = 0; i < 100000 && last.id != 0 && !port->done(last); ++i) {
      port->submit();
      gpu->step();
      port->poll();
    }
    ASSERT_TRUE(last.id == 0 || port->done(last));
  }

  FakeGpu* gpu = nullptr;
  std::shared_ptr<GpuOrder> order;
  std::shared_ptr<std::atomic<bool>> early;
  std::unique_ptr<GpuPort> port;
};

GpuOrderOptions engine_only() {
  GpuOrderOptions options;
  options.kernels = false;
  return options;
}
GpuOrderOptions kernels_first() {
  GpuOrderOptions options;
  options.engine_ops = 0;
  return options;
}

struct Method {
  const char* name;
  GpuOrderOptions options;
};

class EachMethod : public testing::TestWithParam<Method> {};

INSTANTIATE_TEST_SUITE_P(GpuPort, EachMethod,
                         testing::Values(Method{"Automatic", {}},
                                         Method{"CopyEngine", engine_only()},
                                         Method{"Kernels", kernels_first()}),
                         [](const auto& method) { return std::string(method.param.name); });

TEST_P(EachMethod, MovesAnySizeFromAndToAnyPlace) {
  Rig rig(GetParam().options);
  for (std::size_t size = 0; size < 40; ++size) {
    for (std::size_t shift = 0; shift < 9; ++shift) {
      alignas(8) std::array<std::uint8_t, 64> from;
      alignas(8) std::array<std::uint8_t, 64> copied{}, written{}, read{};
      std::iota(from.begin(), from.end(), std::uint8_t{1});
      rig.port->copy(on_gpu(copied.data() + shift), on_gpu(from.data() + 3), size);
      rig.port->write(on_gpu(written.data() + shift), from.data() + 3, size);
      rig.port->read(read.data() + shift, on_gpu(from.data() + 3), size);
      rig.settle();
      std::array<std::uint8_t, 64> expected{};
      std::memcpy(expected.data() + shift, from.data() + 3, size);
      ASSERT_EQ(copied, expected) << size << " at " << shift;
      ASSERT_EQ(written, expected) << size << " at " << shift;
      ASSERT_EQ(read, expected) << size << " at " << shift;
    }
  }
}

TEST_P(EachMethod, MovesLargeRangesWithinTheGpuAndFromAndToTheHost) {
  Rig rig(GetParam().options);
  constexpr std::size_t kSize = 9u << 20;
  std::vector<std::uint8_t> from(kSize + 1), within(kSize + 1), in(kSize + 1), out(kSize + 1);
  for (std::size_t i = 0; i != from.size(); ++i)
    from[i] = static_cast<std::uint8_t>(i * 7 + i / 251);
  rig.port->copy(on_gpu(within.data()), on_gpu(from.data()), kSize);
  rig.port->copy(on_gpu(in.data()), on_host(from.data()), kSize);
  rig.port->copy(on_host(out.data()), on_gpu(from.data()), kSize);
  std::vector<std::uint8_t> written(kSize + 1), read(kSize + 1);
  rig.port->write(on_gpu(written.data()), from.data(), kSize);
  rig.port->read(read.data(), on_gpu(from.data()), kSize);
  rig.settle();
  from.back() = 0;  // one byte more than was asked for
  EXPECT_EQ(within, from);
  EXPECT_EQ(in, from);
  EXPECT_EQ(out, from);
  EXPECT_EQ(written, from);
  EXPECT_EQ(read, from);
}

TEST_P(EachMethod, AtomicsReturnWhatWasThereOneAfterTheOther) {
  Rig rig(GetParam().options);
  alignas(8) std::uint64_t word = 5;
  alignas(8) std::uint32_t half[2] = {7, 99};
  std::array<std::uint64_t, 6> old{};
  AtomicRequest add;
  add.swap_add = 10;
  AtomicRequest swap;
  swap.kind = AtomicKind::compare_swap;
  swap.compare = 25;
  swap.swap_add = 1000;
  swap.compare_mask = swap.swap_mask = ~std::uint64_t{0};
  AtomicRequest fields;
  fields.size = 4;
  fields.swap_add = 0x00ff00ff;
  fields.boundary = 0x80008000;
  rig.port->atomic(on_gpu(&word), add, &old[0]);
  rig.port->atomic(on_gpu(&word), add, &old[1]);
  rig.port->atomic(on_gpu(&word), swap, &old[2]);
  rig.port->atomic(on_gpu(&word), swap, &old[3]);
  rig.port->atomic(on_gpu(half), fields, &old[4]);
  const DmaOp last = rig.port->atomic(on_gpu(half), fields, &old[5]);
  EXPECT_FALSE(rig.port->done(last));
  rig.settle();
  EXPECT_EQ(old, (std::array<std::uint64_t, 6>{5, 15, 25, 1000, 7, 0x00ff0106}));
  EXPECT_EQ(word, 1000u);
  EXPECT_EQ(half[0], 0x01fe0205u);
  EXPECT_EQ(half[1], 99u);
}

TEST_P(EachMethod, AChainIsSeenInTheOrderQueued) {
  Rig rig(GetParam().options);
  alignas(64) std::array<std::uint64_t, 64> payload{};
  alignas(64) std::array<std::uint64_t, 8> cqe_place{};
  alignas(8) std::uint64_t flag = 0;
  for (std::uint64_t round = 1; round <= 50; ++round) {
    std::array<std::uint64_t, 64> bytes;
    bytes.fill(round);
    format::Cqe64 cqe{};
    cqe.sop_drop_qpn = Be32{static_cast<std::uint32_t>(round)};
    rig.port->write(on_gpu(payload.data()), bytes.data(), sizeof bytes);
    rig.port->write(on_gpu(&flag), &round, sizeof round);
    rig.port->write_cqe(on_gpu(cqe_place.data()), cqe);
    rig.port->submit();
    for (int i = 0; i < 6; ++i) {
      rig.gpu->step();
      rig.port->poll();
      rig.port->submit();
      ASSERT_LE(flag, payload[0]);
      ASSERT_LE(byte_swap(static_cast<std::uint32_t>(cqe_place[7])), flag);
    }
  }
  rig.settle();
  EXPECT_EQ(flag, 50u);
  EXPECT_EQ(byte_swap(static_cast<std::uint32_t>(cqe_place[7])), 50u);
}

TEST_P(EachMethod, HostMemoryIsNotTouchedBeforeWhatCameFirstOnTheGpu) {
  Rig rig(GetParam().options, /*early_is=*/true);
  std::vector<std::uint64_t> payload(512, 0), ones(512, 1);
  alignas(64) std::array<std::uint64_t, 8> plain{}, pinned{};
  alignas(8) std::uint64_t flag = 0;
  alignas(8) std::uint64_t pinned_flag = 0;
  format::Cqe64 cqe{};
  cqe.sop_drop_qpn = Be32{1};
  const std::uint64_t one = 1;
  rig.port->write(on_gpu(payload.data()), ones.data(), 4096);
  rig.port->write(on_pinned(&pinned_flag), &one, sizeof one);
  rig.port->write_cqe(on_pinned(pinned.data()), cqe);
  rig.port->write(on_host(&flag), &one, sizeof one);
  rig.port->write_cqe(on_host(plain.data()), cqe);
  for (int i = 0; i < 100; ++i) {
    rig.port->submit();
    rig.port->poll();
    ASSERT_LE(pinned_flag, payload[511]);
    ASSERT_TRUE(pinned[7] == 0 || pinned_flag == 1);
    ASSERT_TRUE(flag == 0 || pinned[7] != 0);
    ASSERT_TRUE(plain[7] == 0 || flag == 1);
    rig.gpu->step();
  }
  EXPECT_NE(plain[7], 0u);
}

TEST(GpuPort, HostMemoryAloneIsTouchedAtOnce) {
  Rig rig;
  alignas(8) std::uint64_t from = 7, to = 0, old = 0;
  EXPECT_EQ(rig.port->write(on_host(&to), &from, 8).id, 0u);
  EXPECT_EQ(to, 7u);
  EXPECT_EQ(rig.port->atomic(on_pinned(&to), {.swap_add = 1}, &old).id, 0u);
  EXPECT_EQ(old, 7u);
  EXPECT_EQ(rig.port->copy(on_host(&from), on_pinned(&to), 8).id, 0u);
  EXPECT_EQ(from, 8u);
  EXPECT_EQ(rig.port->fence().id, 0u);
}

TEST(GpuPort, InOneOrderAnOperationIsDoneOnceQueuedIfNothingIsOnItsWayAndAFenceOnceComplete) {
  Rig rig({}, /*early_is=*/true);
  alignas(8) std::uint64_t place = 0;
  const std::uint64_t one = 1;
  EXPECT_EQ(rig.port->write(on_gpu(&place), &one, sizeof one).id, 0u);
  rig.port->submit();
  const DmaOp fence = rig.port->fence();
  rig.port->poll();
  EXPECT_EQ(place, 0u);
  EXPECT_FALSE(rig.port->done(fence));
  rig.gpu->finish();
  rig.port->poll();
  EXPECT_EQ(place, 1u);
  EXPECT_TRUE(rig.port->done(fence));
}

TEST(GpuPort, InOneOrderAnOperationBehindManyIsDoneOnceLaunched) {
  Rig rig(kernels_first(), /*early_is=*/true);
  alignas(8) std::array<std::uint64_t, 40> words{};
  const std::uint64_t one = 1;
  DmaOp op;
  for (std::uint64_t& word : words) op = rig.port->write(on_gpu(&word), &one, sizeof one);
  EXPECT_FALSE(rig.port->done(op));
  rig.port->submit();
  EXPECT_FALSE(rig.port->done(op));
  rig.port->poll();
  EXPECT_TRUE(rig.port->done(op));
  EXPECT_EQ(words[39], 0u);
}

// In a work whose operations count as done when queued, one chain may rely on another's.
TEST(GpuPort, WhatIsDoneWhenQueuedIsSeenBeforeWhatOtherChainsQueueBehindIt) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    Rig rig(kernels_first(), /*early_is=*/true, seed);
    alignas(8) std::uint64_t word = 0;
    std::uint64_t value = 1;
    rig.port->order_chain(1);
    EXPECT_EQ(rig.port->write(on_gpu(&word), &value, sizeof value).id, 0u);
    value = 2;
    rig.port->order_chain(2);
    rig.port->write(on_gpu(&word), &value, sizeof value);
    rig.settle();
    ASSERT_EQ(word, 2u) << "seed " << seed;
  }
}

// Each port writes what the other one may rely on as soon as its own operation counts as done.
TEST(GpuPort, WhatAnotherPortIsToldOfIsSeenBeforeWhatItQueuesThen) {
  for (std::uint32_t seed = 1; seed <= 400; ++seed) {
    Rig rig(kernels_first(), /*early_is=*/true, seed);
    std::unique_ptr<GpuPort> other = make_port(rig.order, rig.early);
    alignas(8) std::array<std::uint64_t, 30> words{};
    std::array<std::uint64_t, 30> expected{};
    std::mt19937 random(seed);
    for (std::uint64_t round = 1; round <= 3; ++round) {
      GpuPort* const ports[] = {rig.port.get(), other.get()};
      GpuPort& port = *ports[random() % 2];
      DmaOp op;
      const std::size_t count = random() % 2 == 0 ? 1 + random() % 8 : words.size();
      for (std::size_t i = 0; i != count; ++i) {
        std::uint64_t& word = words[i];
        expected[i] = round;
        port.order_chain(random() % 8);
        const DmaOp one = port.write(on_gpu(&word), &round, sizeof round);
        if (one.id != 0) op = one;
      }
      port.submit();
      while (op.id != 0 && !port.done(op)) {
        rig.gpu->step();
        ports[random() % 2]->poll();
        ports[random() % 2]->submit();
      }
    }
    rig.settle();
    ASSERT_EQ(words, expected) << "seed " << seed;
  }
}

TEST(GpuPort, WorksOfSeveralPortsGoTogether) {
  Rig rig(kernels_first());
  std::unique_ptr<GpuPort> other = make_port(rig.order, rig.early);
  alignas(8) std::array<std::uint64_t, 4> words{};
  std::vector<std::uint8_t> from(20000, 7), to(40000);
  const std::uint64_t one = 1;
  rig.port->write(on_gpu(&words[0]), &one, sizeof one);
  rig.port->copy(on_gpu(to.data()), on_gpu(from.data()), from.size());
  rig.port->submit();
  other->write(on_gpu(&words[1]), &one, sizeof one);
  other->copy(on_gpu(to.data() + 20000), on_gpu(from.data()), from.size());
  std::uint64_t old = 5;
  other->atomic(on_gpu(&words[2]), {.swap_add = 3}, &old);
  other->submit();
  rig.settle();
  other->poll();
  EXPECT_EQ(rig.order->counts().launches, 3u);  // small, large, and the atomic behind that
  EXPECT_EQ(words[0] + words[1], 2u);
  EXPECT_EQ(words[2], 3u);
  EXPECT_EQ(old, 0u);
  EXPECT_EQ(to, std::vector<std::uint8_t>(40000, 7));
}

TEST(GpuPort, CopiesOverTheSameRangeGoInOneLaunchOneAfterTheOther) {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    Rig rig(kernels_first(), /*early_is=*/false, seed);
    std::vector<std::uint8_t> a(20000, 1), b(20000, 2), c(20000, 3), place(20000);
    for (const auto* from : {&a, &b, &c}) {
      rig.port->copy(on_gpu(place.data()), on_gpu(from->data()), from->size());
    }
    rig.settle();
    ASSERT_EQ(place, c);
    ASSERT_EQ(rig.order->counts().launches, 1u);
  }
}

TEST(GpuPort, AWordAloneIsIssuedAtOnce) {
  Rig rig({}, /*early_is=*/true);
  alignas(8) std::uint64_t word = 0;
  const std::uint64_t one = 1;
  rig.port->write(on_gpu(&word), &one, sizeof one);
  rig.port->submit();
  rig.port->poll();
  EXPECT_EQ(rig.gpu->pending(), 1u);
}

TEST(GpuPort, AShortReadOfWhatTheRingHoldsBeforeItIsComplete) {
  Rig rig;
  std::array<std::uint64_t, 4> from{1, GpuReads::kUnwritten, 3, GpuReads::kUnwritten};
  std::array<std::uint64_t, 4> to{};
  const DmaOp op = rig.port->read(to.data(), on_gpu(from.data()), sizeof from);
  rig.port->submit();
  rig.gpu->finish();
  rig.port->poll();
  EXPECT_FALSE(rig.port->done(op));
  for (int i = 0; i < 100 && !rig.port->done(op); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    rig.gpu->finish();
    rig.port->poll();
  }
  EXPECT_TRUE(rig.port->done(op));
  EXPECT_EQ(to, from);
}

TEST(GpuPort, WithoutOneOrderAnOperationIsDoneOnceComplete) {
  Rig rig({}, /*early_is=*/false);
  alignas(8) std::uint64_t place = 0;
  const std::uint64_t one = 1;
  const DmaOp op = rig.port->write(on_gpu(&place), &one, sizeof one);
  rig.port->submit();
  rig.port->poll();
  EXPECT_FALSE(rig.port->done(op));
  rig.gpu->finish();
  rig.port->poll();
  EXPECT_TRUE(rig.port->done(op));
  EXPECT_EQ(place, 1u);
}

TEST(GpuPort, AFenceCoversWhatOtherPortsOfTheOrderLaunched) {
  Rig rig({}, /*early_is=*/true);
  std::unique_ptr<GpuPort> other = make_port(rig.order, rig.early);
  alignas(8) std::uint64_t place = 0;
  const std::uint64_t one = 1;
  other->write(on_gpu(&place), &one, sizeof one);
  other->submit();
  const DmaOp fence = rig.port->fence();
  rig.port->poll();
  EXPECT_FALSE(rig.port->done(fence));
  rig.gpu->finish();
  rig.port->poll();
  EXPECT_TRUE(rig.port->done(fence));
}

TEST(GpuPort, PortsOfOneOrderAreSeenInTheOrderSubmitted) {
  Rig rig(kernels_first(), /*early_is=*/true);
  std::unique_ptr<GpuPort> other = make_port(rig.order, rig.early);
  alignas(8) std::uint64_t first = 0, second = 0;
  for (std::uint64_t round = 1; round <= 40; ++round) {
    rig.port->write(on_gpu(&first), &round, sizeof round);
    rig.port->submit();
    other->write(on_gpu(&second), &round, sizeof round);
    other->submit();
    for (int i = 0; i < 3; ++i) {
      rig.gpu->step();
      rig.port->poll();
      other->poll();
      ASSERT_LE(second, first);
    }
  }
  rig.settle();
  EXPECT_EQ(second, 40u);
}

TEST(GpuPort, ReadsDoNotWaitForWrites) {
  Rig rig;
  rig.gpu->room = false;
  std::vector<std::uint8_t> from(9000, 3), to(9000);
  alignas(8) std::uint64_t word = 9, read = 0;
  rig.port->copy(on_gpu(to.data()), on_gpu(from.data()), from.size());
  const DmaOp op = rig.port->read(&read, on_gpu(&word), sizeof word);
  rig.port->submit();
  rig.gpu->finish();
  rig.port->poll();
  EXPECT_TRUE(rig.port->done(op));
  EXPECT_TRUE(rig.port->done(rig.port->read_fence()));
  EXPECT_EQ(read, 9u);
  EXPECT_EQ(to[0], 0u);
  rig.gpu->room = true;
  rig.settle();
  EXPECT_EQ(to, from);
}

TEST(GpuPort, FewSmallWritesGoThroughTheCopyEngineAndManyThroughOneLaunch) {
  Rig rig;
  alignas(8) std::array<std::uint64_t, 100> words{};
  const std::uint64_t one = 1;
  rig.port->write(on_gpu(&words[0]), &one, sizeof one);
  rig.settle();
  EXPECT_EQ(rig.gpu->kernels, 0u);
  for (std::uint64_t& word : words) rig.port->write(on_gpu(&word), &one, sizeof one);
  rig.settle();
  EXPECT_EQ(rig.gpu->kernels, 1u);
  EXPECT_EQ(std::accumulate(words.begin(), words.end(), std::uint64_t{0}), 100u);
}

// What the copy engine would be slow at.
TEST(GpuPort, AByteAloneGoesThroughALaunch) {
  Rig rig;
  std::uint8_t byte = 0;
  const std::uint8_t value = 7;
  rig.port->write(on_gpu(&byte), &value, sizeof value);
  rig.settle();
  EXPECT_EQ(byte, 7);
  EXPECT_EQ(rig.order->counts().engine_ops, 0u);
  EXPECT_EQ(rig.gpu->kernels, 1u);
}

TEST(GpuPort, AChainThatMixesSmallAndLargeKeepsItsOrder) {
  Rig rig(kernels_first());
  std::vector<std::uint8_t> a(20000, 1), b(20000, 2), place(20000);
  const std::uint64_t nines = 0x0909090909090909;
  rig.port->order_chain(1);
  rig.port->write(on_gpu(place.data()), &nines, sizeof nines);
  rig.port->copy(on_gpu(place.data()), on_gpu(a.data()), a.size());
  rig.port->write(on_gpu(place.data()), &nines, sizeof nines);
  rig.port->copy(on_gpu(place.data()), on_gpu(b.data()), b.size());
  rig.port->order_chain(2);
  alignas(8) std::uint64_t other = 0;
  rig.port->write(on_gpu(&other), &nines, sizeof nines);
  rig.settle();
  EXPECT_EQ(place, b);
  EXPECT_EQ(other, nines);
  EXPECT_EQ(rig.order->counts().launches, 4u);
}

}  // namespace
}  // namespace gdakit::softnic
