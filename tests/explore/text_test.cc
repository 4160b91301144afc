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

Event poll(std::uint32_t lane, const char* where, std::uint64_t value, std::int32_t reads_from) {
  Event event = load_of(where, value, reads_from);
  event.lane = lane;
  return event;
}

// A user's thread waits for a flag, of which the NIC writes two values; the NIC looks at a record.
Trace kernel_and_protocol() {
  Trace trace;
  trace.lanes = {{"PE 0 thread 0", "PE 0"}, {"NIC", "PE 0"}};
  Event write = poll(1, "flag", 1, kReadNothing);
  write.kind = EventKind::dma_write;
  trace.events = {poll(0, "flag", 0, kReadInitial),
                  poll(1, "record", 0, kReadInitial),
                  poll(0, "flag", 0, kReadInitial),
                  poll(1, "record", 0, kReadInitial),
                  poll(0, "flag", 0, kReadInitial),
                  write,
                  poll(0, "flag", 1, 5),
                  poll(1, "record", 0, kReadInitial),
                  poll(0, "flag", 1, 5)};
  for (Event& event : trace.events) event.of_user = event.where == "flag";
  return trace;
}

TEST(Text, TheUsersEventsAreShownWithoutRepeatedPolls) {
  const Trace trace = kernel_and_protocol();
  EXPECT_THAT(relevant_events(trace, 40), ElementsAre(0, 5, 6));
  EXPECT_THAT(trace_text(trace, 40), Not(HasSubstr("record")));
  EXPECT_THAT(trace_text(trace), HasSubstr("record")) << "all of them";
}

TEST(Text, WithoutAUserTheProtocolIsShown) {
  Trace trace = kernel_and_protocol();
  for (Event& event : trace.events) event.of_user = false;
  EXPECT_THAT(relevant_events(trace, 40), ElementsAre(0, 1, 5, 6));
}

TEST(Text, WhatGotAheadAtAMissingEdgeIsShown) {
  Trace trace;
  for (int i = 0; i < 8; ++i) trace.events.push_back(poll(0, "x", 1, kReadNothing));
  trace.events[0].of_user = true;
  trace.events[5] = poll(1, "flag", 1, 3);
  trace.events[6] = poll(1, "data", 0, kReadInitial);
  trace.missing.push_back({2, 6, "nothing orders them."});
  EXPECT_THAT(relevant_events(trace, 40), ElementsAre(0, 2, 3, 5, 6));
}

TEST(Text, ASentenceIsSaidOnce) {
  Trace trace = sample();
  trace.missing = {{0, 1, "one."}, {0, 2, "one."}, {1, 2, "two."}};
  EXPECT_THAT(trace_text(trace),
              HasSubstr("  missing: between #0 and #1 (and 1 more like them): one.\n"
                        "  missing: between #1 and #2: two.\n"));
  trace.verdict = "two";
  EXPECT_THAT(trace_text(trace),
              HasSubstr("  missing: between #1 and #2, as the first line says\n"));
}

TEST(Text, KnobsAreNamedAndNothingIsFine) {
  Trace trace;
  EXPECT_EQ(trace_text(trace), "");
  trace.knobs = {"inbound order: none"};
  EXPECT_EQ(trace_text(trace), "  knob: inbound order: none\n");
}

}  // namespace
}  // namespace gdakit::sim
