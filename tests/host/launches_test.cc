// Launches of the PEs of one process: side by side, or in turn (GDAKIT_LAUNCHES).
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/support/job.h"

namespace gdakit {
namespace {

using std::chrono::milliseconds;
using test::expect_job;
using test::job_options;

constexpr int kPes = 2;

// What the kernels of both PEs, which are emulated, tell each other through the process's memory.
struct Meeting {
  std::atomic<int> arrived{0};
  std::atomic<int> inside{0};
  std::atomic<int> most_inside{0};
  std::atomic<int> met{0};  // kernels that did not wait for the other's in vain
};

// Waits until the other PE's kernel has come, or until `patience` has passed.
struct MeetTheOther {
  Meeting& meeting;
  milliseconds patience;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe&) const {
    const int now_inside = ++meeting.inside;
    if (now_inside > meeting.most_inside) meeting.most_inside = now_inside;
    ++meeting.arrived;
    const auto end = std::chrono::steady_clock::now() + patience;
    while (meeting.arrived < kPes && std::chrono::steady_clock::now() < end) {
      std::this_thread::yield();
    }
    if (meeting.arrived == kPes) ++meeting.met;
    --meeting.inside;
  }
};

Options options_for(LaunchOrder order) {
  Options options = job_options();
  options.launches = order;
  return options;
}

TEST(Launches, OfAProcessRunSideBySide) {
  Meeting meeting;
  expect_job(kPes, options_for(LaunchOrder::side_by_side), [&](Context& c) {
    return c.launch(MeetTheOther{meeting, test::patience(milliseconds(20'000))}, {1, 1});
  });
  EXPECT_EQ(meeting.met, kPes);
}

// The first kernel waits in vain, since the second begins when the first has ended.
TEST(Launches, TakeTurnsIfAsked) {
  Meeting meeting;
  expect_job(kPes, options_for(LaunchOrder::in_turn), [&](Context& c) {
    return c.launch(MeetTheOther{meeting, milliseconds(200)}, {1, 1});
  });
  EXPECT_EQ(meeting.arrived, kPes);
  EXPECT_EQ(meeting.met, 1);
  EXPECT_EQ(meeting.most_inside, 1);
}

TEST(Launches, OnAStreamTakeNoTurns) {
  Meeting meeting;
  expect_job(kPes, options_for(LaunchOrder::in_turn), [&](Context& c) {
    return c.launch_on(c.stream(), MeetTheOther{meeting, test::patience(milliseconds(20'000))},
                       {1, 1});
  });
  EXPECT_EQ(meeting.met, kPes);
}

// The turn goes on to the next PE whatever became of the launch.
TEST(Launches, ThatFailGiveTheirTurnBack) {
  std::atomic<int> refused{0};
  expect_job(kPes, options_for(LaunchOrder::in_turn), [&](Context& c) -> Result<void> {
    for (int i = 0; i < 2; ++i) {
      const Result<void> ran = c.launch([](auto&) {}, {.blocks = 0, .threads = 1});
      if (!ran) ++refused;
    }
    return {};
  });
  EXPECT_EQ(refused, 2 * kPes);
}

}  // namespace
}  // namespace gdakit
