// The soak run on a GPU: all kernels at the same time, for as long as GDAKIT_TEST_SECONDS says.
#include "tests/device/soak.h"
#include "tests/gpu/streams.cuh"

namespace gdakit {
namespace {

class Soak : public testing::TestWithParam<int> {};

TEST_P(Soak, MixedOperationsLeaveWhatTheirModelSays) {
  const auto time = test::soak_time(std::chrono::duration<double>(test::small() ? 0.1 : 5));
  soak::expect_run<test::Streams>(GetParam(), test::job_options(),
                                  {{2, 64}, test::sized(50u, 3u), time});
}

INSTANTIATE_TEST_SUITE_P(Pes, Soak, testing::Values(1, 2, 4));

}  // namespace
}  // namespace gdakit
