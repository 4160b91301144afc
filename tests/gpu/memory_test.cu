// Memory of a GPU: blocks, ranges, growth, handles, and that all of it is given back.
#include <fcntl.h>
#include <unistd.h>

#include "core/host/gpu/cuda_memory.h"
#include "tests/gpu/gpu_test.h"

namespace gdakit {
namespace {

class GpuMemory : public test::GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (IsSkipped()) return;
    auto opened = CudaMemoryProvider::open(0);
    ASSERT_TRUE(opened) << opened.error().message();
    memory = std::move(*opened);
  }

  std::uint64_t free_bytes() {
    std::size_t left = 0;
    std::size_t all = 0;
    EXPECT_EQ(cudaMemGetInfo(&left, &all), cudaSuccess);
    return left;
  }

  std::unique_ptr<CudaMemoryProvider> memory;
};

TEST_F(GpuMemory, BlocksAreZeroedAndKeepWhatIsWritten) {
  for (const Place place : {Place::device, Place::shared}) {
    auto block = memory->allocate(10'000, place);
    ASSERT_TRUE(block) << block.error().message();
    std::vector<char> bytes(10'000, 1);
    ASSERT_TRUE((*block)->read(0, bytes.data(), bytes.size()));
    EXPECT_EQ(bytes, std::vector<char>(10'000, 0));
    const std::uint64_t word = 77;
    ASSERT_TRUE((*block)->write(64, &word, sizeof word));
    std::uint64_t got = 0;
    ASSERT_TRUE((*block)->read(64, &got, sizeof got));
    EXPECT_EQ(got, word);
  }
}

TEST_F(GpuMemory, KnowsWhatKindAPointerIs) {
  auto device = memory->allocate(64, Place::device);
  auto shared = memory->allocate(64, Place::shared);
  auto range = memory->reserve(memory->granularity());
  ASSERT_TRUE(device && shared && range);
  ASSERT_TRUE((*range)->commit(memory->granularity()));
  int local = 0;
  EXPECT_EQ(memory->kind_of((*device)->data()), MemoryKind::gpu);
  EXPECT_EQ(memory->kind_of((*range)->base()), MemoryKind::gpu);
  EXPECT_EQ(memory->kind_of((*shared)->data()), MemoryKind::pinned);
  EXPECT_EQ(memory->kind_of(&local), MemoryKind::host);
}

TEST_F(GpuMemory, RangesGrowAndAreGivenBack) {
  const std::uint64_t unit = memory->granularity();
  {
    auto first = memory->reserve(unit);  // what the driver itself sets up on first use
    ASSERT_TRUE(first && (*first)->commit(unit));
  }
  const std::uint64_t before = free_bytes();
  {
    auto range = memory->reserve(std::uint64_t{1} << 40);
    ASSERT_TRUE(range) << range.error().message();
    ASSERT_TRUE((*range)->commit(64 * unit));
    ASSERT_TRUE((*range)->commit(unit));
    EXPECT_EQ((*range)->committed(), 65 * unit);
    const std::uint64_t word = 5;
    std::uint64_t got = 0;
    char* const last = (*range)->base() + 65 * unit - sizeof word;
    ASSERT_TRUE(memory->copy(last, &word, sizeof word));
    ASSERT_TRUE(memory->copy(&got, last, sizeof got));
    EXPECT_EQ(got, word);
    EXPECT_LE(free_bytes() + 65 * unit, before);
  }
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(GpuMemory, RefusesACommitBeyondTheRange) {
  auto range = memory->reserve(memory->granularity());
  ASSERT_TRUE(range && (*range)->commit(memory->granularity()));
  const Result<void> more = (*range)->commit(memory->granularity());
  ASSERT_FALSE(more);
  EXPECT_EQ(more.error().code(), Code::exhausted);
}

// One file descriptor each, which are files of this process.
TEST_F(GpuMemory, ExportsChunksAndDmaBufs) {
  auto range = memory->reserve(2 * memory->granularity());
  ASSERT_TRUE(range && (*range)->commit(memory->granularity()));
  const Result<SharedChunk> chunk = (*range)->export_chunk(0);
  ASSERT_TRUE(chunk) << chunk.error().message();
  EXPECT_NE(::fcntl(chunk->descriptor.get(), F_GETFD), -1);
  EXPECT_EQ(chunk->bytes, memory->granularity());
  EXPECT_FALSE((*range)->export_chunk(4096));
  const GpuReport report = report_gpus();
  if (!report.gpus[0].exports_dma_buf) GTEST_SKIP() << "this driver exports no dma-buf";
  const Result<int> buffer = memory->export_dma_buf((*range)->base(), memory->granularity());
  ASSERT_TRUE(buffer) << buffer.error().message();
  EXPECT_NE(::fcntl(*buffer, F_GETFD), -1);
  ::close(*buffer);
}

// A context and all it owned: heap, queues, doorbell pages, streams.
TEST_F(GpuMemory, AContextGivesEverythingBack) {
  const auto run = [] {
    Options options = test::job_options();
    options.device = DeviceChoice::gpu;
    test::expect_job(2, options, [](Context& c) -> Result<void> {
      auto object = c.allocate<char>(8 << 20);  // more than the arena: the heap grows
      return object ? Result<void>() : Result<void>(object.error());
    });
  };
  run();  // what is made once a process
  const std::uint64_t before = free_bytes();
  run();
  EXPECT_EQ(free_bytes(), before);
}

}  // namespace
}  // namespace gdakit
