// Where kernels run and queues lie, as options ask for it, in a program whose kernels were compiled
// for the emulator.
#include "core/host/memory/host_memory.h"
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::expect_job;
using test::job_options;
using test::mismatch;

std::string failure_of(const Options& options) {
  const Result<void> done = run_in_process(1, options, [](Context&) -> Result<void> { return {}; });
  return done ? "no failure" : done.error().message();
}

TEST(DeviceChoice, TakesTheEmulatorForKernelsThatTheHostCompilerMade) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    if (c.on_gpu() || c.gpu() != nullptr || c.stream() != nullptr) return mismatch("a GPU");
    if (c.device_name() != "the CPU emulator") return mismatch(c.device_name());
    if (c.device_context().nic_scope != Scope::system) return mismatch("scope of the NIC");
    return {};
  });
}

TEST(DeviceChoice, RefusesAGpuForSuchKernels) {
  Options options = job_options();
  options.device = DeviceChoice::gpu;
  const std::string message = failure_of(options);
  EXPECT_NE(message.find("GDAKIT_DEVICE=gpu"), std::string::npos) << message;
  EXPECT_NE(message.find("compile it with nvcc"), std::string::npos) << message;
}

TEST(DeviceChoice, SaysWhyThereIsNoGpu) {
  const GpuReport report = report_gpus();
  if (!report.gpus.empty()) GTEST_SKIP() << "there is a GPU here";
  EXPECT_FALSE(report.sentence.empty());
  const Result<std::unique_ptr<Gpu>> gpu = Gpu::open(0);
  ASSERT_FALSE(gpu);
  EXPECT_EQ(gpu.error().code(), Code::unavailable);
  EXPECT_EQ(gpu.error().message(), report.sentence);
}

TEST(DeviceChoice, RunsAKernelOnAStreamAtOnceOnTheEmulator) {
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    int ran = 0;
    auto launched = c.launch_on(c.stream(), [&](auto&) { ++ran; }, {.blocks = 2, .threads = 3});
    if (!launched) return launched;
    if (ran != 6) return mismatch("threads: " + std::to_string(ran));
    return c.synchronize(c.stream());
  });
}

TEST(DeviceChoice, CopiesBetweenHostAndHeap) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    auto object = c.allocate<int>(3);
    if (!object) return object.error();
    const int sent[3] = {1, 2, c.my_pe()};
    if (auto done = c.upload(*object, sent, 3); !done) return done;
    int got[3] = {};
    if (auto done = c.download(got, *object, 3); !done) return done;
    return std::equal(sent, sent + 3, got) ? Result<void>() : mismatch("bytes differ");
  });
}

// Memory of the host is all of one kind: every choice of place works there.
TEST(DeviceChoice, PutsQueuesAnywhereOnTheHost) {
  for (const QueuePlace place : {QueuePlace::automatic, QueuePlace::device, QueuePlace::host}) {
    for (const NicHandler handler : {NicHandler::gpu, NicHandler::proxy, NicHandler::commands}) {
      Options options = job_options();
      options.queue_memory = place;
      options.nic_handler = handler;
      EXPECT_EQ(failure_of(options), "no failure");
    }
  }
}

TEST(HostMemory, CannotBeExportedToANic) {
  HostMemoryProvider memory;
  auto block = memory.allocate(4096, Place::device);
  ASSERT_TRUE(block);
  const Result<int> exported = memory.export_dma_buf((*block)->data(), 4096);
  ASSERT_FALSE(exported);
  EXPECT_EQ(exported.error().code(), Code::unavailable);
  EXPECT_EQ(memory.gpu(), std::nullopt);
  EXPECT_EQ(memory.kind_of((*block)->data()), MemoryKind::host);
}

TEST(HostMemory, BlocksAreReadAndWrittenAtOffsets) {
  HostMemoryProvider memory;
  auto block = memory.allocate(64, Place::shared);
  ASSERT_TRUE(block);
  const std::uint32_t word = 0x01020304;
  ASSERT_TRUE((*block)->write(8, &word, sizeof word));
  std::uint64_t got = 0;
  ASSERT_TRUE((*block)->read(8, &got, sizeof got));
  EXPECT_EQ(got, 0x01020304u);
}

}  // namespace
}  // namespace gdakit
