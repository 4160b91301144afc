// The parts of the example that need no job: text, network, reference.
#include <bit>
#include <cstring>
#include <limits>
#include <set>

#include <gmock/gmock.h>

#include "examples/moe_dispatch/model.h"
#include "examples/moe_dispatch/reference.h"
#include "examples/moe_dispatch/text.h"

namespace moe {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr Shape kShape{.pes = 2, .experts = 32, .top_k = 8, .hidden = 100, .batch = 7};

const Words kWords = {"the", "program", "is", "free"};

std::vector<float> outputs_of(const Words& words, const Shape& shape) {
  std::vector<float> all;
  for (const std::string& word : words) {
    const std::vector<float> one = reference_output(word, shape);
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

std::string error_of(const gdakit::Result<void>& result) {
  return result ? "no error" : result.error().message();
}

TEST(Text, IsSplitIntoWordsInLowerCaseWithoutPunctuation) {
  EXPECT_THAT(split_words("  The GNU's\n(free) -- program,\t3.0 ", 0),
              ElementsAre("the", "gnus", "free", "program", "30"));
  EXPECT_THAT(split_words("stra\xc3\x9f"
                          "e",
                          0),
              ElementsAre("stra\xc3\x9f"
                          "e"));
  EXPECT_THAT(split_words(" \n... ", 0), IsEmpty());
}

TEST(Text, IsCutAtTheLimit) {
  EXPECT_THAT(split_words("a b c", 2), ElementsAre("a", "b"));
  EXPECT_THAT(split_words("a b c", 9), ElementsAre("a", "b", "c"));
}

TEST(Text, SharesAreContiguousAndCoverAll) {
  for (const int pes : {1, 2, 3, 4, 7}) {
    const std::string* next = kWords.data();
    for (int pe = 0; pe < pes; ++pe) {
      const auto share = share_of(kWords, pe, pes);
      EXPECT_EQ(share.data(), next);
      EXPECT_LE(share.size(), (kWords.size() + pes - 1) / pes);
      next += share.size();
    }
    EXPECT_EQ(next, kWords.data() + kWords.size());
  }
}

TEST(Network, RoutesToDistinctExpertsThatExist) {
  for (const std::uint32_t experts : {1u, 2u, 8u, 9u, 32u, 65536u}) {
    const std::uint32_t top_k = std::min(experts, kMaxTopK);
    for (Token token = 0; token < 1000; ++token) {
      const Route route = route_of(mix(token), experts, top_k);
      const std::set<std::uint32_t> distinct(route.expert, route.expert + top_k);
      ASSERT_EQ(distinct.size(), top_k);
      ASSERT_LT(*distinct.rbegin(), experts);
    }
  }
}

TEST(Network, ReachesEveryExpert) {
  std::set<std::uint32_t> reached;
  for (Token token = 0; token < 1000; ++token) {
    reached.insert(route_of(mix(token), 32, 1).expert[0]);
  }
  EXPECT_EQ(reached.size(), 32u);
}

// Doubles hold everything exactly beyond doubt: floats must come to the same numbers, whatever the
// order of the sum.
TEST(Network, IsExactInFloats) {
  for (Token token = 0; token < 300; ++token) {
    for (std::uint32_t first = 0; first < 144; ++first) {  // every a with every b
      double exact = 0;
      float forward = 0;
      float backward = 0;
      for (std::uint32_t j = 0; j < kMaxTopK; ++j) {
        const std::uint32_t k = kMaxTopK - 1 - j;
        const float x = embed(mix(token), first);
        exact += static_cast<double>(weight(j)) *
                 (static_cast<double>((first + j) % 16 + 1) / 8 * static_cast<double>(x) +
                  static_cast<double>((first + j) % 9) - 4);
        forward += weight(j) * apply_expert(first + j, x);
        backward += weight(k) * apply_expert(first + k, x);
      }
      ASSERT_EQ(static_cast<double>(forward), exact);
      ASSERT_EQ(forward, backward);
    }
  }
}

TEST(Network, ExpertsAndTokensDiffer) {
  std::set<float> answers;
  for (std::uint32_t expert = 0; expert < 32; ++expert) {
    answers.insert(apply_expert(expert, 13.0f / 64));
  }
  EXPECT_EQ(answers.size(), 32u);
  EXPECT_NE(reference_output("free", kShape), reference_output("program", kShape));
}

TEST(Verify, AcceptsTheReference) {
  EXPECT_EQ(error_of(verify(kWords, 0, outputs_of(kWords, kShape), kShape)), "no error");
}

TEST(Verify, AcceptsNoWordsAtAll) { EXPECT_EQ(error_of(verify({}, 0, {}, kShape)), "no error"); }

TEST(Verify, NamesTheTokenTheValueAndBothNumbers) {
  std::vector<float> outputs = outputs_of(kWords, kShape);
  const float expected = outputs[2 * 100 + 17];
  outputs[2 * 100 + 17] = 42;
  char number[32];
  std::snprintf(number, sizeof(number), "expected %.9g (", static_cast<double>(expected));
  const std::string error = error_of(verify(kWords, 1000, outputs, kShape));
  EXPECT_THAT(error, HasSubstr("token 1002 (is), value 17: got 42 (0x42280000), "));
  EXPECT_THAT(error, HasSubstr(number));
  EXPECT_THAT(error, HasSubstr("; 1 of 4 * 100 values"));
}

TEST(Verify, SeesTheLowestBitOfEveryValue) {
  const std::vector<float> right = outputs_of(kWords, kShape);
  for (std::size_t i = 0; i < right.size(); ++i) {
    std::vector<float> outputs = right;
    outputs[i] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(outputs[i]) ^ 1);
    ASSERT_THAT(error_of(verify(kWords, 0, outputs, kShape)), HasSubstr("1 of 4 * 100 values"));
  }
}

TEST(Verify, SeesNotANumberAndCountsAll) {
  std::vector<float> outputs(kWords.size() * kShape.hidden,
                             std::numeric_limits<float>::quiet_NaN());
  EXPECT_THAT(error_of(verify(kWords, 0, outputs, kShape)), HasSubstr("400 of 4 * 100 values"));
}

TEST(Verify, SeesTokensThatChangedPlaces) {
  const Words swapped = {"program", "the", "is", "free"};
  EXPECT_THAT(error_of(verify(kWords, 0, outputs_of(swapped, kShape), kShape)),
              HasSubstr("token 0 (the), value "));
}

TEST(Verify, SeesAnAnswerThatIsMissing) {
  Shape fewer = kShape;
  fewer.top_k = 7;
  EXPECT_THAT(error_of(verify(kWords, 0, outputs_of(kWords, fewer), kShape)),
              HasSubstr("token 0 (the), value "));
}

}  // namespace
}  // namespace moe
