// Same seed, same binary: same run. In one process at different times, and in processes whose
// addresses differ.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/users/digest.h"

namespace gdakit::users {
namespace {

TEST(Determinism, HoldsForASeedInAnyWorldAtAnyTime) {
  sim::World first("digest", any_knobs());
  set_up<GoodHand>(first);
  sim::World last("digest", any_knobs());
  set_up<GoodHand>(last);
  std::uint64_t different = 0;
  std::vector<std::uint32_t> before;
  // The second world sees the seeds the other way round: what it ran before must not matter.
  std::vector<std::vector<Played>> of_last(kSeeds);
  for (std::uint64_t seed = kSeeds; seed-- > 0;) of_last[seed] = runs_of(last, seed);
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<Played> runs = runs_of(first, seed);
    for (int i = 0; i < kExecutions; ++i) {
      const Played& a = runs[i];
      const Played& b = of_last[seed][i];
      ASSERT_EQ(a.result.finding, b.result.finding) << "seed " << seed << " execution " << i;
      ASSERT_EQ(a.result.text, b.result.text) << "seed " << seed << " execution " << i;
      ASSERT_EQ(a.result.outcome, b.result.outcome) << "seed " << seed << " execution " << i;
      ASSERT_EQ(a.result.accesses, b.result.accesses) << "seed " << seed << " execution " << i;
      ASSERT_EQ(a.picks, b.picks) << "seed " << seed << " execution " << i;
      ASSERT_EQ(a.kinds, b.kinds) << "seed " << seed << " execution " << i;
      if (a.picks != before) ++different;
      before = a.picks;
    }
  }
  // Otherwise nothing has been compared.
  EXPECT_GT(different, kSeeds * kExecutions / 2);
}

// What determinism_digest prints.
std::string digest_elsewhere() {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen("'" DETERMINISM_DIGEST "'", "r"),
                                                             pclose);
  char line[64];
  const bool printed = pipe != nullptr && std::fgets(line, sizeof line, pipe.get()) != nullptr;
  return printed ? line : "";
}

TEST(Determinism, HoldsInEveryProcess) {
  const std::string here = std::to_string(digest()) + '\n';
  EXPECT_EQ(digest_elsewhere(), here);
  EXPECT_EQ(digest_elsewhere(), here);
}

}  // namespace
}  // namespace gdakit::users
