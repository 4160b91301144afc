// The NIC's thread, and threads that run the NIC's steps in its place.
#include "backends/softnic/engine/nic_thread.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <sstream>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;
using test::EngineRig;
using test::RigOptions;
using test::Side;

// A port that counts the CQEs that a thread of the test's own has written.
class CountingDma final : public HostDma {
 public:
  CountingDma(std::thread::id whose, std::atomic<int>& written)
      : whose_(whose), written_(written) {}
  DmaOp write_cqe(DmaAddress to, const format::Cqe64& cqe) override {
    if (std::this_thread::get_id() == whose_) ++written_;
    return HostDma::write_cqe(to, cqe);
  }

 private:
  const std::thread::id whose_;
  std::atomic<int>& written_;
};

// Two NICs with a thread each.
struct Threads {
  explicit Threads(const NicThreadOptions& options = {}, const LoopbackOptions& wire = {})
      : rig(rig_options(own_cqes, wire)),
        a(options, rig.a.engine, pages_a),
        b(options, rig.b.engine, pages_b) {}

  static RigOptions rig_options(std::atomic<int>& own_cqes, const LoopbackOptions& wire) {
    RigOptions options;
    options.wire = wire;
    options.make_port = [&own_cqes](int) {
      return std::make_unique<CountingDma>(std::this_thread::get_id(), own_cqes);
    };
    return options;
  }

  // Posts a WRITE to a's queue and rings.
  void post() {
    a.locked([this] {
      rig.a.post(test::write_wqe(rig, 4096, 0, 64));
      rig.a.ring();
    });
  }
  bool help() {
    const bool by_a = a.help();
    return b.help() || by_a;
  }
  bool completed() {
    return a.locked([this] { return rig.a.send_cq.poll().has_value(); });
  }
  // Whether the WRITE completes in time, where this thread does `meanwhile`.
  template <class Meanwhile>
  bool completes(Clock::duration limit, Meanwhile meanwhile) {
    const auto end = Clock::now() + limit;
    while (!completed()) {
      if (Clock::now() > end) return false;
      meanwhile();
    }
    return true;
  }
  bool completes_with_help() {
    post();
    return completes(10s, [this] { help(); });
  }
  bool completes_without() {
    post();
    return completes(10s, [] { std::this_thread::yield(); });
  }
  // Of a's queue, for a failure's message.
  std::string described() {
    const QpInfo info = a.locked([this] { return rig.a.info(); });
    std::ostringstream out;
    out << "state " << static_cast<int>(info.state) << ", WQEBBs announced " << info.send_producer
        << ", started " << info.send_started << ", completed " << info.send_completed
        << ", next PSN " << info.next_send_psn << ", acknowledged " << info.last_acked_psn;
    return out.str();
  }
  // Until the NICs' threads sleep, so that this one does all that is done.
  bool fall_asleep() {
    constexpr int kInARow = 20;
    const auto end = Clock::now() + 10s;
    for (int own = 0; own < kInARow;) {
      const int before = own_cqes;
      if (Clock::now() > end || !completes_with_help()) return false;
      own = own_cqes == before ? 0 : own + 1;
      std::this_thread::sleep_for(5ms);
    }
    return true;
  }

  std::atomic<int> own_cqes{0};
  EngineRig rig;
  UarPages pages_a, pages_b;
  NicThread a, b;
};

NicThreadOptions sleeping_when_helped(std::chrono::microseconds duration) {
  NicThreadOptions options;
  options.sleep_helped_us = static_cast<std::uint32_t>(duration.count());
  return options;
}

TEST(NicThread, WhoHelpsRunsTheSteps) {
  Threads nics(sleeping_when_helped(60s));
  ASSERT_TRUE(nics.fall_asleep());
  for (int i = 0; i < 100; ++i) {
    const int before = nics.own_cqes;
    ASSERT_TRUE(nics.completes_with_help());
    ASSERT_EQ(nics.own_cqes, before + 1);
  }
  int left = 0;
  while (nics.help() && left < 100) ++left;
  EXPECT_LT(left, 100);
  nics.post();
  EXPECT_FALSE(nics.completes(20ms, [] { std::this_thread::yield(); }));
  nics.a.wake();
  nics.b.wake();
  EXPECT_TRUE(nics.completes(10s, [] { std::this_thread::yield(); }));
}

TEST(NicThread, GoesOnByItselfWhenNobodyHelpsAnyMore) {
  Threads nics;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(nics.completes_with_help());
    ASSERT_TRUE(nics.completes_without());
  }
}

TEST(NicThread, TakesAnotherPaceAtOnce) {
  NicThreadOptions options;
  options.pace = {.idle_spins = 1, .idle_yields = 0, .least_sleep_us = 60'000'000};
  Threads nics(options);
  const auto end = Clock::now() + 10s;
  do {
    ASSERT_LT(Clock::now(), end) << "its sleeps are short";
    nics.post();
  } while (nics.completes(20ms, [] { std::this_thread::yield(); }));
  nics.a.set_pace({});
  nics.b.set_pace({});
  EXPECT_TRUE(nics.completes(10s, [] { std::this_thread::yield(); }));
  EXPECT_TRUE(nics.completes_without());
}

// However long it sleeps for want of work.
TEST(NicThread, WhatWaitsForRoomOnTheWireGoesOnSoon) {
  constexpr std::uint32_t kPackets = 64, kMtu = 1024;
  Threads nics({}, {.mtu = kMtu, .slots = 2});
  nics.a.set_pace({.idle_spins = 1, .idle_yields = 1, .least_sleep_us = 60'000'000});
  nics.b.pause();
  nics.a.locked([&] {
    nics.rig.a.post(test::write_wqe(nics.rig, 0, 0, kPackets * kMtu));
    nics.rig.a.ring();
  });
  nics.a.wake();
  const auto sent = [&] { return nics.a.locked([&] { return nics.rig.a.info().next_send_psn; }); };
  const auto end = Clock::now() + 10s;
  while (sent() == 0 && Clock::now() < end) std::this_thread::yield();
  std::this_thread::sleep_for(20ms);  // it has nothing to do but to wait
  ASSERT_LT(sent(), kPackets);
  nics.b.resume();
  while (sent() < kPackets && Clock::now() < end) std::this_thread::yield();
  EXPECT_EQ(sent(), kPackets);
}

TEST(NicThread, HelpDoesNothingWhileItIsPaused) {
  Threads nics(sleeping_when_helped(60s));
  ASSERT_TRUE(nics.fall_asleep());
  nics.a.pause();
  nics.post();
  EXPECT_FALSE(nics.completes(20ms, [&] { EXPECT_FALSE(nics.a.help()); }));
  nics.a.resume();
  EXPECT_TRUE(nics.completes(10s, [&] { nics.help(); }));
}

// Those who help do other things in between, and leave work undone meanwhile.
TEST(NicThread, SleepsNoMoreForThoseWhoLeaveWorkUndone) {
  constexpr int kRounds = 10;
  constexpr std::chrono::milliseconds kSleep = 300ms;
  NicThreadOptions options = sleeping_when_helped(kSleep);
  options.unhelped_us = 60'000'000;
  Threads nics(options);
  const auto neglect = [&] {
    nics.help();
    std::this_thread::sleep_for(1ms);
    return nics.completes_without();
  };
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(neglect());
  const auto begin = Clock::now();
  for (int i = 0; i < kRounds; ++i) ASSERT_TRUE(neglect());
  EXPECT_LT(Clock::now() - begin, kRounds * kSleep / 2);
}

TEST(NicThread, ManyMayHelpWhileOthersCallAndPost) {
  Threads nics;
  std::atomic<bool> stop{false};
  std::atomic<int> helped{0};
  const auto help = [&] {
    while (!stop) {
      if (nics.help()) ++helped;
      std::this_thread::yield();
    }
  };
  std::thread one(help), other(help);
  // On busy cores all 200 may be over before a helper has its first turn.
  constexpr int kLeast = 200;
  const auto end = Clock::now() + 20s;
  for (int i = 0; i < kLeast || (helped == 0 && Clock::now() < end); ++i) {
    EXPECT_TRUE(nics.completes_without()) << "WRITE " << i << ": " << nics.described();
    nics.b.locked([&] { EXPECT_TRUE(nics.rig.b.engine.query_qp(nics.rig.b.qpn)); });
    if (HasFailure()) break;
  }
  stop = true;
  one.join();
  other.join();
  EXPECT_GT(helped, 0);
}

}  // namespace
}  // namespace gdakit::softnic
