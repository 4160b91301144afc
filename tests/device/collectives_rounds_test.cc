// A thousand of each collective operation, back to back, by every group of threads.
#include "tests/device/collectives_rounds.h"

namespace gdakit {
namespace {

using test::By;

// Under the thread sanitizer, which is thirty times slower, fewer show as much.
constexpr std::int32_t kRounds = kThreadSanitizer ? 100 : 1000;

struct Case {
  By by;
  int n_pes;
  CollectiveChoice algorithm;
};

class CollectiveRounds : public testing::TestWithParam<Case> {};

TEST_P(CollectiveRounds, AThousandBackToBack) {
  Options options = test::job_options();
  options.collectives = GetParam().algorithm;
  test::expect_job(GetParam().n_pes, options, [](Context& c) {
    const std::int32_t rounds = test::sized(kRounds, 20);
    switch (GetParam().by) {
      case By::thread: return test::run_rounds<By::thread>(c, {kTeamWorld}, rounds);
      case By::warp: return test::run_rounds<By::warp>(c, {kTeamWorld}, rounds);
      default: return test::run_rounds<By::block>(c, {kTeamWorld}, rounds);
    }
  });
}

constexpr Case kCases[] = {
    {By::thread, 2, CollectiveChoice::linear}, {By::warp, 2, CollectiveChoice::logarithmic},
    {By::block, 3, CollectiveChoice::linear},  {By::block, 3, CollectiveChoice::logarithmic},
    {By::block, 3, CollectiveChoice::ring},
};

INSTANTIATE_TEST_SUITE_P(All, CollectiveRounds, testing::ValuesIn(kCases), [](const auto& each) {
  return std::string("ByA") + test::name_of(each.param.by) +
         collective_choice_name(each.param.algorithm);
});

}  // namespace
}  // namespace gdakit
