#include "core/base/connect_choice.h"

#include <gtest/gtest.h>

namespace gdakit {
namespace {

// PEs 0 to 5 on three hosts of two.
PlaceOfPe place(int pe) { return {pe, pe / 2, pe % 2}; }

// The peers of `pe`, as "0 2 4".
std::string peers(const char* text, int pe) {
  const auto choice = ConnectChoice::parse(text);
  if (!choice) return "refused";
  std::string found;
  for (int other = 0; other < 6; ++other) {
    if (!choice->connects(place(pe), place(other))) continue;
    EXPECT_TRUE(choice->connects(place(other), place(pe))) << "not mutual";
    found += (found.empty() ? "" : " ") + std::to_string(other);
  }
  return found;
}

TEST(ConnectChoice, AllAndNone) {
  EXPECT_EQ(peers("all", 2), "0 1 2 3 4 5");
  EXPECT_EQ(peers("none", 2), "2");
}

TEST(ConnectChoice, RailsAreTheHostAndTheSamePlaceElsewhere) {
  EXPECT_EQ(peers("rails", 2), "0 2 3 4");
  EXPECT_EQ(peers("rails", 5), "1 3 4 5");
}

TEST(ConnectChoice, ThoseOfAListHaveAllAndTheOthersHaveThem) {
  EXPECT_EQ(peers("0", 0), "0 1 2 3 4 5");
  EXPECT_EQ(peers("0", 3), "0 3");
  EXPECT_EQ(peers("0-1,4", 2), "0 1 2 4");
  EXPECT_EQ(peers("7", 2), "2") << "whether there is a PE 7, who knows the job says";
}

TEST(ConnectChoice, KnowsTheLastNumberOfItsList) {
  EXPECT_EQ(ConnectChoice::parse("all")->last_named(), -1);
  EXPECT_EQ(ConnectChoice::parse("3,0-2")->last_named(), 3);
}

TEST(ConnectChoice, KeepsItsText) { EXPECT_EQ(ConnectChoice::parse("0-3,8")->text(), "0-3,8"); }

TEST(ConnectChoice, RefusesWhatIsNoChoice) {
  for (const char* const text :
       {"", "some", "3-1", "1,", ",1", "-1", "1-", "0x1", "65536", "1 2"}) {
    EXPECT_FALSE(ConnectChoice::parse(text)) << text;
  }
}

}  // namespace
}  // namespace gdakit
