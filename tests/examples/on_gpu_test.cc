// The examples on a GPU.
#include <string>

#include <gmock/gmock.h>

#include "tests/examples/program.h"

namespace gdakit {
namespace {

using test::Outcome;
using testing::HasSubstr;
using testing::StartsWith;

void expect_verified_on_gpu(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.errors, "");
  EXPECT_THAT(outcome.output, StartsWith("on GPU 0 ("));
  EXPECT_THAT(outcome.last_line(), StartsWith("verified: ")) << outcome.output;
}

TEST(ExamplesOnGpu, RingShiftWorksInProcesses) {
  const Outcome outcome =
      test::run("GDAKIT_DEVICE=gpu " GDAKIT " run -n 3 --timeout 50 " RING_SHIFT);
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, HasSubstr("PE 0 of 3 received 2\n"));
  EXPECT_THAT(outcome.output, HasSubstr("PE 1 of 3 received 0\n"));
  EXPECT_THAT(outcome.output, HasSubstr("PE 2 of 3 received 1\n"));
}

TEST(ExamplesOnGpu, MoeDispatchTakesTheGpuByItself) {
  expect_verified_on_gpu(
      test::run("env -u GDAKIT_DEVICE " MOE_DISPATCH " --pes 2 --tokens 100 --hidden 64"));
}

TEST(ExamplesOnGpu, MoeDispatchIsVerifiedForFourPes) {
  expect_verified_on_gpu(test::run("GDAKIT_DEVICE=gpu " MOE_DISPATCH " --pes 4 --tokens 1024"));
}

TEST(ExamplesOnGpu, MoeDispatchIsVerifiedForEightPes) {
  expect_verified_on_gpu(test::run("GDAKIT_DEVICE=gpu " MOE_DISPATCH " --pes 8 --tokens 2048"));
}

TEST(ExamplesOnGpu, MoeDispatchIsVerifiedInProcesses) {
  expect_verified_on_gpu(test::run("GDAKIT_DEVICE=gpu " GDAKIT
                                   " run --no-prefix --timeout 50 -n 2 " MOE_DISPATCH
                                   " --tokens 100 --hidden 64 --batch 50"));
}

TEST(ExamplesOnGpu, PagedFillIsVerified) {
  expect_verified_on_gpu(test::run("GDAKIT_DEVICE=gpu " PAGED_FILL " --pes 4"));
}

TEST(ExamplesOnGpu, PagedFillIsVerifiedInProcesses) {
  expect_verified_on_gpu(test::run("GDAKIT_DEVICE=gpu " GDAKIT
                                   " run --no-prefix --timeout 50 -n 3 " PAGED_FILL
                                   " --servers 0,1 --pages 64 --requests 8"));
}

TEST(ExamplesOnGpu, TheEmulatorCanBeChosen) {
  const Outcome outcome =
      test::run("GDAKIT_DEVICE=cpu " MOE_DISPATCH " --pes 2 --tokens 20 --hidden 64");
  EXPECT_EQ(outcome.status, 0) << outcome.errors;
  EXPECT_THAT(outcome.output, StartsWith("on the CPU emulator, "));
}

}  // namespace
}  // namespace gdakit
