// A program that nvcc has compiled, on a machine without a GPU.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/gpu/gpu.h"
#include "nvshmem/library/state.h"

namespace gdakit::nvshmem {
namespace {

// Registered as nvcc's files register theirs.
class KernelsForGpu {
 public:
  KernelsForGpu() { add_module(&module_); }
  ~KernelsForGpu() { remove_module(&module_); }

 private:
  Module module_{nullptr};
};

TEST(WithoutGpu, KernelsForOneAreToldOfTheEmulator) {
  if (!report_gpus().gpus.empty()) GTEST_SKIP() << "this machine has a GPU";
  ::setenv("GDAKIT_DEVICE", "gpu", 1);
  const KernelsForGpu kernels;
  const Result<void> started = start(0, nullptr);
  ASSERT_FALSE(started);
  EXPECT_THAT(
      started.error().message(),
      testing::HasSubstr("for a test without a GPU write the kernel as a callable and run it "
                         "by gdakit::nvshmem::emulate (nvshmem/emulate.h"));
}

}  // namespace
}  // namespace gdakit::nvshmem
