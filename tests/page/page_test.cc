#include "sim/explore/page.h"

#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/page/sample_trace.h"

namespace gdakit::sim {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string page_of(const Trace& trace) {
  std::ostringstream out;
  write_page(trace, out);
  return out.str();
}

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t times = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++times;
  return times;
}

Trace one_event() {
  Trace trace;
  trace.scenario = "one";
  trace.lanes = {{"PE 0 block 0 thread 0", "PE 0"}};
  trace.events.resize(1);
  return trace;
}

TEST(Page, HasEveryEventLaneAndSentence) {
  const Trace trace = sample_trace();
  const std::string page = page_of(trace);
  EXPECT_EQ(count(page, "\"what\":"), trace.events.size());
  EXPECT_EQ(count(page, "\"name\":"), trace.lanes.size());
  EXPECT_THAT(page, HasSubstr("\"sentence\":\"" + trace.missing[0].sentence));
  EXPECT_THAT(page, HasSubstr("\"verdict\":\"" + trace.verdict));
  EXPECT_THAT(page, HasSubstr("\"replay\":\"" + trace.replay));
  EXPECT_THAT(page, HasSubstr("\"knobs\":[\"" + trace.knobs[0]));
  EXPECT_THAT(page, HasSubstr("\"deviations\":\"2 preemptions, 1 stale read\",\"start\":91"));
}

TEST(Page, IsOneFileThatAsksForNothing) {
  const std::string page = page_of(sample_trace());
  EXPECT_TRUE(page.starts_with("<!doctype html>"));
  EXPECT_TRUE(page.ends_with("</html>\n"));
  for (const char* reference : {"http:", "https:", "//www", "src=", "href=", "@import", "url(\"",
                                "fetch(", "XMLHttpRequest", "import("}) {
    EXPECT_THAT(page, Not(HasSubstr(reference)));
  }
  EXPECT_THAT(page, HasSubstr("default-src 'none'"));
}

TEST(Page, IsSmall) {
  const std::size_t empty = page_of(Trace{}).size();
  EXPECT_LT(empty, 64u << 10);
  const Trace trace = sample_trace();
  EXPECT_LT(page_of(trace).size(), empty + 300 * trace.events.size());
}

TEST(Page, PutsEveryPartInItsPlace) {
  // Each part is there, and no @name@ of the template is left over. Styles have "@media".
  const std::string page = page_of(sample_trace());
  for (const char* name : {"title", "style", "verdict", "trace", "script"}) {
    EXPECT_THAT(page, Not(HasSubstr(std::string("@") + name + "@"))) << name;
  }
  EXPECT_THAT(page, HasSubstr("<title>post-from-two-threads: The NIC of PE 0"));
  EXPECT_EQ(count(page, "</style>"), 1u);
  EXPECT_EQ(count(page, "</script>"), 2u);
}

TEST(Page, DoesNotReplaceNamesInTheTraceItself) {
  Trace trace = one_event();
  trace.verdict = "it holds @trace@ and @style@";
  EXPECT_EQ(count(page_of(trace), "it holds @trace@ and @style@"), 3u);
}

TEST(Page, EscapesHostileText) {
  Trace trace = one_event();
  const std::string hostile = "</script><script>bad()</script> & \" ' \\ <!-- </title> \n\x01";
  trace.scenario = trace.verdict = trace.replay = hostile;
  trace.knobs = {hostile};
  trace.lanes[0] = {hostile, hostile};
  Event& event = trace.events[0];
  event.what = event.where = event.order = event.file = hostile;
  trace.missing = {{0, 0, hostile}};
  const std::string page = page_of(trace);
  EXPECT_THAT(page, Not(HasSubstr("bad()</script>")));
  EXPECT_THAT(page, Not(HasSubstr("<script>bad")));
  EXPECT_EQ(count(page, "</title>"), 1u);
  EXPECT_EQ(count(page, "</script>"), 2u);
  EXPECT_EQ(count(page, "<!--"), 0u);
  EXPECT_THAT(page, HasSubstr("<title>&lt;/script&gt;&lt;script&gt;bad()"));
}

TEST(Page, WritesValuesAsTextWithAllDigits) {
  Trace trace = one_event();
  trace.events[0].kind = EventKind::rmw;
  trace.events[0].bytes = 8;
  trace.events[0].value = 0xffffffffffffffff;
  trace.events[0].old_value = 0x20000000000001;  // 2^53 + 1, which a double does not hold
  const std::string page = page_of(trace);
  EXPECT_THAT(page, HasSubstr("\"value\":\"0xffffffffffffffff\""));
  EXPECT_THAT(page, HasSubstr("\"old\":\"0x0020000000000001\""));
  trace.events[0].bytes = 2;
  trace.events[0].value = 7;
  EXPECT_THAT(page_of(trace), HasSubstr("\"value\":\"0x0007\""));
  trace.events[0].value = 0x12345;  // wider than its bytes: shown, not cut
  EXPECT_THAT(page_of(trace), HasSubstr("\"value\":\"0x12345\""));
}

TEST(Page, LeavesOutWhatSaysNothing) {
  Trace trace = one_event();
  EXPECT_THAT(page_of(trace), HasSubstr("{\"lane\":0,\"kind\":\"note\",\"what\":\"\"}"));
  trace.events[0].kind = EventKind::load;
  trace.events[0].bytes = 4;
  trace.events[0].reads_from = kReadInitial;
  EXPECT_THAT(page_of(trace), HasSubstr("\"kind\":\"load\",\"what\":\"\",\"bytes\":4,"
                                        "\"value\":\"0x00000000\",\"readsFrom\":-1}"));
}

TEST(Page, MarksPollsThatReadAgainWhatTheirLaneHasRead) {
  Trace trace = one_event();
  trace.events[0].kind = EventKind::load;
  trace.events[0].where = "flag";
  trace.events[0].reads_from = kReadInitial;
  trace.events.resize(3, trace.events[0]);
  trace.events[2].kind = EventKind::rmw;  // what a loop of compare-and-swaps does is no poll
  const std::string page = page_of(trace);
  EXPECT_EQ(count(page, "\"repeats\":true"), 1u);
  EXPECT_LT(page.find("\"repeats\""), page.find("\"kind\":\"rmw\""));
}

TEST(Page, HasTheOperationsOfAKernel) {
  Trace trace = one_event();
  EXPECT_THAT(page_of(trace), HasSubstr("\"operations\":[]"));
  trace.events[0].kind = EventKind::call;
  trace.events[0].what = "quiet";
  trace.events[0].of_user = true;
  trace.events.resize(2);
  trace.events[1].call = 0;
  EXPECT_THAT(page_of(trace), HasSubstr("\"operations\":[{\"what\":\"quiet\",\"events\":[0,1]}]"));
}

TEST(Page, SaysWhichSentenceTheVerdictIs) {
  Trace trace = one_event();
  trace.verdict = "a races with b";
  trace.missing = {{0, 0, "a races with b."}, {0, 0, "Another."}};
  EXPECT_EQ(count(page_of(trace), "\"isVerdict\":true"), 1u);
}

TEST(PageDeathTest, RefusesAnIndexThatNamesNothing) {
  Trace trace = one_event();
  trace.events[0].lane = 1;
  EXPECT_DEATH(page_of(trace), "lane < trace.lanes.size");
  trace = one_event();
  trace.events[0].reads_from = 1;
  EXPECT_DEATH(page_of(trace), "reads_from");
  trace = one_event();
  trace.events[0].follows = {1};
  EXPECT_DEATH(page_of(trace), "release < count");
  trace = one_event();
  trace.missing = {{0, 1, ""}};
  EXPECT_DEATH(page_of(trace), "edge.to < count");
}

}  // namespace
}  // namespace gdakit::sim
