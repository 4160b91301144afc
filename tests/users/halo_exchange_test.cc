// A halo exchange as a user writes it, right and with defects: the report speaks of its lines.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/test.h"

namespace gdakit::users {
namespace {

using sim::Exploration;
using sim::FindingKind;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Word = std::uint64_t;

constexpr Word kSteps = 2;
constexpr Word kFirstValue = 10;

struct Halo {
  Word* edge;
  Word* halo;
  Word* arrived;
  Word* taken;
  Word* seen;

  explicit Halo(sim::World& world)
      : edge(world.allocate<Word>("edge", 1)),
        halo(world.allocate<Word>("halo", 1)),
        arrived(world.allocate<Word>("arrived", 1, sim::RegionKind::signal)),
        taken(world.allocate<Word>("taken", 1, sim::RegionKind::signal)),
        seen(world.allocate<Word>("seen", kSteps)) {}
};

enum class Ack { right, none, awaited_in_vain };

// PE 0 sends an edge in every step, PE 1 takes it from its halo and acknowledges it.
template <Ack kAck>
struct Exchange {
  static constexpr std::uint32_t kSendLine = __LINE__ + 7, kWaitLine = __LINE__ + 10;
  Halo at;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (Word step = 1; step <= kSteps && pe.my_pe() == 0; ++step) {
      m.store_weak(at.edge, kFirstValue + step);
      pe.put_signal(at.halo, at.edge, 1, at.arrived, step, SignalOp::set, 1);
      if constexpr (kAck != Ack::none) {
        // The next step overwrites the halo.
        pe.wait_until(at.taken, Compare::ge, step);
      }
    }
    for (Word step = 1; step <= kSteps && pe.my_pe() == 1; ++step) {
      pe.wait_until(at.arrived, Compare::ge, step);
      m.store_weak(at.seen + step - 1, m.load(order::RelaxedSystem{}, at.halo));
      if constexpr (kAck == Ack::right) pe.signal(at.taken, step, SignalOp::set, 0);
    }
    pe.quiet();
  }
};

template <Ack kAck>
Exploration explored(bool by_value = true) {
  sim::World world("halo", {.pes = 2});
  const Halo at(world);
  world.launch({.blocks = 1, .threads = 1}, Exchange<kAck>{at});
  world.check([=](sim::After& after) {
    for (Word step = 1; step <= kSteps; ++step) {
      const std::string name = "the halo of step " + std::to_string(step);
      const Word got = after.value(1, at.seen + step - 1);
      if (by_value) {
        after.expect_eq(name, got, kFirstValue + step);
      } else {
        after.expect(got == kFirstValue + step, name + " is what PE 0 sent");
      }
    }
  });
  return sim::explore_in_test(world, {.schedules = 500});
}

std::string at_line(std::uint32_t line) { return "halo_exchange_test.cc:" + std::to_string(line); }

TEST(HaloExchange, PassesWithTheAck) {
  const Exploration found = explored<Ack::right>();
  EXPECT_TRUE(found.passed()) << found.report();
}

TEST(HaloExchange, TheReportOfAMissingAckIsOfTheKernel) {
  const Exploration found = explored<Ack::none>();
  ASSERT_FALSE(found.passed());
  const std::string report = found.report();
  EXPECT_EQ(found.failure->result.text, "does not hold: the halo of step 1 is 12, wanted 11");
  EXPECT_THAT(report, ContainsRegex("store.weak +PE 1 seen = 0xc +halo_exchange_test.cc:"));
  EXPECT_THAT(report, ContainsRegex("load.relaxed.system +PE 1 halo = 0xc +reads #[0-9]+ +"
                                    "halo_exchange_test.cc:"));
  EXPECT_THAT(report, ContainsRegex("put_signal 8 bytes to PE 1, set 2 +PE 1 halo +" +
                                    at_line(Exchange<Ack::none>::kSendLine)));
  EXPECT_THAT(report, ContainsRegex("host +check +PE 1 seen = 0xc +reads #"));
  EXPECT_THAT(report,
              ContainsRegex("missing: between #[0-9]+ and #[0-9]+: PE 1 block 0 thread 0 has never "
                            "seen 0xb in PE 1 halo, which #[0-9]+ wrote: PE 1 NIC overwrote it "
                            "with 0xc for put_signal at " +
                            at_line(Exchange<Ack::none>::kSendLine)));
}

TEST(HaloExchange, TheReportLeavesTheProtocolOut) {
  const std::string report = explored<Ack::none>().report();
  for (const char* own : {" record", "CQE", "WQE", "packet"}) {
    EXPECT_THAT(report, Not(HasSubstr(own))) << report;
  }
  EXPECT_LT(std::count(report.begin(), report.end(), '\n'), 40) << report;
}

TEST(HaloExchange, AnExpectationTellsWhatItsValuesWere) {
  const Exploration found = explored<Ack::none>(false);
  ASSERT_FALSE(found.passed());
  EXPECT_EQ(found.failure->result.text,
            "does not hold: the halo of step 1 is what PE 0 sent; PE 1 seen is 0xc");
}

struct Nothing {
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe&) const {}
};

// "" if the expectation holds.
template <class Got, class Wanted>
std::string complaint(Got got, Wanted wanted) {
  sim::World world("values", {.pes = 1});
  world.launch({.blocks = 1, .threads = 1}, Nothing{});
  world.check([=](sim::After& after) { after.expect_eq("it", got, wanted); });
  const Exploration found = sim::explore_in_test(world, {.schedules = 1});
  return found.passed() ? "" : found.failure->result.text;
}

TEST(ExpectEq, ComparesNumbersAsNumbers) {
  EXPECT_EQ(complaint(Word{42}, 42), "");
  EXPECT_EQ(complaint(std::uint8_t{1}, 257), "does not hold: it is 1, wanted 257");
  EXPECT_EQ(complaint(~std::uint64_t{0}, -1),
            "does not hold: it is 18446744073709551615, wanted -1");
  EXPECT_EQ(complaint(-1, -1L), "");
  EXPECT_EQ(complaint(0.5, 1), "does not hold: it is 0.500000, wanted 1");
  EXPECT_EQ(complaint(true, false), "does not hold: it is true, wanted false");
}

TEST(HaloExchange, AHangNamesTheCallsThatWait) {
  const Exploration found = explored<Ack::awaited_in_vain>();
  ASSERT_FALSE(found.passed());
  EXPECT_EQ(found.failure->result.finding, FindingKind::hang);
  const std::string report = found.report();
  EXPECT_THAT(report, StartsWith("halo: hang: nobody can go on:\n"));
  EXPECT_THAT(report, HasSubstr("PE 0 block 0 thread 0 waits for a word that another PE writes, in "
                                "wait_until at " +
                                at_line(Exchange<Ack::awaited_in_vain>::kWaitLine) + "\n"));
}

// The page begins at the read that came too late.
TEST(HaloExchange, TheTraceHasItsCalls) {
  const Exploration found = explored<Ack::none>();
  ASSERT_FALSE(found.passed());
  const sim::Trace& trace = found.failure->trace;
  const auto calls =
      std::count_if(trace.events.begin(), trace.events.end(),
                    [](const sim::Event& event) { return event.kind == sim::EventKind::call; });
  EXPECT_EQ(calls, 6) << "two sends, two waits, two quiets";
  for (const sim::Event& event : trace.events) {
    if (event.call == sim::kNoCall) continue;
    const sim::Event& call = trace.events[static_cast<std::size_t>(event.call)];
    EXPECT_EQ(call.kind, sim::EventKind::call);
    EXPECT_EQ(call.lane, event.lane);
  }
}

}  // namespace
}  // namespace gdakit::users
