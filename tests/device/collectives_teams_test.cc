// Collective operations on teams of some of the PEs, against the same model as those of all: by
// every group of threads, by each algorithm, while others keep out; and on teams that share PEs.
#include "tests/device/collectives_bench.h"
#include "tests/device/collectives_rounds.h"

namespace gdakit {
namespace {

using test::By;
using test::CollectiveBench;
using test::expect_job;
using test::job_options;

constexpr int kPes = 5;
// Under the thread sanitizer, which is thirty times slower, fewer show as much.
constexpr std::int32_t kRounds = kThreadSanitizer ? 5 : 20;

// A team by how it is split from all PEs.
struct Strided {
  const char* name;
  int start;
  int stride;
  int size;
};

struct Case {
  Strided team;
  CollectiveChoice algorithm;
};

class CollectivesOfTeams : public testing::TestWithParam<Case> {};

TEST_P(CollectivesOfTeams, LeaveWhatTheModelSays) {
  Options options = job_options();
  options.collectives = GetParam().algorithm;
  expect_job(kPes, options, [](Context& c) -> Result<void> {
    const Strided& split = GetParam().team;
    const Result<Team> team = c.split_strided(kTeamWorld, split.start, split.stride, split.size);
    if (!team) return team.error();
    auto bench = CollectiveBench<std::uint32_t>::make(c, 300);
    if (!bench) return bench.error();
    for (const std::size_t count : {0, 1, 17, 300}) {
      const int root = static_cast<int>(count) % split.size;
      if (auto done = bench->run_by_all_groups({*team, count, root}); !done) return done;
    }
    return {};
  });
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const Strided& team : {Strided{"EverySecond", 0, 2, 3}, Strided{"Downwards", 4, -1, 4},
                              Strided{"SecondsDownwards", 3, -2, 2}, Strided{"Upper", 1, 1, 4}}) {
    for (const auto algorithm :
         {CollectiveChoice::linear, CollectiveChoice::logarithmic, CollectiveChoice::ring}) {
      cases.push_back({team, algorithm});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, CollectivesOfTeams, testing::ValuesIn(all_cases()),
                         [](const auto& each) {
                           return std::string(each.param.team.name) +
                                  collective_choice_name(each.param.algorithm);
                         });

class OverlappingTeams : public testing::TestWithParam<CollectiveChoice> {};

// PEs 2 and 4 are in both, in another order; PE 1 is in none, and others go ahead.
TEST_P(OverlappingTeams, TakeTurnsInOneKernel) {
  Options options = job_options();
  options.collectives = GetParam();
  expect_job(kPes, options, [](Context& c) -> Result<void> {
    const Result<Team> even = c.split_strided(kTeamWorld, 0, 2, 3);
    if (!even) return even.error();
    const Result<Team> upper = c.split_strided(kTeamWorld, 4, -1, 3);
    if (!upper) return upper.error();
    const std::int32_t rounds = test::sized(kRounds, 5);
    Result<void> done = test::run_rounds<By::thread>(c, {*even, *upper}, rounds);
    if (done) done = test::run_rounds<By::warp>(c, {*even, *upper}, rounds);
    if (done) done = test::run_rounds<By::block>(c, {*even, *upper}, rounds);
    return done;
  });
}

INSTANTIATE_TEST_SUITE_P(All, OverlappingTeams,
                         testing::Values(CollectiveChoice::linear, CollectiveChoice::logarithmic,
                                         CollectiveChoice::ring),
                         [](const auto& each) {
                           return std::string(collective_choice_name(each.param));
                         });

}  // namespace
}  // namespace gdakit
