// Waiting for many words and asking for them: every form, with one value and with a value for each
// word, by threads, warps and blocks, against what a loop over the words says.
#include <random>

#include "tests/device/by.h"
#include "tests/device/types_here.h"
#include "tests/support/job.h"

namespace gdakit {
namespace {

using test::actors;
using test::acts;
using test::By;
using test::Checks;
using test::expect_job;
using test::group_of;
using test::job_options;
using test::mismatch;

constexpr std::size_t kWords = 7;
constexpr std::size_t kNone = ~std::size_t{0};
constexpr int kQuestions = 40;

// What is asked of the words, and what the model answers.
template <class T>
struct Question {
  T words[kWords];
  T values[kWords];  // the first one for calls with one value
  int skip[kWords];
  bool skips;
  bool vector;
  Compare compare;
  // The answers.
  bool all;
  bool none_counts;
  std::size_t first;  // that holds, or kNone
  std::size_t found;
  std::size_t indices[kWords];
};

template <class T>
bool model_holds(T have, Compare compare, T want) {
  const int order = have < want ? -1 : have > want ? 1 : 0;
  switch (compare) {
    case Compare::eq: return order == 0;
    case Compare::ne: return order != 0;
    case Compare::gt: return order > 0;
    case Compare::ge: return order >= 0;
    case Compare::lt: return order < 0;
    case Compare::le: return order <= 0;
  }
  return false;
}

template <class T>
Question<T> random_question(std::mt19937_64& random) {
  Question<T> q{};
  q.skips = random() % 2 == 0;
  q.vector = random() % 2 == 0;
  q.compare = static_cast<Compare>(random() % 6);
  const T near = static_cast<T>(random());
  for (std::size_t i = 0; i < kWords; ++i) {
    q.words[i] = static_cast<T>(near + static_cast<T>(random() % 3));
    q.values[i] = static_cast<T>(near + static_cast<T>(random() % 3));
    q.skip[i] = random() % 3 == 0 ? static_cast<int>(random() % 5) - 2 : 0;
  }
  q.all = q.none_counts = true;
  q.first = kNone;
  for (std::size_t i = 0; i < kWords; ++i) {
    if (q.skips && q.skip[i] != 0) continue;
    q.none_counts = false;
    if (!model_holds(q.words[i], q.compare, q.vector ? q.values[i] : q.values[0])) {
      q.all = false;
      continue;
    }
    if (q.first == kNone) q.first = i;
    q.indices[q.found++] = i;
  }
  return q;
}

// Asks all of them; waits for what holds already. Arrays that the calls write lie in memory that
// the group shares.
template <class T, By kBy>
struct Ask {
  const Question<T>* questions;
  std::size_t* indices;
  test::Expect expect;

  static constexpr int kChecks = 6;  // of each question and thread

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (!acts<kBy>(pe)) return;
    auto group = group_of<kBy>(pe);
    for (int i = 0; i < kQuestions; ++i) {
      const Question<T>& q = questions[i];
      if (q.vector) {
        ask_vector(pe, group, q, 100 + static_cast<std::uint32_t>(i));
      } else {
        ask_one(pe, group, q, 100 + static_cast<std::uint32_t>(i));
      }
    }
  }

 private:
  template <class Pe, class Group>
  GDAKIT_DEVICE void ask_one(Pe& pe, Group& group, const Question<T>& q, std::uint32_t line) const {
    const int* const skip = q.skips ? q.skip : nullptr;
    const T value = q.values[0];
    expect(pe, group.test_all(q.words, kWords, skip, q.compare, value) == q.all, line);
    expect(pe, group.test_any(q.words, kWords, skip, q.compare, value) == q.first, line);
    const std::size_t tested = group.test_some(q.words, kWords, skip, q.compare, value, indices);
    judge_some(pe, group, q, tested, line);
    expect(pe, !q.all || group.wait_until_all(q.words, kWords, skip, q.compare, value).ok(), line);
    std::size_t index = 0;
    std::size_t found = q.found;
    bool ok = true;
    if (q.first != kNone || q.none_counts) {
      ok = group.wait_until_any(q.words, kWords, skip, q.compare, value, &index).ok() &&
           index == q.first;
      ok = ok &&
           group.wait_until_some(q.words, kWords, skip, q.compare, value, indices, &found).ok();
    }
    expect(pe, ok, line);
    judge_some(pe, group, q, found, line);
  }

  template <class Pe, class Group>
  GDAKIT_DEVICE void ask_vector(Pe& pe, Group& group, const Question<T>& q,
                                std::uint32_t line) const {
    const int* const skip = q.skips ? q.skip : nullptr;
    const T* const v = q.values;
    expect(pe, group.test_all_vector(q.words, kWords, skip, q.compare, v) == q.all, line);
    expect(pe, group.test_any_vector(q.words, kWords, skip, q.compare, v) == q.first, line);
    const std::size_t tested = group.test_some_vector(q.words, kWords, skip, q.compare, v, indices);
    judge_some(pe, group, q, tested, line);
    expect(pe, !q.all || group.wait_until_all_vector(q.words, kWords, skip, q.compare, v).ok(),
           line);
    std::size_t index = 0;
    std::size_t found = q.found;
    bool ok = true;
    if (q.first != kNone || q.none_counts) {
      ok = group.wait_until_any_vector(q.words, kWords, skip, q.compare, v, &index).ok() &&
           index == q.first;
      ok = ok &&
           group.wait_until_some_vector(q.words, kWords, skip, q.compare, v, indices, &found).ok();
    }
    expect(pe, ok, line);
    judge_some(pe, group, q, found, line);
  }

  template <class Pe, class Group>
  GDAKIT_DEVICE void judge_some(Pe& pe, Group& group, const Question<T>& q, std::size_t found,
                                std::uint32_t line) const {
    bool right = found == q.found;
    for (std::size_t i = 0; right && i < found; ++i) right = indices[i] == q.indices[i];
    expect(pe, right, line);
    group.fence();  // the next call writes the indices again
  }
};

template <class T, By kBy>
Result<void> ask(Context& c, std::uint64_t seed) {
  constexpr unsigned kThreads = 40;
  std::mt19937_64 random(seed);
  std::vector<Question<T>> asked(kQuestions);
  for (Question<T>& q : asked) q = random_question<T>(random);
  auto questions = c.allocate<Question<T>>(kQuestions);
  auto indices = c.allocate<std::size_t>(kWords);
  auto checks = Checks::make(c);
  if (!questions || !indices || !checks) return mismatch("allocate");
  if (auto ok = test::upload(c, *questions, asked); !ok) return ok;
  Result<void> ran = c.launch(Ask<T, kBy>{*questions, *indices, checks->expect()}, {1, kThreads});
  if (!ran) return ran;
  if (auto ok = checks->all_held(std::uint64_t{Ask<T, kBy>::kChecks} * kQuestions *
                                 actors(kBy, kThreads));
      !ok) {
    return mismatch(std::string("by ") + test::name_of(kBy) + ", seed " + std::to_string(seed) +
                    " (line 100 + i: question i): " + ok.error().message());
  }
  return {};
}

template <class T>
class Words : public testing::Test {};
// OpenSHMEM's fourteen names for types of words are names for these; more sizes are ours.
using All = testing::Types<short, int, long, long long, unsigned short, unsigned, unsigned long,
                           unsigned long long, signed char>;
using OfEachSize = testing::Types<signed char, short, int, unsigned long>;
using Types = test::TypesHere<All, OfEachSize>;
TYPED_TEST_SUITE(Words, Types);

TYPED_TEST(Words, AreAskedAsTheModelSays) {
  using T = TypeParam;
  expect_job(1, job_options(), [](Context& c) -> Result<void> {
    if (auto ok = ask<T, By::thread>(c, 1); !ok) return ok;
    if (auto ok = ask<T, By::warp>(c, 2); !ok) return ok;
    return ask<T, By::block>(c, 3);
  });
}

// PE 0 waits by all three groups for words that PE 1 writes one after the other, with data before
// each.
template <By kBy>
struct InTurn {
  std::uint64_t* words;  // 3
  std::uint64_t* data;   // 3
  std::size_t* indices;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (!acts<kBy>(pe)) return;
    auto group = group_of<kBy>(pe);
    if (pe.my_pe() == 1) {
      if (pe.machine().thread_index() != 0) return;
      for (std::uint64_t i = 0; i < 3; ++i) {
        pe.put_value(data + i, 50 + i, 0);
        pe.signal(words + i, 10 * (i + 1), SignalOp::set, 0);
      }
      pe.quiet();
      return;
    }
    const std::uint64_t wanted[] = {10, 20, 30};
    std::size_t index = 9;
    const int skip[] = {1, 1, 0};
    const Status any = group.wait_until_any_vector(words, 3, skip, Compare::eq, wanted, &index);
    expect(pe, any.ok() && index == 2 && data[2] == 52);
    expect(pe, group.wait_until_all_vector(words, 3, nullptr, Compare::eq, wanted).ok());
    expect(pe, data[0] == 50 && data[1] == 51);
    Status status;
    expect(pe, group.signal_wait_until(words, Compare::gt, 9, &status) == 10 && status.ok());
    expect(pe, group.signal_fetch(words + 1, &status) == 20 && status.ok());
  }
};

template <By kBy>
Result<void> wait_in_turn(Context& c) {
  auto words = c.allocate<std::uint64_t>(6);
  auto indices = c.allocate<std::size_t>(3);
  auto checks = Checks::make(c);
  if (!words || !indices || !checks) return mismatch("allocate");
  if (auto met = c.barrier(); !met) return met;
  Result<void> ran = c.launch(InTurn<kBy>{*words, *words + 3, *indices, checks->expect()}, {1, 40});
  if (!ran) return ran;
  if (auto met = c.barrier(); !met) return met;
  return checks->all_held(c.my_pe() == 1 ? 0 : 5 * actors(kBy, 40));
}

TEST(WaitByGroup, SeesTheDataOnceTheWordIsThere) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    if (auto ok = wait_in_turn<By::thread>(c); !ok) return ok;
    if (auto ok = wait_in_turn<By::warp>(c); !ok) return ok;
    return wait_in_turn<By::block>(c);
  });
}

struct WaitForNobody {
  std::uint64_t* word;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    Status status;
    expect(pe, pe.warp().signal_wait_until(word, Compare::ne, 5, &status) == 0);
    expect(pe, status.code == StatusCode::stalled);
  }
};

TEST(WaitByGroup, EndsWithAReportForAllThreads) {
  Options options = job_options();
  options.watchdog = std::chrono::milliseconds(100);
  expect_job(1, options, [](Context& c) -> Result<void> {
    auto word = c.allocate<std::uint64_t>(1);
    auto checks = Checks::make(c);
    if (!word || !checks) return mismatch("allocate");
    if (auto ok = test::upload(c, *word, {std::uint64_t{5}}); !ok) return ok;
    const Result<void> ran =
        c.launch(WaitForNobody{*word, checks->expect()}, {.blocks = 1, .threads = kWarpSize});
    if (ran) return mismatch("the stall was not reported");
    const std::string& report = ran.error().message();
    if (report.find("holds 5; waiting for anything but 5") == std::string::npos) {
      return mismatch(report);
    }
    return checks->all_held(2 * kWarpSize);
  });
}

}  // namespace
}  // namespace gdakit
