// The soak run on the emulator: a moment of it, so that its checks are known to be right.
// GDAKIT_TEST_SECONDS makes it longer.
#include "tests/device/soak.h"

namespace gdakit {
namespace {

// The emulator runs each launch at once.
struct NoStreams {
  static Result<NoStreams> make(Context&, int) { return NoStreams{}; }
  static Stream at(int) { return nullptr; }
};

class Soak : public testing::TestWithParam<int> {};

TEST_P(Soak, MixedOperationsLeaveWhatTheirModelSays) {
  Options options = test::job_options();
  options.emulator_workers = 2;
  const auto time = test::soak_time(std::chrono::duration<double>(0.1));
  soak::expect_run<NoStreams>(GetParam(), options, {{2, 64}, 5, time});
}

INSTANTIATE_TEST_SUITE_P(Pes, Soak, testing::Values(1, 2, 3));

}  // namespace
}  // namespace gdakit
