// The page in a real browser: what its keys do, and what it shows then.
#include <chrono>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/explore/page.h"
#include "tests/page/browser.h"
#include "tests/page/sample_trace.h"

namespace gdakit::sim {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// The events of the sample that the tests speak of.
constexpr const char* kNames = R"js(
const OLD_STORE = 11, STORE = 66, RECORD = 87, RECORD_READ = 90, STALE_READ = 91, LAST = 107;
)js";

class PageInChromium : public testing::Test {
 protected:
  void SetUp() override {
    if (!browser_is_installed()) GTEST_SKIP() << "no Chromium (Debian package: chromium)";
  }

  // What the script said on the trace's page, where no error may happen.
  static std::vector<std::string> said(const Trace& trace, const std::string& script) {
    std::ostringstream page;
    write_page(trace, page);
    const Visit result = visit(page.str(), kNames + script);
    EXPECT_TRUE(result.ended);
    EXPECT_THAT(result.errors, IsEmpty());
    return result.said;
  }
};

TEST_F(PageInChromium, BeginsAtTheMissingOrder) {
  EXPECT_THAT(said(sample_trace(), R"js(
    say(current() === String(STALE_READ));
    say(document.activeElement.id);
    say(text('.gap .sentence'));
    say(text('#detail h2'));
    const frame = document.getElementById('scroller').getBoundingClientRect();
    for (const id of ['e' + STORE, 'e' + STALE_READ]) {
      const box = document.getElementById(id).getBoundingClientRect();
      say(box.top > frame.top && box.bottom < frame.bottom);
    }
  )js"),
              ElementsAre("true", "e91",
                          "Missing order This read may see the old WQE, because no release at "
                          "system scope lies between the store of the WQE and the doorbell record "
                          "that the NIC read.",
                          "dma r#91 dma_read", "true", "true"));
}

TEST_F(PageInChromium, StepsWithTheKeyboard) {
  EXPECT_THAT(said(sample_trace(), R"js(
    const go = (key) => { press(key); say(key + ' ' + current()); };
    ['c', 'Home', 'j', 'ArrowDown', 'k', 'ArrowUp', 'k', 'End', 'j', 'k'].forEach(go);
    document.getElementById('e' + STORE).click();
    ['ArrowRight', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft', 'ArrowLeft'].forEach(go);
    say(document.querySelector('#detail').dataset.event + ' ' + document.activeElement.id);
  )js"),
              ElementsAre("c 91", "Home 0", "j 1", "ArrowDown 2", "k 1", "ArrowUp 0", "k 0",
                          "End 107", "j 107", "k 106", "ArrowRight 67", "ArrowLeft 66",
                          "ArrowLeft 65", "ArrowLeft 64", "ArrowLeft 64", "64 e64"));
}

TEST_F(PageInChromium, StepsOverWhatIsFolded) {
  EXPECT_THAT(said(sample_trace(), R"js(
    document.getElementById('e' + STORE).click();
    press('j'); say(current());  // eight stores and some spinning are folded in between
    press('c'); press('k'); say(current());
  )js"),
              ElementsAre("87", "86"));
}

TEST_F(PageInChromium, JumpsBetweenTheEndsOfEachMissingOrder) {
  Trace trace = sample_trace();
  EXPECT_THAT(said(trace, "press('m'); say(current()); press('m'); say(current());"),
              ElementsAre("66", "91"));
  trace.missing.push_back({5, 3, "Another."});
  EXPECT_THAT(said(trace, R"js(
    say(count('.sentences li') + ' ' + count('.gap'));
    for (let i = 0; i < 4; ++i) { press('m'); say(current()); }
  )js"),
              ElementsAre("2 2", "5", "3", "66", "91"));
}

TEST_F(PageInChromium, FindsWhatHasToDoWithTheFinding) {
  EXPECT_THAT(said(sample_trace(), R"js(
    document.getElementById('e' + STORE).click();
    for (const key of ['f', 'f', 'f', 'f', 'f', 'F', 'F']) { press(key); say(current()); }
  )js"),
              ElementsAre("87", "90", "91", "11", "35", "11", "91"));
}

TEST_F(PageInChromium, FindsStaleReadsAndTheirStoresWithoutAMissingOrder) {
  Trace trace = sample_trace();
  trace.missing.clear();
  EXPECT_THAT(said(trace, R"js(
    say(current());
    for (const key of ['f', 'f', 'm']) { press(key); say(current()); }
    say(document.getElementById('to-missing').disabled);
  )js"),
              ElementsAre("91", "11", "91", "91", "true"));
}

TEST_F(PageInChromium, ShowsAllThatIsKnownOfAnEvent) {
  EXPECT_THAT(said(sample_trace(), "say(text('#detail'));"),
              ElementsAre(AllOf(HasSubstr("PE 0 NIC"), HasSubstr("PE 0 queue 1 WQE 0 +0"),
                                HasSubstr("0x0800000001000000"), HasSubstr("576460752320200704"),
                                HasSubstr("8 bytes"), HasSubstr("#11 PE 0 block 0 thread 1"),
                                HasSubstr("one newer value"), HasSubstr("Missing order"))));
  EXPECT_THAT(
      said(sample_trace(), R"js(
    press('c'); press('m'); say(text('#detail'));
    press('End'); say(text('#detail'));
    press('Home'); say(text('#detail'));
    document.querySelector('#e61').click(); say(text('#detail'));
  )js"),
      ElementsAre(AllOf(HasSubstr("device/wqe_writer.h:61"), HasSubstr("weak: orders nothing"),
                        HasSubstr("#91 PE 0 NIC"), Not(HasSubstr("Stale by"))),
                  AllOf(HasSubstr("CompletionBeforeUse"), HasSubstr("device/completion.h:77"),
                        HasSubstr("acquire: what follows"), HasSubstr("for every thread"),
                        Not(HasSubstr("Missing order"))),
                  HasSubstr("what was there at the beginning"),
                  AllOf(HasSubstr("Ordered after#56"), HasSubstr("18369614221190020847"))));
}

TEST_F(PageInChromium, DrawsTheMissingOrderAlwaysAndArrowsOfTheSelection) {
  EXPECT_THAT(
      said(sample_trace(), R"js(
    const arrows = () => say(['missing', 'reads', 'follows']
      .map((kind) => count('#paths path.' + kind)).join(' ') + ', tags ' + count('.tie'));
    arrows();
    document.querySelector('#e61').click(); arrows();
    document.querySelector('#e56').click(); arrows();
    press('c'); press('Home'); arrows();
    const box = document.querySelector('#paths path.missing').getBoundingClientRect();
    const store = document.querySelector('#e66').getBoundingClientRect();
    say(Math.abs(box.top - (store.top + store.bottom) / 2) < 4);
  )js"),
      ElementsAre("2 2 0, tags 3", "2 1 1, tags 2", "2 3 3, tags 6", "2 0 0, tags 0", "true"));
}

TEST_F(PageInChromium, MarksInWordsWhatColoursSay) {
  EXPECT_THAT(said(sample_trace(), R"js(
    say(text('.row.selected .mark.old') + ' / ' + text('.row.selected .mark.missing'));
    say(document.querySelector('#e91').getAttribute('aria-label'));
    press('c');
    say([...document.querySelectorAll('.event')].every((box) => box.querySelector('.badge')
      .textContent && box.getAttribute('aria-label')));
    say(count('.event') + ' ' + count('.event[tabindex="0"]'));
  )js"),
              ElementsAre("⟲ stale by 1 / ✗ must follow #66",
                          AllOf(HasSubstr("#91 PE 0 NIC dma_read"), HasSubstr("stale by 1"),
                                HasSubstr("missing order: This read may see the old WQE")),
                          "true", "108 1"));
}

TEST_F(PageInChromium, FoldsWhatIsUnremarkable) {
  EXPECT_THAT(said(sample_trace(), R"js(
    say(text('#count')); say(count('.event') + ' ' + count('.lane'));
    const folded = [...document.querySelectorAll('.chip')].reduce((sum, chip) =>
      sum + parseInt(chip.getAttribute('aria-label')), 0);
    say(folded + count('.event'));
    document.querySelector('.chip').click();
    say(count('.event') > 23); say(current());
    press('c');
    say(text('#count')); say(count('.event') + ' ' + count('.lane') + ' ' + count('.chip'));
    say(document.getElementById('compact').getAttribute('aria-pressed'));
  )js"),
              ElementsAre("23 of 108 events, 11 of 12 lanes shown", "23 11", "108", "true", "0",
                          "108 of 108 events, 12 of 12 lanes shown", "108 12 0", "false"));
}

// A kernel of three lines, with what the protocol does for them.
Trace kernel() {
  Trace trace;
  trace.verdict = "the value is wrong";
  trace.deviations = "2 reordered deliveries";
  trace.lanes = {{"PE 0 block 0 thread 0", "PE 0"}, {"PE 0 NIC", "PE 0"}};
  const auto add = [&](std::uint32_t lane, EventKind kind, const char* what, const char* where,
                       const char* part, std::uint32_t line, std::int32_t call = kNoCall) {
    Event event{.lane = lane, .kind = kind, .what = what, .where = where};
    event.file = line > 0 ? "tests/halo.cc" : "";
    event.line = line;
    event.of_user = line > 0;
    event.part = part;
    event.call = call;
    if (kind == EventKind::dma_read) event.reads_from = kReadInitial;
    trace.events.push_back(event);
  };
  add(0, EventKind::store, "store.weak", "PE 0 draft", "data", 11);
  add(0, EventKind::call, "put_nbi 8 bytes to PE 1", "PE 1 halo", "", 12);
  for (int i = 0; i < 5; ++i) add(0, EventKind::store, "store.weak", "PE 0 WQE 0", "WQE", 0, 1);
  add(1, EventKind::dma_read, "dma load", "PE 0 record", "doorbell record", 0);
  for (int i = 0; i < 4; ++i) add(1, EventKind::dma_read, "dma load", "PE 0 WQE 0", "WQE", 0);
  add(0, EventKind::load, "load.weak", "PE 0 halo", "data", 14);
  return trace;
}

TEST_F(PageInChromium, ShowsAKernelByItsLines) {
  EXPECT_THAT(said(kernel(), R"js(
    say([...document.querySelectorAll('.event')].map((box) => box.id + ' ' +
      box.querySelector('.what').textContent).join('; '));
    say(count('.chip') + ' ' + current());
    say(text('#e1 .place') + ' ' + text('#e1 .toggle') + ' ' + text('#e8 .toggle'));
    say(text('.facts'));
  )js"),
              ElementsAre("e0 store.weak; e1 put_nbi 8 bytes to PE 1; e8 fetches 1 WQE; "
                          "e12 load.weak",
                          "1 12", "halo.cc:12 ▸ 5 ▸ 4", "It needs 2 reordered deliveries"));
}

TEST_F(PageInChromium, ShowsAPollOnceWhileItReadsTheSame) {
  Trace trace = kernel();
  trace.events.back().reads_from = kReadInitial;
  trace.events.resize(trace.events.size() + 2, trace.events.back());
  trace.events.push_back(trace.events.front());
  EXPECT_THAT(said(trace, R"js(
    say([...document.querySelectorAll('.event')].map((box) => box.id).join(' '));
  )js"),
              ElementsAre("e0 e1 e8 e12 e15"));
}

TEST_F(PageInChromium, OpensAnOperationOnDemand) {
  EXPECT_THAT(said(kernel(), R"js(
    document.querySelector('#e1 .toggle').click();
    say(count('.event') + ' ' + current() + ' ' + text('#e1 .toggle'));
    press('j'); say(current()); say(text('#detail'));
    document.querySelector('#e1').click(); press('o'); say(count('.event'));
    document.querySelector('#e8 .toggle').click(); say(text('#e8 .what'));
    press('c'); say(count('.event') + ' ' + count('.toggle'));
  )js"),
              ElementsAre("9 1 ▾ 5", "2", HasSubstr("Part of#1 PE 0 block 0 thread 0"), "4",
                          "dma load", "13 0"));
}

TEST_F(PageInChromium, AnEndOfAMissingOrderIsShownInItsOperation) {
  Trace trace = kernel();
  trace.missing = {{3, 10, "the value is wrong."}};
  EXPECT_THAT(said(trace, R"js(
    say(current() + ' ' + count('#e3') + ' ' + count('#e2'));
    say(document.body.innerText.split('the value is wrong').length - 1);
    press('m'); say(current());
  )js"),
              ElementsAre("10 1 0", "1", "3"));
}

TEST_F(PageInChromium, FiltersByText) {
  EXPECT_THAT(said(sample_trace(), R"js(
    press('/'); say(document.activeElement.id);
    const field = document.getElementById('filter');
    field.value = 'dma_read WQE'; field.dispatchEvent(new Event('input'));
    say(count('.event'));
    press('j'); say(current());  // a letter now, not a step
    field.value = 'no such event'; field.dispatchEvent(new Event('input'));
    say(count('.event'));
    field.value = 'PublishReady'; field.dispatchEvent(new Event('input'));
    press('Enter'); say(document.activeElement.id); press('j'); say(current());
    press('Escape'); say(count('.event') + ' ' + current() + ' "' + field.value + '"');
  )js"),
              ElementsAre("filter", "16", "91", "0", "e19", "74", "43 74 \"\""));
}

TEST_F(PageInChromium, HelpsAndKeepsOtherKeysOutMeanwhile) {
  EXPECT_THAT(said(sample_trace(), R"js(
    press('?'); say(document.getElementById('help').open);
    press('j'); say(current());
    document.querySelector('#help form button').click();
    say(document.getElementById('help').open);
  )js"),
              ElementsAre("true", "91", "false"));
}

TEST_F(PageInChromium, ShowsHostileTextAsText) {
  Trace trace = sample_trace();
  const std::string hostile =
      "</script><script>window.hacked = 1</script><img src=x onerror='window.hacked = 2'> & \" "
      "\xe2\x80\xa8 \xe2\x80\xa9 end";
  trace.scenario = trace.verdict = trace.replay = trace.missing[0].sentence = hostile;
  trace.knobs = {hostile};
  for (Lane& lane : trace.lanes) lane.name = lane.group = hostile;
  for (Event& event : trace.events) event.what = event.where = event.order = event.file = hostile;
  EXPECT_THAT(
      said(trace, R"js(
    const scripts = count('script');
    for (const key of ['j', 'Home', 'End', 'm', 'c', 'f']) press(key);
    say(window.hacked); say(count('img')); say(scripts);
    say(text('.verdict')); say(text('#replay')); say(text('#detail dd'));
  )js"),
      ElementsAre("undefined", "0", "4", AllOf(HasSubstr("<img src=x"), HasSubstr("end")),
                  HasSubstr("</script><script>window.hacked = 1</script>"), HasSubstr("& \"")));
}

TEST_F(PageInChromium, ShowsRunsWithLittleInThem) {
  const char* const script =
      "say(text('.failed') + ' ' + count('.event')); press('j'); press('m');"
      "press('f'); press('End'); press('c'); say(text('#detail'));";
  EXPECT_THAT(said(Trace{}, script), ElementsAre("✗ failed 0", "No event is selected."));
  Trace one;
  one.lanes = {{"host", ""}};
  one.events.resize(1);
  one.events[0].what = "deadlock";
  EXPECT_THAT(said(one, script), ElementsAre("✗ failed 1", HasSubstr("deadlock")));
}

// The tests above could not fail without these.
TEST_F(PageInChromium, NoticesErrors) {
  const std::string page = "<html><head></head><body></body></html>";
  const Visit result = visit(page, "say('before'); nowhere(); say('after');");
  EXPECT_THAT(result.said, ElementsAre("before"));
  EXPECT_THAT(result.errors, ElementsAre(HasSubstr("nowhere is not defined")));
  EXPECT_THAT(visit(page, "setTimeout(() => nowhere(), 0)").errors,
              ElementsAre(HasSubstr("nowhere is not defined")));
}

TEST_F(PageInChromium, EndsAPageThatHangs) {
  const auto start = std::chrono::steady_clock::now();
  const Visit result =
      visit("<html><head></head><body></body></html>", "while (true);", std::chrono::seconds(4));
  EXPECT_FALSE(result.ended);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace gdakit::sim
