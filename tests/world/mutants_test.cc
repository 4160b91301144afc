// Every order of the protocol is needed: each mutant is found within 1,000 executions, or somebody
// has said why it changes nothing, and 1,000 of the scenario that he names and 100 of each other
// one do not contradict; no place of device/ is passed by no scenario; and the page that says so is
// current.
#include "sim/world/mutants/mutants.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "core/base/annotate.h"
#include "sim/explore/explorer.h"
#include "sim/explore/scenario_list.h"
#include "sim/world/mutants/unvisited.h"
#include "sim/world/orders.h"

namespace gdakit::sim {
namespace {

class Mutants : public testing::Test {
 protected:
  static const MutantReport& report() {
    static const MutantReport kReport = run_mutants({.sources = "."});
    return kReport;
  }
  void SetUp() override {
    if (kAddressSanitizer || kThreadSanitizer) {
      GTEST_SKIP() << "a hundred thousand executions take too long under a sanitizer";
    }
  }
};

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST_F(Mutants, AreFoundOrArgued) {
  EXPECT_GT(report().first_order.size(), 100u);
  EXPECT_TRUE(report().defects().empty()) << joined(report().defects());
}

TEST_F(Mutants, AreFoundWithinAThousandExecutions) {
  for (const MutantResult& mutant : report().first_order) {
    EXPECT_LE(mutant.first_kill, 1000u) << mutant.text();
  }
}

TEST_F(Mutants, OfEveryNamedOrderAreAmongThem) {
  for (const NamedOrder& order : named_orders()) {
    const bool removed = std::any_of(
        report().first_order.begin(), report().first_order.end(), [&](const MutantResult& mutant) {
          return mutant.sites[0].name == order.name && mutant.mutations[0].op == Operator::remove &&
                 mutant.killed();
        });
    EXPECT_TRUE(removed) << order.name << " can be left out, or no scenario comes past it";
  }
}

// Kill rates differ from machine to machine as little as anything else, but they change with every
// change of a scenario; what must be current is which mutants there are and who finds them.
TEST_F(Mutants, StandInTheDocumentation) {
  std::ifstream file("docs/mutants.md");
  std::stringstream page;
  page << file.rdbuf();
  EXPECT_EQ(page.str(), to_markdown(report())) << "run: gdakit mutants --markdown docs/mutants.md";
}

TEST(MutantsRunner, FindsAMutantThatIsKnownToBeWrong) {
  MutantOptions options;
  options.only = "fence WqeBeforeDoorbellRecord: remove";
  options.executions = 200;
  const MutantReport report = run_mutants(options);
  ASSERT_EQ(report.first_order.size(), 1u);
  EXPECT_TRUE(report.first_order[0].killed());
  EXPECT_GT(report.first_order[0].kill_rate, 0.1);
}

// What device/order.h says of each order.
TEST(NamedOrders, BreakTheScenarioThatTheyName) {
  for (const NamedOrder& order : named_orders()) {
    const auto entry =
        std::find_if(scenario_list().begin(), scenario_list().end(),
                     [&](const ScenarioEntry& one) { return one.name == order.breaks; });
    ASSERT_NE(entry, scenario_list().end()) << order.breaks;
    const auto subject = entry->make({.gpu = GpuModel::hopper, .without = std::string(order.name)});
    ExploreOptions options;
    options.schedules = 1000;
    options.shrink = false;
    EXPECT_FALSE(explore(*subject, options).passed())
        << order.breaks << " passes without " << order.name;
  }
}

TEST(NamedOrders, AreAllOfTheHeader) {
  std::ifstream file("device/order.h");
  std::stringstream header;
  header << file.rdbuf();
  const std::string text = header.str();
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(" breaks = ", at)) != text.npos; ++at) ++count;
  EXPECT_EQ(count, named_orders().size());
}

TEST(MachineCalls, AreFoundWithTheLinesThatTheyTake) {
  const auto calls = mutants::machine_calls(
      "// m.load(x);\n"
      "  const auto a = m_.load(order::X{}, f(b),\n"
      "                         c);\n"
      "  if (pe.machine().fetch_add(order::Y{}, p, 1)) m.sync_warp(mask);\n"
      "  m.spin(site); system.load(x); m_.copy_in(to, from, 8);\n");
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0].first_line, 2u);
  EXPECT_EQ(calls[0].last_line, 3u);
  EXPECT_EQ(calls[0].text, "const auto a = m_.load(order::X{}, f(b),");
  EXPECT_EQ(calls[1].first_line, 4u);
  EXPECT_EQ(calls[2].last_line, 4u);
}

TEST(UnvisitedSites, AreAllWhereNothingWasVisited) {
  const auto found = mutants::unvisited_sites(".", {});
  EXPECT_GT(found.size(), 100u);
  EXPECT_TRUE(found.front().ends_with("is passed by no scenario")) << found.front();
}

TEST(MutantsRunner, CountsASurvivorWithoutAnArgumentAsADefect) {
  MutantReport report;
  report.first_order.resize(1);
  report.first_order[0].mutations = {{{"X", "device/x.h", 1, SiteOp::fence}, Operator::remove}};
  EXPECT_EQ(report.defects().size(), 1u);
  report.first_order[0].argument = "because";
  EXPECT_TRUE(report.defects().empty());
}

}  // namespace
}  // namespace gdakit::sim
