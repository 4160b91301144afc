#include "backends/softnic/gpu/late_gpu_dma.h"

#include <array>
#include <memory>

#include <gtest/gtest.h>

#include "tests/softnic/fake_gpu.h"

namespace gdakit::softnic {
namespace {

using test::FakeGpu;
using test::make_port;
using test::on_gpu;
using test::on_host;

using Words = std::array<std::uint64_t, 4>;

TEST(LateGpuDma, MovesHostMemoryAtOnceBeforeThereIsAGpu) {
  LateGpuDma dma;
  Words from{1, 2, 3, 4}, to{}, read{};
  std::uint64_t old = 0;
  const AtomicRequest add{.kind = AtomicKind::fetch_add, .size = 8, .swap_add = 5};
  const auto is_done = [&dma](DmaOp op) { return op.id == 0 && dma.done(op); };
  EXPECT_TRUE(is_done(dma.copy_last(on_host(to.data()), on_host(from.data()), sizeof to)));
  EXPECT_TRUE(is_done(dma.read(read.data(), on_host(to.data()), sizeof read)));
  EXPECT_TRUE(is_done(dma.atomic(on_host(to.data()), add, &old)));
  EXPECT_TRUE(is_done(dma.fence()));
  EXPECT_EQ(read, from);
  EXPECT_EQ(old, 1u);
  EXPECT_EQ(to[0], 6u);
}

TEST(LateGpuDma, ReachesTheGpuOnceItsPortHasTakenOver) {
  auto device = std::make_unique<FakeGpu>(1);
  FakeGpu* const gpu = device.get();
  const auto order = GpuOrder::create(std::move(device), {});
  LateGpuDma dma;
  dma.take_over(make_port(order, std::make_shared<std::atomic<bool>>(false)));
  Words from{1, 2, 3, 4}, within{}, to{};
  dma.write(on_gpu(within.data()), from.data(), sizeof from);
  dma.copy_last(on_host(to.data()), on_gpu(within.data()), sizeof to);
  const DmaOp last = dma.fence();
  EXPECT_FALSE(dma.done(last));
  for (int i = 0; i < 100000 && !dma.done(last); ++i) {
    dma.submit();
    gpu->step();
    dma.poll();
  }
  EXPECT_TRUE(dma.done(last));
  EXPECT_EQ(within, from);
  EXPECT_EQ(to, from);
  EXPECT_FALSE(dma.lost());
}

// Engines ask once, before any port has taken over.
TEST(LateGpuDma, PromisesTheSameBeforeAndAfter) {
  LateGpuDma dma;
  EXPECT_TRUE(dma.ordered());
  EXPECT_TRUE(dma.orders_ends());
  const auto order = GpuOrder::create(std::make_unique<FakeGpu>(1), {});
  const auto port = make_port(order, std::make_shared<std::atomic<bool>>(false));
  EXPECT_EQ(port->ordered(), dma.ordered());
  EXPECT_EQ(port->orders_ends(), dma.orders_ends());
}

}  // namespace
}  // namespace gdakit::softnic
