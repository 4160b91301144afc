#include "sim/explore/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Event load_of(const char* where, std::uint64_t value, std::int32_t reads_from) {
  Event event;
  event.kind = EventKind::load;
  event.what = "load.acquire.system";
  event.where = where;
  event.bytes = 4;
  event.value = value;
  event.reads_from = reads_from;
  return event;
}

Trace sample() {
  Trace trace;
  trace.lanes = {{"PE 0 thread 0", "PE 0"}, {"NIC", "PE 0"}};
  Event store;
  store.kind = EventKind::store;
  store.what = "store.weak";
  store.where = "flag";
  store.bytes = 8;
  store.value = 255;
  trace.events.push_back(store);
  Event load = load_of("flag", 0, kReadInitial);
  load.lane = 1;
  load.stale_by = 2;
  load.order = "SignalBeforeData";
  load.file = "/somewhere/device/ring.h";
  load.line = 88;
  load.follows = {0, 7};
  trace.events.push_back(load);
  Event note;
  note.what = "the doorbell is lost";
  note.lane = 1;
  trace.events.push_back(note);
  return trace;
}

TEST(Text, ALineSaysAllThatIsKnown) {
  const Trace trace = sample();
  EXPECT_EQ(event_line(trace, 0), "   0  PE 0 thread 0  store.weak              flag = 0xff");
  EXPECT_EQ(event_line(trace, 1),
            "   1  NIC            load.acquire.system     flag = 0x0  reads the initial value, "
            "stale by 2  follows #0, #7  [SignalBeforeData]  ring.h:88");
  EXPECT_EQ(event_line(trace, 2), "   2  NIC            the doorbell is lost");
}

TEST(Text, AReadModifyWriteShowsBothValues) {
  Trace trace = sample();
  trace.events[0].kind = EventKind::rmw;
  trace.events[0].old_value = 16;
  trace.events[0].reads_from = 5;
  EXPECT_THAT(event_line(trace, 0), HasSubstr("flag 0x10 -> 0xff  reads #5"));
}

TEST(Text, ALaneWithoutANameStillHasANumber) {
  Trace trace = sample();
  trace.lanes.clear();
  EXPECT_THAT(event_line(trace, 1), HasSubstr("lane 1"));
}

TEST(Text, RelevantAreTheMissingEdgeStaleReadsAndTheEnd) {
  Trace trace = sample();
  trace.events.clear();
  for (int i = 0; i < 100; ++i) trace.events.push_back(load_of("x", 1, kReadNothing));
  trace.events[50].stale_by = 1;
  trace.events[50].reads_from = 20;
  trace.missing.push_back({10, 60, "nothing orders them"});
  EXPECT_THAT(relevant_events(trace, 6), ElementsAre(10, 20, 50, 60, 98, 99));
  EXPECT_THAT(relevant_events(trace, 2), ElementsAre(10, 60));
  EXPECT_EQ(relevant_events(trace, 1000).size(), 100u);
  const std::string text = trace_text(trace, 6);
  EXPECT_THAT(text, HasSubstr("... 10 events ...\n  10 "));
  EXPECT_THAT(text, HasSubstr("missing: between #10 and #60: nothing orders them"));
  EXPECT_THAT(trace_text(trace), Not(HasSubstr("...")));
}

TEST(Text, KnobsAreNamedAndNothingIsFine) {
  Trace trace;
  EXPECT_EQ(trace_text(trace), "");
  trace.knobs = {"inbound order: none"};
  EXPECT_EQ(trace_text(trace), "  knob: inbound order: none\n");
}

}  // namespace
}  // namespace gdakit::sim
