// When a wait gives up, where the host tells for how long nobody has been stopped.
#include "device/watchdog.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "sim/emulator.h"

namespace gdakit {
namespace {

using sim::HostMachine;

constexpr std::uint64_t kLimitNs = 1'000'000;

// One wait by one thread, and a host that tells by hand.
class Calm : public testing::Test {
 protected:
  template <class Act>
  void wait(const Act& act) {
    DeviceContext context{};
    context.state = &state_;
    context.words = &words_;
    context.watchdog_ns = kLimitNs;
    const auto kernel = [&](HostMachine& m) {
      Watchdog<HostMachine> watchdog(m, context, Site::user);
      act(m, watchdog);
    };
    const Result<void> ran = sim::launch({1, 1}, {.workers = 1, .stacks = {}}, kernel);
    ASSERT_TRUE(ran) << ran.error().message();
  }

  void tell(std::uint64_t calm_ns) { __atomic_store_n(&state_.calm_ns, calm_ns, __ATOMIC_RELEASE); }

  PeState state_{};
  PeWords words_{};
};

TEST_F(Calm, OfWhichTheHostTellsNothingDoesNotHoldTheWatchdogUp) {
  wait([](HostMachine&, Watchdog<HostMachine>& watchdog) {
    while (watchdog.turn()) {
    }
    EXPECT_GE(watchdog.waited_ns(), kLimitNs);
  });
}

TEST_F(Calm, IsNotThereWhileAPeIsStopped) {
  tell(kNotCalm);
  wait([](HostMachine&, Watchdog<HostMachine>& watchdog) {
    for (int late_turns = 0; late_turns < 100;) {
      ASSERT_TRUE(watchdog.turn());
      if (watchdog.waited_ns() >= kLimitNs) ++late_turns;
    }
  });
}

TEST_F(Calm, HasToLastForALimit) {
  tell(kNotCalm + 1);
  std::atomic<std::uint64_t> before = 0;  // what the host told before its newest words
  std::atomic<bool> ended = false;
  std::thread host([&] {
    for (std::uint64_t calm = kNotCalm + 2; !ended; calm += kLimitNs / 16) {
      tell(calm);
      before = calm;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  wait([&](HostMachine&, Watchdog<HostMachine>& watchdog) {
    while (watchdog.turn()) {
    }
    EXPECT_GE(before + kLimitNs / 16, kLimitNs);
  });
  ended = true;
  host.join();
}

// The host is stopped itself, and looks first when it goes on.
TEST_F(Calm, IsNotBelievedOfAHostThatTellsNothingNew) {
  tell(1000 * kLimitNs);
  std::atomic<bool> goes_on = false;
  std::thread host([&] {
    std::this_thread::sleep_for(std::chrono::nanoseconds(20 * kLimitNs));
    tell(1000 * kLimitNs + 1);  // it had begun to tell that when it was stopped
    std::this_thread::sleep_for(std::chrono::nanoseconds(20 * kLimitNs));
    goes_on = true;
    tell(kNotCalm);
  });
  wait([&](HostMachine&, Watchdog<HostMachine>& watchdog) {
    bool waits = true;
    while (waits && !goes_on) waits = watchdog.turn();
    EXPECT_TRUE(waits);
  });
  host.join();
}

}  // namespace
}  // namespace gdakit
