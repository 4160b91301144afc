// Collective operations against a sequential model: every operation by every group of threads, on 1
// to 9 PEs, by each algorithm.
#include "tests/device/collectives_bench.h"

namespace gdakit {
namespace {

using test::CollectiveBench;
using test::expect_job;
using test::job_options;

struct Case {
  int n_pes;
  CollectiveChoice algorithm;
};

class Collectives : public testing::TestWithParam<Case> {};

// Counts: none, one, less than the members, odd ones, more than the scratch memory at once.
TEST_P(Collectives, LeaveWhatTheModelSays) {
  Options options = job_options();
  options.collectives = GetParam().algorithm;
  options.team_scratch = 4 << 10;
  expect_job(GetParam().n_pes, options, [](Context& c) -> Result<void> {
    auto bench = CollectiveBench<std::uint32_t>::make(c, 700);
    if (!bench) return bench.error();
    for (const std::size_t count : {0, 1, 5, 137, 700}) {
      const int root = static_cast<int>(count) % c.n_pes();
      const Result<void> done = bench->run_by_all_groups({kTeamWorld, count, root});
      if (!done) return done;
    }
    return {};
  });
}

std::vector<Case> all_cases() {
  constexpr int kMostPes = kThreadSanitizer ? 5 : 9;
  std::vector<Case> cases;
  for (int n = 1; n <= kMostPes; ++n) {
    for (const auto algorithm : {CollectiveChoice::automatic, CollectiveChoice::linear,
                                 CollectiveChoice::logarithmic, CollectiveChoice::ring}) {
      cases.push_back({n, algorithm});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, Collectives, testing::ValuesIn(all_cases()), [](const auto& each) {
  return std::to_string(each.param.n_pes) + "Pes" + collective_choice_name(each.param.algorithm);
});

}  // namespace
}  // namespace gdakit
