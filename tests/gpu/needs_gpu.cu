// Skips every test of a program, by name and with the reason, on a machine without a GPU. Linked
// into each of the GPU's test programs.
#include <cuda_runtime_api.h>

#include <gtest/gtest.h>

#include "core/host/gpu/gpu.h"
#include "tests/support/settings.h"

namespace gdakit {
namespace {

class NeedsGpu final : public testing::Environment {
 public:
  void SetUp() override {
    const GpuReport report = report_gpus();
    if (report.gpus.empty()) GTEST_SKIP() << "no GPU: " << report.sentence;
#if defined(GDAKIT_TESTS_FOR_NO_GPU)
    // Their kernels have large stacks: launches would wait for each other.
    FAIL() << "these tests were compiled quickly, where there was no GPU; configure with -D "
              "GDAKIT_TEST_CUDA_ARCHITECTURES=90-real or the like";
#endif
    if (test::small()) give_stacks();
  }

 private:
  // The tools that small tests are for add a stack to each kernel. Where a launch has to make room
  // for one it waits for all kernels that run, and those here wait for each other.
  static void give_stacks() {
    constexpr std::size_t kStackBytes = 16 * 1024;
    ASSERT_EQ(cudaDeviceSetLimit(cudaLimitStackSize, kStackBytes), cudaSuccess);
  }
};

const auto* const needs_gpu = testing::AddGlobalTestEnvironment(new NeedsGpu);

}  // namespace
}  // namespace gdakit
