#include "sim/explore/token.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/explore/generator.h"

namespace gdakit::sim {
namespace {

using testing::HasSubstr;
using Picks = std::vector<std::uint32_t>;

std::string why_not(const std::string& text) {
  const Result<Token> token = Token::parse(text);
  return token ? "it is one" : token.error().message();
}

void expect_round_trip(const Token& token) {
  const Result<Token> parsed = Token::parse(token.text());
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(*parsed, token) << token.text();
}

TEST(Token, RunsRoundTrip) {
  for (const StrategyKind kind : {StrategyKind::mixed, StrategyKind::random, StrategyKind::pct}) {
    for (const std::uint64_t number :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x5f3a}, ~std::uint64_t{0}}) {
      expect_round_trip(Token(SeededRun{kind, number, 3}));
      expect_round_trip(Token(SeededRun{kind, 3, number}));
    }
  }
}

// Tokens stand in old reports, so what they look like must never change.
TEST(Token, TextsStayTheSame) {
  EXPECT_EQ(Token(SeededRun{StrategyKind::mixed, 0x5f3a, 0x12c}).text(), "m-5f3a-12c-7T");
  EXPECT_EQ(Token(Picks{0, 0, 3, 0, 70}).text(), "vCCBlCBfB");
}

TEST(Token, ThatIsBoundIsRefusedForAnotherSubject) {
  for (Token token : {Token(SeededRun{StrategyKind::mixed, 1, 3}), Token(Picks{0, 3})}) {
    const std::string unbound = token.text();
    token.bind("explore a");
    EXPECT_EQ(token.text().size(), unbound.size());
    const Result<Token> same = Token::parse(token.text(), "explore a");
    ASSERT_TRUE(same) << same.error().message();
    EXPECT_EQ(*same, token);
    EXPECT_EQ(same->text(), token.text());
    for (const char* other : {"explore b", "explore a --without X", ""}) {
      EXPECT_FALSE(Token::parse(token.text(), other)) << other;
    }
    EXPECT_FALSE(Token::parse(unbound, "explore a"));
  }
  EXPECT_THAT(Token::parse("v9VB", "explore a").error().message(),
              HasSubstr("not a replay token of explore a: "));
}

TEST(Token, VectorsRoundTrip) {
  expect_round_trip(Token(Picks{}));
  expect_round_trip(Token(Picks{1}));
  expect_round_trip(Token(Picks{~0u, 0, 0, 31, 32, 33, 1}));
  Generator random(4, 4);
  for (int i = 0; i < 200; ++i) {
    Picks picks(random.below(3000));
    const std::uint32_t sparse = 1 + random.below(200);
    for (std::uint32_t& pick : picks) {
      if (random.below(sparse) == 0)
        pick = static_cast<std::uint32_t>(random.next() >> random.below(64));
    }
    expect_round_trip(Token(picks));
  }
}

TEST(Token, ZerosAtTheEndDoNotCount) {
  EXPECT_EQ(Token(Picks{0, 2, 0, 0}), Token(Picks{0, 2}));
  EXPECT_EQ(Token(Picks{0, 0}), Token());
  EXPECT_EQ(Token(Picks{0, 0}).text(), Token().text());
}

TEST(Token, AShrunkVectorIsShort) {
  Picks picks(700);
  picks[3] = 1;
  picks[250] = 2;
  picks[699] = 1;
  EXPECT_LE(Token(picks).text().size(), 13u);
}

TEST(Token, EveryMistypedCharacterIsFound) {
  Picks picks(90);
  picks[40] = 3;
  picks[89] = 1;
  for (const Token& token : {Token(picks), Token(SeededRun{StrategyKind::mixed, 0x5f3a, 0x12c})}) {
    const std::string text = token.text();
    for (std::size_t i = 0; i < text.size(); ++i) {
      for (const char other : std::string("0Aaz_-m.")) {
        std::string mistyped = text;
        if (mistyped[i] == other) continue;
        mistyped[i] = other;
        EXPECT_FALSE(Token::parse(mistyped)) << mistyped;
      }
      EXPECT_FALSE(Token::parse(text.substr(0, i))) << "cut off after " << i;
      std::string swapped = text;
      if (i + 1 < text.size() && text[i] != text[i + 1]) {
        std::swap(swapped[i], swapped[i + 1]);
        EXPECT_FALSE(Token::parse(swapped)) << swapped;
      }
    }
    EXPECT_FALSE(Token::parse(text + "A"));
  }
}

TEST(Token, ErrorsSayWhatIsWrong) {
  EXPECT_THAT(why_not(""), HasSubstr("empty"));
  EXPECT_THAT(why_not("q-1-2-aa"), HasSubstr("begins with v, m, r or p"));
  EXPECT_THAT(why_not("vAB"), HasSubstr("too short"));
  EXPECT_THAT(why_not("vAB CD"), HasSubstr("the character ' '"));
  EXPECT_THAT(why_not("m-5f3a-12c-AA"), HasSubstr("check sum"));
  EXPECT_THAT(why_not("m-5f3a-12c-AA"), HasSubstr("copy it"));
}

// With a sum that fits, so that it is the content which is refused.
TEST(Token, ContentThatMakesNoSenseIsRefused) {
  const auto with_sum = [](const std::string& body, std::size_t digits) {
    const std::string alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    std::string text = body + std::string(digits, 'A');
    const auto fits = [&] { return why_not(text).find("check sum") == std::string::npos; };
    for (std::size_t i = 0; i < (std::size_t{1} << (6 * digits)) && !fits(); ++i) {
      for (std::size_t digit = 0, rest = i; digit < digits; ++digit, rest /= 64) {
        text[body.size() + digit] = alphabet[rest % 64];
      }
    }
    return text;
  };
  EXPECT_THAT(why_not(with_sum("m-xyz-12c-", 2)), HasSubstr("no number"));
  EXPECT_THAT(why_not(with_sum("m-1-11111111111111111-", 2)), HasSubstr("no number"));
  EXPECT_THAT(why_not(with_sum("m-1-", 2)), HasSubstr("should follow"));
  EXPECT_THAT(why_not(with_sum("mm-1-2-", 2)), HasSubstr("should follow"));
  EXPECT_THAT(why_not(with_sum("r-1--", 2)), HasSubstr("no number"));
}

TEST(StrategyKind, NamesRoundTripAndOthersAreRefused) {
  for (const StrategyKind kind :
       {StrategyKind::mixed, StrategyKind::random, StrategyKind::pct, StrategyKind::exhaustive}) {
    const Result<StrategyKind> named = strategy_named(strategy_name(kind));
    ASSERT_TRUE(named);
    EXPECT_EQ(*named, kind);
  }
  const Result<StrategyKind> none = strategy_named("dfs");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message(), HasSubstr("mixed, random, pct and exhaustive"));
}

}  // namespace
}  // namespace gdakit::sim
