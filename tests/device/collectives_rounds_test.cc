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

TEST_P(CollectiveRounds, FollowEachOtherAThousandTimes) {
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
    {By::thread, 2, CollectiveChoice::linear},  {By::warp, 2, CollectiveChoice::logarithmic},
    {By::block, 3, CollectiveChoice::linear},   {By::block, 3, CollectiveChoice::logarithmic},
    {By::block, 3, CollectiveChoice::ring},     {By::thread, 5, CollectiveChoice::ring},
    {By::warp, 8, CollectiveChoice::automatic},
};

INSTANTIATE_TEST_SUITE_P(All, CollectiveRounds, testing::ValuesIn(kCases), [](const auto& each) {
  return std::string("ByA") + test::name_of(each.param.by) +
         collective_choice_name(each.param.algorithm);
});

// Reductions that the team's scratch memory takes piece by piece, in place: what one leaves is what
// the next begins with.
struct ReducedInPieces {
  static constexpr std::size_t kCount = 401;  // 1.6 KB; a member's part of the scratch is less

  std::uint32_t* words;
  std::int32_t rounds;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto team = pe.block().team(kTeamWorld);
    bool good = true;
    for (std::int32_t round = 0; round < rounds; ++round) {
      good = team.reduce(words, words, kCount, Sum{}).ok() && good;
    }
    expect(pe, good);
  }
};

TEST(CollectiveRounds, FollowEachOtherInPlaceAndInPieces) {
  for (const auto algorithm : {CollectiveChoice::linear, CollectiveChoice::logarithmic}) {
    Options options = test::job_options();
    options.collectives = algorithm;
    options.team_scratch = 4096;
    test::expect_job(3, options, [](Context& c) -> Result<void> {
      const std::int32_t rounds = test::sized(kRounds, 20);
      auto checks = test::Checks::make(c);
      if (!checks) return checks.error();
      auto words = c.allocate<std::uint32_t>(ReducedInPieces::kCount);
      if (!words) return words.error();
      const auto value = [](std::size_t i) { return static_cast<std::uint32_t>(i) + 1; };
      if (auto done = test::fill(c, *words, ReducedInPieces::kCount, value); !done) return done;
      if (auto done = c.barrier(); !done) return done;
      const ReducedInPieces kernel{*words, rounds, checks->expect()};
      if (auto done = c.launch(kernel, {.threads = 64}); !done) return done;
      if (auto done = checks->all_held(64); !done) return done;
      std::uint32_t factor = 1;  // three to the power of rounds, modulo 2^32
      for (std::int32_t round = 0; round < rounds; ++round) factor *= 3;
      return test::all_are(c, *words, ReducedInPieces::kCount, "sum",
                           [&](std::size_t i) { return factor * value(i); });
    });
  }
}

}  // namespace
}  // namespace gdakit
