// Same seed, same binary: same run. In one process at different times, and in processes whose
// addresses differ.
#include <cinttypes>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/explore/mixed.h"
#include "tests/users/mail.h"

namespace gdakit::users {
namespace {

constexpr std::uint64_t kSeeds = 200;
constexpr int kExecutions = 5;  // of each seed

struct Played {
  sim::RunResult result;
  std::vector<std::uint32_t> picks;
  std::vector<sim::Choice> kinds;
};

// Knobs are drawn, so that all of the model takes part; some settings are too much for the kernel,
// and what is found must be the same, too.
sim::WorldOptions options() {
  sim::WorldOptions options;
  options.knobs = sim::KnobSet::all();
  return options;
}

std::vector<Played> runs_of(sim::World& world, std::uint64_t seed) {
  sim::MixedStrategy strategy(seed);
  sim::Chooser chooser(strategy);
  std::vector<Played> runs;
  for (int i = 0; i < kExecutions; ++i) {
    chooser.begin();
    sim::RunResult result = world.run(chooser, nullptr);
    chooser.end();
    runs.push_back({std::move(result), chooser.taken(), chooser.taken_kinds()});
  }
  return runs;
}

class Digest {
 public:
  void add(std::uint64_t value) { value_ = (value_ ^ value) * 0x100000001b3u + 1; }
  void add(const Played& run) {
    add(static_cast<std::uint64_t>(run.result.finding));
    for (const char c : run.result.text) add(static_cast<unsigned char>(c));
    add(run.result.outcome);
    add(run.result.accesses);
    for (const std::uint32_t pick : run.picks) add(pick);
  }
  std::uint64_t value() const { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

std::uint64_t digest() {
  sim::World world("digest", options());
  set_up<GoodHand>(world);
  Digest digest;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const Played& run : runs_of(world, seed)) digest.add(run);
  }
  return digest.value();
}

TEST(Determinism, SameSeedSameRunInAnyWorldAtAnyTime) {
  sim::World first("digest", options());
  set_up<GoodHand>(first);
  sim::World last("digest", options());
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

// Prints what the other test compares.
TEST(Determinism, DigestOfThisProcess) { std::printf("digest %" PRIx64 "\n", digest()); }

// The digest that a new process of this program prints.
std::string digest_elsewhere() {
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  const std::string command = "'" + self + "' --gtest_filter=Determinism.DigestOfThisProcess";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(popen(command.c_str(), "r"), pclose);
  if (pipe == nullptr) return "";
  char line[256];
  while (std::fgets(line, sizeof line, pipe.get()) != nullptr) {
    if (std::string(line).rfind("digest ", 0) == 0) return line;
  }
  return "";
}

TEST(Determinism, SameInEveryProcess) {
  char here[64];
  std::snprintf(here, sizeof here, "digest %" PRIx64 "\n", digest());
  EXPECT_EQ(digest_elsewhere(), here);
  EXPECT_EQ(digest_elsewhere(), here);
}

}  // namespace
}  // namespace gdakit::users
