// Faults as text, and the fates that are drawn by them.
#include "backends/softnic/wire/faults.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit::softnic {
namespace {

using testing::HasSubstr;

std::vector<Fate> fates_of(const Faults& faults, std::size_t count, std::uint64_t stream = 0) {
  const auto fates = drawn(faults, stream);
  std::vector<Fate> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(fates->fate(Packet()));
  return all;
}

bool same(const Fate& a, const Fate& b) {
  return a.drops == b.drops && a.corrupts == b.corrupts && a.repeats == b.repeats &&
         a.behind == b.behind && a.delay_ns == b.delay_ns;
}

std::size_t equal_fates(const std::vector<Fate>& a, const std::vector<Fate>& b) {
  std::size_t equal = 0;
  for (std::size_t i = 0; i < a.size(); ++i) equal += same(a[i], b[i]) ? 1 : 0;
  return equal;
}

TEST(ParseFaults, TakesEveryKey) {
  const Result<Faults> faults = parse_faults(
      "drop=1%,repeat=0.1%,reorder=5%,reorder-depth=9,corrupt=0.01%,mark=3%,"
      "delay=50us..2ms,down=200ms/5s,seed=7,partition=3+5");
  ASSERT_TRUE(faults) << faults.error().message();
  EXPECT_DOUBLE_EQ(faults->drop, 0.01);
  EXPECT_DOUBLE_EQ(faults->repeat, 0.001);
  EXPECT_DOUBLE_EQ(faults->reorder, 0.05);
  EXPECT_DOUBLE_EQ(faults->corrupt, 0.0001);
  EXPECT_DOUBLE_EQ(faults->mark, 0.03);
  EXPECT_EQ(faults->reorder_depth, 9u);
  EXPECT_EQ(faults->delay_min_ns, 50'000u);
  EXPECT_EQ(faults->delay_max_ns, 2'000'000u);
  EXPECT_EQ(faults->down_for_ns, 200'000'000u);
  EXPECT_EQ(faults->down_every_ns, 5'000'000'000u);
  EXPECT_EQ(faults->seed, 7u);
  EXPECT_EQ(faults->partitioned, (std::vector<Endpoint>{3, 5}));
}

TEST(ParseFaults, TakesTheEndsOfEveryRange) {
  EXPECT_EQ(*parse_faults(""), Faults());
  EXPECT_EQ(parse_faults("drop=0%")->drop, 0);
  EXPECT_EQ(parse_faults("drop=100%")->drop, 1);
  EXPECT_EQ(parse_faults("seed=18446744073709551615")->seed, ~std::uint64_t{0});
  EXPECT_EQ(parse_faults("reorder-depth=1024")->reorder_depth, 1024u);
  EXPECT_EQ(parse_faults("delay=1000s")->delay_max_ns, Faults::kMaxNs);
  EXPECT_EQ(parse_faults("delay=3ns..3ns")->delay_min_ns, 3u);
  EXPECT_EQ(parse_faults("delay=1.5us")->delay_min_ns, 1500u);
}

TEST(ParseFaults, NamesTheWrongPartAndWhatIsAllowed) {
  struct Wrong {
    std::string_view text, part, allowed;
  };
  constexpr std::string_view kRate = "from 0% to 100%", kKeys = "one of drop, repeat",
                             kDelay = "at most 1000s", kDown = "as 200ms/5s";
  for (const Wrong& wrong : std::vector<Wrong>{
           {"drop", "drop", kKeys},
           {"lose=1%", "lose=1%", kKeys},
           {"seed=1,,drop=1%", "", kKeys},
           {"drop=1%,", "", kKeys},
           {" drop=1%", " drop=1%", kKeys},
           {"drop=1", "drop=1", kRate},
           {"drop=%", "drop=%", kRate},
           {"drop=nan%", "drop=nan%", kRate},
           {"drop=inf%", "drop=inf%", kRate},
           {"drop=-0%", "drop=-0%", kRate},
           {"repeat=-1%", "repeat=-1%", kRate},
           {"reorder=100.1%", "reorder=100.1%", kRate},
           {"corrupt=1e999%", "corrupt=1e999%", kRate},
           {"corrupt=1 %", "corrupt=1 %", kRate},
           {"mark=5", "mark=5", kRate},
           {"drop=1%,drop=1%", "drop=1%", "twice"},
           {"reorder-depth=0", "reorder-depth=0", "1 to 1024"},
           {"reorder-depth=1025", "reorder-depth=1025", "1 to 1024"},
           {"reorder-depth=2.5", "reorder-depth=2.5", "1 to 1024"},
           {"delay=5", "delay=5", kDelay},
           {"delay=us", "delay=us", kDelay},
           {"delay=-1us", "delay=-1us", kDelay},
           {"delay=nanus", "delay=nanus", kDelay},
           {"delay=2ms..1ms", "delay=2ms..1ms", kDelay},
           {"delay=1ms..", "delay=1ms..", kDelay},
           {"delay=1ms..2ms..3ms", "delay=1ms..2ms..3ms", kDelay},
           {"delay=1001s", "delay=1001s", kDelay},
           {"delay=1e300s", "delay=1e300s", kDelay},
           {"down=200ms", "down=200ms", kDown},
           {"down=0s/5s", "down=0s/5s", kDown},
           {"down=5s/5s", "down=5s/5s", kDown},
           {"down=1s/5s/6s", "down=1s/5s/6s", kDown},
           {"seed=-1", "seed=-1", "from 0 to"},
           {"seed=18446744073709551616", "seed=18446744073709551616", "from 0 to"},
           {"partition=", "partition=", "endpoint's number"},
           {"partition=3+3", "partition=3+3", "endpoint's number"},
           {"partition=3+", "partition=3+", "endpoint's number"},
           {"partition=4294967296", "partition=4294967296", "endpoint's number"},
       }) {
    const Result<Faults> faults = parse_faults(wrong.text);
    ASSERT_FALSE(faults) << wrong.text;
    EXPECT_EQ(faults.error().code(), Code::invalid_argument);
    EXPECT_THAT(faults.error().message(), HasSubstr("\"" + std::string(wrong.part) + "\""));
    EXPECT_THAT(faults.error().message(), HasSubstr(std::string(wrong.allowed)));
  }
}

// The bounds are about five standard deviations.
TEST(DrawnFates, HaveTheRatesThatWereAskedFor) {
  for (const std::uint64_t seed : {0, 1, 7}) {
    std::array<double, 4> counts = {};
    std::array<double, 8> depths = {};
    double delay = 0;
    for (const Fate& fate : fates_of({.seed = seed,
                            .drop = 0.01,
                            .repeat = 0.1,
                            .reorder = 0.5,
                            .corrupt = 0.001,
                            .delay_min_ns = 1000,
                            .delay_max_ns = 3000},
                                     100'000)) {
      counts[0] += fate.drops;
      counts[1] += fate.repeats;
      counts[2] += fate.behind != 0;
      counts[3] += fate.corrupts;
      if (fate.behind != 0) ++depths.at(fate.behind - 1);
      ASSERT_TRUE(fate.delay_ns >= 1000 && fate.delay_ns <= 3000);
      delay += static_cast<double>(fate.delay_ns);
    }
    EXPECT_NEAR(counts[0], 1000, 160);
    EXPECT_NEAR(counts[1], 10'000, 480);
    EXPECT_NEAR(counts[2], 50'000, 800);
    EXPECT_NEAR(counts[3], 100, 50);
    for (const double depth : depths) EXPECT_NEAR(depth, 6250, 400);
    EXPECT_NEAR(delay / 100'000, 2000, 10);
  }
}

TEST(DrawnFates, AreThoseOfTheSeedAndTheStream) {
  const Faults faults = {.seed = 7, .drop = 0.5, .reorder = 0.5, .delay_max_ns = 1000};
  Faults other = faults;
  other.seed = 8;
  const auto fates = fates_of(faults, 1000);
  EXPECT_EQ(equal_fates(fates, fates_of(faults, 1000)), 1000u);
  EXPECT_LT(equal_fates(fates, fates_of(other, 1000)), 10u);
  EXPECT_LT(equal_fates(fates, fates_of(faults, 1000, 1)), 10u);
}

// Computed in Python: another compiler or library does not change them unseen.
TEST(DrawnFates, AreTheSameEverywhere) {
  FaultWords words(7, 3);
  EXPECT_EQ(words.next(), 93672643488777996u);
  EXPECT_EQ(words.next(), 16771126121603968389u);
}

TEST(DrawnFates, OfOneKindDoNotDependOnTheRatesOfOthers) {
  const auto few = fates_of({.drop = 0.1, .reorder = 0.01}, 1000);
  const auto many = fates_of({.drop = 0.1, .repeat = 0.9, .reorder = 0.9, .corrupt = 0.9}, 1000);
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i].drops, many[i].drops);
    if (few[i].behind != 0) {
      EXPECT_EQ(few[i].behind, many[i].behind);
    }
  }
}

TEST(DrawnFates, MarksAreDrawnByThemselves) {
  const auto plain = fates_of({.drop = 0.1, .reorder = 0.1}, 10'000);
  const auto marked = fates_of({.drop = 0.1, .reorder = 0.1, .mark = 0.05}, 10'000);
  EXPECT_EQ(equal_fates(plain, marked), 10'000u);
  const auto marks = [](const Fate& fate) { return fate.marks; };
  EXPECT_EQ(std::count_if(plain.begin(), plain.end(), marks), 0);
  EXPECT_NEAR(static_cast<double>(std::count_if(marked.begin(), marked.end(), marks)), 500, 110);
}

TEST(DrawnFates, AreNeverOrAlwaysAtTheEnds) {
  for (const Fate& fate : fates_of({.drop = 0, .repeat = 1, .reorder = 1, .corrupt = 0}, 1000)) {
    ASSERT_TRUE(!fate.drops && !fate.corrupts && fate.repeats == 1 && fate.behind != 0);
    ASSERT_EQ(fate.delay_ns, 0u);
  }
}

}  // namespace
}  // namespace gdakit::softnic
