// Memory of a GPU, and doorbells that its threads ring: each way that the kernel and the driver may
// refuse, and the one that is taken instead.
#include <cerrno>
#include <span>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/mlx5/agreement.h"
#include "backends/mlx5/doorbell_pages.h"
#include "backends/mlx5/host_page.h"
#include "backends/mlx5/umem.h"
#include "core/format/prm/cq.h"
#include "core/host/bootstrap/local_bootstrap.h"
#include "core/host/queue_arena.h"
#include "tests/mlx5/backend_fixture.h"
#include "tests/mlx5/played_gpu.h"

namespace gdakit::mlx5 {
namespace {

namespace prm = format::prm;

using testing::AllOf;
using testing::HasSubstr;

class GpuMemoryTest : public PlayedHost {
 protected:
  ~GpuMemoryTest() override { EXPECT_EQ(gpu_.mapped, 0); }

  // Behind the border of a page, and over the next one.
  void* piece() { return memory_.data() + 64; }
  static constexpr std::uint64_t kBytes = 4096;

  Result<void> register_piece() {
    Result<ibv_mr*> region = register_region(*nic_, gpu_, piece(), kBytes, IBV_ACCESS_LOCAL_WRITE);
    if (!region) return region.error();
    nic_->libraries().dereg_mr(*region);
    return {};
  }

  const std::unique_ptr<OpenNic> nic_ = std::move(*open());
  PlayedGpu gpu_;
  alignas(4096) std::array<std::uint8_t, 3 * 4096> memory_{};
};

TEST_F(GpuMemoryTest, RegionsAreOfTheWholePagesAroundThem) {
  ASSERT_TRUE(register_piece());
  EXPECT_EQ(gpu_.exported_base, memory_.data());
  EXPECT_EQ(gpu_.exported_bytes, 2 * 4096u);
  EXPECT_EQ(played().dma_buf_offset, 64u);
}

TEST_F(GpuMemoryTest, RegionsWithoutADmaBufAreNamedByAddress) {
  gpu_.exports = false;
  EXPECT_TRUE(register_piece());
  gpu_.exports = true;
  played().errors = {{"ibv_reg_dmabuf_mr", EOPNOTSUPP}};
  EXPECT_TRUE(register_piece());
}

TEST_F(GpuMemoryTest, RegionsThatNeitherWayTakesNameBoth) {
  played().errors = {{"ibv_reg_dmabuf_mr", EOPNOTSUPP}, {"ibv_reg_mr_iova2", EFAULT}};
  const Result<void> done = register_piece();
  ASSERT_FALSE(done);
  EXPECT_THAT(done.error().message(),
              AllOf(HasSubstr("ibv_reg_dmabuf_mr on rocep1s0: Operation not supported"),
                    HasSubstr("ibv_reg_mr_iova2"), HasSubstr("nvidia-peermem"),
                    HasSubstr("no more than the GPU's BAR1 shows")));
}

TEST_F(GpuMemoryTest, UmemsOfADmaBufCountFromItsFirstByte) {
  const auto umem = Umem::make(*nic_, gpu_, piece(), kBytes);
  ASSERT_TRUE(umem);
  EXPECT_EQ((*umem)->offset_of(piece()), 64u);
  ASSERT_EQ(played().umems.size(), 1u);
  EXPECT_EQ(played().umems[0].addr, nullptr);
  EXPECT_EQ(played().umems[0].size, 2 * 4096u);
  EXPECT_EQ(played().umems[0].comp_mask, MLX5DV_UMEM_MASK_DMABUF);
}

TEST_F(GpuMemoryTest, UmemsWithoutADmaBufAreNamedByAddress) {
  played().errors = {{"mlx5dv_devx_umem_reg_ex 1", EOPNOTSUPP}};
  const auto umem = Umem::make(*nic_, gpu_, piece(), kBytes);
  ASSERT_TRUE(umem);
  EXPECT_EQ((*umem)->offset_of(piece()), 0u);
  ASSERT_EQ(played().umems.size(), 2u);
  EXPECT_EQ(played().umems[1].addr, piece());
  EXPECT_EQ(played().umems[1].comp_mask, 0u);
}

TEST_F(GpuMemoryTest, UmemsThatNeitherWayTakesNameBoth) {
  gpu_.exports = false;
  played().errors = {{"mlx5dv_devx_umem_reg_ex", EFAULT}};
  const auto umem = Umem::make(*nic_, gpu_, piece(), kBytes);
  ASSERT_FALSE(umem);
  EXPECT_THAT(umem.error().message(),
              AllOf(HasSubstr("cuMemGetHandleForAddressRange"),
                    HasSubstr("mlx5dv_devx_umem_reg_ex of 4096 bytes on rocep1s0: Bad address"),
                    HasSubstr("nvidia-peermem")));
}

TEST_F(GpuMemoryTest, DoorbellsAreWhereTheGpuHasThePage) {
  played_uar(0)->reg_addr = memory_.data() + 4096 + 0x800;
  DoorbellPages pages(*nic_, gpu_);
  ASSERT_TRUE(pages.reserve());
  ASSERT_TRUE(pages.map_for_device());
  const auto doorbell = pages.take();
  ASSERT_TRUE(doorbell);
  EXPECT_EQ(doorbell->host, static_cast<void*>(memory_.data() + 4096 + 0x800));
  EXPECT_EQ(reinterpret_cast<char*>(doorbell->device),
            reinterpret_cast<char*>(doorbell->host) + PlayedGpu::kGpuView);
  EXPECT_EQ(gpu_.mapped, 1);
}

TEST_F(GpuMemoryTest, DoorbellsOnOnePageAreMappedOnce) {
  for (std::size_t i = 0; i < 2; ++i) {
    played_uar(i)->reg_addr = memory_.data() + 4096 + 0x800 + 0x100 * i;
  }
  DoorbellPages pages(*nic_, gpu_);
  const auto first = pages.take();
  const auto second = pages.take();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(second->device - first->device, 0x100 / 8);
  EXPECT_EQ(gpu_.mapped, 1);
}

TEST_F(GpuMemoryTest, DoorbellsThatTheDriverDoesNotMapAreTheHosts) {
  gpu_.maps = false;
  DoorbellPages pages(*nic_, gpu_);
  const Result<void> mapped = pages.map_for_device();
  ASSERT_FALSE(mapped);
  EXPECT_THAT(mapped.error().message(), AllOf(HasSubstr("rocep1s0"), HasSubstr("800")));
  pages.leave_to_host();
  const auto doorbell = pages.take();
  ASSERT_TRUE(doorbell);
  EXPECT_EQ(doorbell->device, nullptr);
}

// A host as Grace may be set up.
class LargePages : public PlayedHost {
 protected:
  static constexpr std::uint64_t kPage = 65536;

  ~LargePages() override { EXPECT_EQ(gpu_.mapped, 0); }

  // As a Context lays it out.
  QueueMemory queue(std::uint32_t receives) {
    QueueShape shape{64, 32, Place::device, Sharing::shared, Handler::gpu};
    shape.receive_depth = receives;
    const QueueLayout layout(shape);
    std::uint8_t* const at = memory_.data() + 4096;
    QueueMemory memory;
    memory.receive_slots = at + layout.receives;
    memory.receive_depth = receives;
    memory.slots = at + layout.slots;
    memory.depth = shape.depth;
    memory.cqe = at + layout.cqe;
    memory.doorbell_record = at + layout.record;
    memory.receive_cqes = at + layout.receive_cqes;
    return memory;
  }
  Result<void> make(std::uint32_t receives) { return make(queue(receives)); }
  Result<void> make(const QueueMemory& memory) {
    mlx5dv_devx_uar uar{};
    QueueUmems umems(*nic_, host_);
    const auto pair = QueuePair::create(*nic_, umems, {.memory = memory, .uar = &uar});
    return pair ? (*pair)->destroy() : Result<void>(pair.error());
  }

  const std::unique_ptr<OpenNic> nic_ = std::move(*open_large());
  PlayedGpu gpu_;
  alignas(kPage) std::array<std::uint8_t, 2 * kPage> memory_{};

 private:
  Result<std::unique_ptr<OpenNic>> open_large() {
    NicOptions options;
    options.page_bytes = kPage;
    return OpenNic::open(libraries_, options);
  }
};

TEST_F(LargePages, AreWhatUmemsAreMadeOf) {
  ASSERT_TRUE(HostPage::make(*nic_) && make(0));
  ASSERT_EQ(played().umems.size(), 2u);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(played().umems[0].addr) % kPage, 0u);
  EXPECT_EQ(played().umems[0].size, kPage);  // of the host's page
  for (const mlx5dv_devx_umem_in& umem : played().umems) EXPECT_EQ(umem.pgsz_bitmap, 0x1ffffu);
}

TEST_F(LargePages, HaveRoomForChannels) {
  for (const std::uint32_t receives : {1, 2, 16, 64}) {
    played().commands.clear();
    const Result<void> made = make(receives);
    ASSERT_TRUE(made) << made.error().message();
    std::vector<std::uint64_t> places;  // of CQs in their umem
    for (const auto& command : played().commands) {
      if (command[0] != 0x04 || command[1] != 0x00) continue;
      const prm::View<prm::CreateCqIn> in{std::span<const std::uint8_t>(command)};
      places.push_back(in.get(prm::CreateCqIn::cq_umem_offset));
    }
    EXPECT_THAT(places, testing::SizeIs(2)) << receives << " receives";
    const std::uint64_t begin = 4096;  // of the umem, on its page
    for (const std::uint64_t place : places) EXPECT_EQ((begin + place) % 1024, 0u);
  }
}

TEST_F(LargePages, HaveNoRoomForCqesElsewhere) {
  QueueMemory memory = queue(16);
  memory.receive_cqes = static_cast<std::uint8_t*>(memory.receive_cqes) + 64;
  const Result<void> made = make(memory);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().message(),
              AllOf(HasSubstr("a multiple of 1024 bytes"), HasSubstr("pages are of 65536")));
}

TEST_F(LargePages, AreExportedWhole) {
  const auto umem = Umem::make(*nic_, gpu_, memory_.data() + kPage - 64, 128);
  ASSERT_TRUE(umem);
  EXPECT_EQ(gpu_.exported_base, memory_.data());
  EXPECT_EQ(gpu_.exported_bytes, 2 * kPage);
  EXPECT_EQ((*umem)->offset_of(memory_.data() + kPage), kPage);
}

TEST_F(LargePages, OfDoorbellsAreMappedWhole) {
  for (std::size_t i = 0; i < 2; ++i) {
    played_uar(i)->reg_addr = memory_.data() + kPage + 4096 * (i + 1) + 0x800;
  }
  DoorbellPages pages(*nic_, gpu_);
  const auto first = pages.take();
  const auto second = pages.take();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(gpu_.mapped, 1);
  EXPECT_EQ(gpu_.mapped_page, memory_.data() + kPage);
  EXPECT_EQ(gpu_.mapped_bytes, kPage);
  EXPECT_EQ(reinterpret_cast<char*>(second->device),
            reinterpret_cast<char*>(second->host) + PlayedGpu::kGpuView);
}

// What each of two PEs is told, of which PE 1's GPU may not ring.
std::array<std::string, 2> agreed(const Result<void>& of_pe_1) {
  auto bootstraps = make_local_bootstraps(2, std::chrono::seconds(20));
  EXPECT_TRUE(bootstraps);
  std::array<std::string, 2> told;
  const auto agree = [&](std::size_t pe, const Result<void>& mine) {
    const Result<void> all = agree_on_doorbells(*(*bootstraps)[pe], mine);
    if (!all) told[pe] = all.error().message();
  };
  std::thread other([&] { agree(1, of_pe_1); });
  agree(0, {});
  other.join();
  return told;
}

TEST(Doorbells, AreRungByAllGpusOrByNone) {
  EXPECT_EQ(agreed({}), (std::array<std::string, 2>{}));
  const auto told = agreed(Error(Code::unavailable, "cudaHostRegister: 800"));
  EXPECT_EQ(told[0], told[1]);
  EXPECT_THAT(told[0], AllOf(HasSubstr("GPU of PE 1 cannot ring its NIC"), HasSubstr("800"),
                             HasSubstr("PeerMappingOverride")));
}

class GpuBackendTest : public PlayedProvider {
 protected:
  ~GpuBackendTest() override { EXPECT_EQ(gpu_.mapped, 0); }

  // Of the only PE.
  Result<std::unique_ptr<Backend>> open_with(NicHandler handler) {
    Options options;
    options.nic_handler = handler;
    return open(options, gpu_);
  }

  PlayedGpu gpu_;
};

TEST_F(GpuBackendTest, GpusThatRingAreSaidTo) {
  const auto backend = open_with(NicHandler::automatic);
  ASSERT_TRUE(backend);
  EXPECT_TRUE((*backend)->limits().device_rings);
  EXPECT_FALSE((*backend)->limits().needs_cst);
  gpu_.orders = false;
  EXPECT_TRUE((*backend)->limits().needs_cst);
}

TEST_F(GpuBackendTest, HostThreadsRingWhereAGpuCannot) {
  gpu_.maps = false;
  testing::internal::CaptureStderr();
  const auto backend = open_with(NicHandler::automatic);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(backend);
  EXPECT_FALSE((*backend)->limits().device_rings);
  EXPECT_THAT(said, AllOf(HasSubstr("warn: host threads ring the NICs of all PEs"),
                          HasSubstr("GPU of PE 0"), HasSubstr("800")));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
}

TEST_F(GpuBackendTest, AGpuThatIsToRingAndCannotIsAnError) {
  gpu_.maps = false;
  const auto backend = open_with(NicHandler::gpu);
  ASSERT_FALSE(backend);
  EXPECT_THAT(backend.error().message(),
              AllOf(HasSubstr("GDAKIT_NIC_HANDLER=gpu"), HasSubstr("800")));
}

// Where nothing but host memory is left, one line says so, and where GPU memory was asked for that
// is an error.
TEST_F(GpuBackendTest, QueuesLieInHostMemoryWhereANicTakesNoGpuMemory) {
  gpu_.exports = false;
  played().errors = {{"mlx5dv_devx_umem_reg_ex", EFAULT}};
  testing::internal::CaptureStderr();
  const auto backend = open_with(NicHandler::automatic);
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(backend);
  EXPECT_FALSE((*backend)->limits().device_queues);
  EXPECT_THAT(said, AllOf(HasSubstr("the queues of all PEs lie in host memory"),
                          HasSubstr("NIC of PE 0"), HasSubstr("cuMemGetHandleForAddressRange"),
                          HasSubstr("and by its address: mlx5dv_devx_umem_reg_ex")));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  Options options;
  options.queue_memory = QueuePlace::device;
  const auto refused = open(options, gpu_);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message(), HasSubstr("takes no queue in its GPU's memory"));
}

TEST_F(GpuBackendTest, QueuesLieInGpuMemoryByEitherWay) {
  for (const bool exports : {true, false}) {
    gpu_.exports = exports;
    const auto backend = open_with(NicHandler::automatic);
    ASSERT_TRUE(backend);
    EXPECT_TRUE((*backend)->limits().device_queues) << exports;
  }
}

TEST_F(GpuBackendTest, WhatHostThreadsAreToRingIsNotMapped) {
  gpu_.maps = false;
  EXPECT_TRUE(open_with(NicHandler::proxy));
}

}  // namespace
}  // namespace gdakit::mlx5
