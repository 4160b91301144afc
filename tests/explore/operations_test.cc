#include "sim/explore/operations.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gdakit::sim {
namespace {

using testing::ElementsAre;

enum : std::uint32_t { kThread, kNic };

Event event_of(std::uint32_t lane, EventKind kind, const char* where = "", const char* part = "") {
  Event event;
  event.lane = lane;
  event.kind = kind;
  event.where = where;
  event.part = part;
  event.bytes = 8;
  if (kind == EventKind::dma_read) event.reads_from = kReadInitial;
  return event;
}

// A thread puts; meanwhile its NIC looks at the record, fetches two WQEs and reads the source.
Trace put() {
  Trace trace;
  trace.lanes = {{"PE 0 thread 0", "PE 0"}, {"PE 0 NIC", "PE 0"}};
  trace.events.push_back(event_of(kThread, EventKind::call));
  trace.events[0].what = "put_nbi 8 bytes to PE 1";
  trace.events[0].of_user = true;
  trace.events[0].line = 12;
  const auto in_call = [&](Event event) {
    event.call = 0;
    trace.events.push_back(event);
  };
  in_call(event_of(kThread, EventKind::store, "PE 0 queue 0 to PE 1 WQE 0", "WQE"));
  trace.events.push_back(event_of(kNic, EventKind::dma_read, "PE 0 record", "doorbell record"));
  in_call(event_of(kThread, EventKind::fence));
  for (const char* where : {"PE 0 queue 0 to PE 1 WQE 0", "PE 0 queue 0 to PE 1 WQE 0 +8",
                            "PE 0 queue 0 to PE 1 WQE 1"}) {
    trace.events.push_back(event_of(kNic, EventKind::dma_read, where, "WQE"));
  }
  trace.events.push_back(event_of(kNic, EventKind::dma_read, "PE 0 draft", "data"));
  trace.events.push_back(event_of(kNic, EventKind::dma_read, "PE 0 draft +0x8", "data"));
  return trace;
}

TEST(Operations, AreACallAndWhatItsThreadDoesInIt) {
  const std::vector<Operation> operations = operations_of(put());
  ASSERT_EQ(operations.size(), 4u);
  EXPECT_EQ(operations[0].what, "put_nbi 8 bytes to PE 1");
  EXPECT_THAT(operations[0].events, ElementsAre(0, 1, 3));
}

TEST(Operations, AreWhatANicDoesOneThingAfterTheOther) {
  const std::vector<Operation> operations = operations_of(put());
  ASSERT_EQ(operations.size(), 4u);
  EXPECT_EQ(operations[1].what, "looks at the doorbell record");
  EXPECT_TRUE(operations[1].is_dull);
  EXPECT_EQ(operations[2].what, "fetches 2 WQEs");
  EXPECT_THAT(operations[2].events, ElementsAre(4, 5, 6));
  EXPECT_FALSE(operations[2].is_dull);
  EXPECT_EQ(operations[3].what, "reads 16 bytes of PE 0 draft");
}

TEST(Operations, AUsersAccessesStandForThemselves) {
  Trace trace = put();
  trace.events.push_back(event_of(kThread, EventKind::load, "PE 0 draft", "data"));
  trace.events.back().of_user = true;
  EXPECT_EQ(operations_of(trace).size(), 4u);
}

TEST(Operations, WithoutAUserThereAreNone) {
  Trace trace = put();
  trace.events[0].of_user = false;
  EXPECT_TRUE(operations_of(trace).empty());
}

TEST(StartEvent, IsTheMissingOrderThenAStaleReadThenTheUsersLastEvent) {
  Trace trace = put();
  EXPECT_EQ(start_event(trace), 0u);
  trace.events[5].stale_by = trace.events[7].stale_by = 1;
  EXPECT_EQ(start_event(trace), 7u);
  trace.missing = {{1, 4, "because"}};
  EXPECT_EQ(start_event(trace), 4u);
  EXPECT_EQ(start_event(Trace{}), 0u);
}

}  // namespace
}  // namespace gdakit::sim
