// Adaptive retransmission: an answer is late by what was measured, and the last try is as late as
// without.
#include <gtest/gtest.h>

#include "backends/softnic/transport/round_trip.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/lossy_wire.h"

namespace gdakit::softnic::test {
namespace {

using format::Syndrome;

constexpr std::uint64_t kMs = 1'000'000;

TEST(RoundTrip, IsAGuessUntilSomethingIsMeasured) {
  EXPECT_EQ(RoundTrip().patience_ns(), 16 * kMs);
}

TEST(RoundTrip, IsTheMeanAndFourDeviations) {
  RoundTrip trip;
  trip.asked(8, 1 * kMs);
  trip.answered(8, 9 * kMs);  // 8 ms, deviation 4 ms
  EXPECT_EQ(trip.patience_ns(), 24 * kMs);
  trip.asked(9, 10 * kMs);
  trip.answered(9, 26 * kMs);  // 16 ms: 8 off; mean 9, deviation 5
  EXPECT_EQ(trip.patience_ns(), 29 * kMs);
}

TEST(RoundTrip, IsAtLeastATurnOfAThread) {
  RoundTrip trip;
  trip.asked(8, 1000);
  trip.answered(8, 2000);
  EXPECT_EQ(trip.patience_ns(), 4 * kMs);
}

TEST(RoundTrip, MeasuresTheFirstOfSeveral) {
  RoundTrip trip;
  trip.asked(8, 1 * kMs);
  trip.asked(9, 6 * kMs);
  trip.answered(9, 9 * kMs);
  EXPECT_EQ(trip.patience_ns(), 24 * kMs);
}

TEST(RoundTrip, DoesNotMeasureWhatWasSentTwice) {
  RoundTrip trip;
  trip.asked(8, 1 * kMs);
  trip.repeated();
  trip.answered(8, 100 * kMs);
  EXPECT_EQ(trip.patience_ns(), 16 * kMs);
}

TEST(RoundTrip, DoublesUpToASecond) {
  RoundTrip trip;
  trip.expired();
  trip.expired();
  EXPECT_EQ(trip.patience_ns(), 64 * kMs);
  for (int i = 0; i < 100; ++i) trip.expired();
  EXPECT_EQ(trip.patience_ns(), 1000 * kMs);
}

TEST(RoundTrip, StaysDoubledAfterAWaitThatWasTooShort) {
  RoundTrip trip;
  trip.expired();
  trip.answered(0, kMs);
  EXPECT_EQ(trip.patience_ns(), 32 * kMs);
  trip.answered(1, kMs);  // without another one
  EXPECT_EQ(trip.patience_ns(), 16 * kMs);
}

TEST(RoundTrip, IsNotSpoiltByAPeerThatStoodStill) {
  RoundTrip trip;
  trip.asked(8, kMs);
  trip.answered(8, 10'000 * kMs);
  EXPECT_EQ(trip.patience_ns(), 1000 * kMs);
}

// A peer that answers after a time that nobody would have guessed is measured soon.
TEST(RoundTrip, IsLearntHoweverLongItIs) {
  for (const std::uint64_t trip_ns : {20 * kMs, 50 * kMs, 200 * kMs, 900 * kMs}) {
    RoundTrip trip;
    trip.asked(0, kMs);
    trip.answered(0, kMs + 100'000);
    int repetitions = 0;
    std::uint64_t now_ns = 10 * kMs;
    for (std::uint32_t message = 1; message <= 50; ++message) {
      trip.asked(message, now_ns);
      std::uint64_t waited_ns = trip.patience_ns();
      for (; waited_ns < trip_ns; waited_ns += trip.patience_ns()) {
        trip.repeated();
        trip.expired();
        ++repetitions;
      }
      trip.answered(message, now_ns += trip_ns);
    }
    EXPECT_LE(repetitions, 12) << trip_ns;
  }
}

// Side 0 sends adaptively, with an ack_timeout of 4.3 s, and loses what `drop` says.
RigOptions adaptive(std::function<bool(const Packet&)> drop) {
  RigOptions options;
  options.engine.adaptive_retransmission = true;
  options.settings.ack_timeout = 20;
  options.wrap_wire = [drop](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
    if (side != 0) return wire;
    return std::make_unique<LossyWire>(std::move(wire), Losses{.drop = drop});
  };
  return options;
}

void put(EngineRig& rig) {
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
}

// The time from now on until `done`, with a step each 100 us.
std::uint64_t time_until(EngineRig& rig, const std::function<bool()>& done) {
  const std::uint64_t begin = rig.now_ns;
  while (!done() && rig.now_ns < begin + 100'000 * kMs) {
    rig.step();
    rig.now_ns += kMs / 10;
  }
  return rig.now_ns - begin;
}

TEST(AdaptiveRetry, SendsALostPacketAgainAfterWhatWasMeasured) {
  bool drops = false;
  EngineRig rig(adaptive([&drops](const Packet&) { return std::exchange(drops, false); }));
  put(rig);
  ASSERT_TRUE(rig.run());
  drops = true;
  put(rig);
  const std::uint64_t took = time_until(rig, [&] { return rig.a.info().send_completed == 2; });
  EXPECT_GE(took, 4 * kMs);
  EXPECT_LE(took, 5 * kMs);
  EXPECT_EQ(rig.a.engine.counters().retries, 1u);
}

TEST(AdaptiveRetry, GivesUpAfterAllRetriesAndNotEarlier) {
  bool drops = false;
  int sent = 0;
  RigOptions options = adaptive([&](const Packet&) {
    ++sent;
    return drops;
  });
  options.settings.retry_count = 3;
  EngineRig rig(options);
  put(rig);
  ASSERT_TRUE(rig.run());
  drops = true;
  sent = 0;
  put(rig);
  const std::uint64_t took = time_until(rig, [&] { return rig.a.info().state == QpState::err; });
  const std::uint64_t timeout = 4096ull << 20;
  EXPECT_GE(took, 4 * timeout);
  EXPECT_LE(took, 4 * timeout + 2 * kMs);
  EXPECT_EQ(rig.a.info().first_error.syndrome, Syndrome::transport_retry_exceeded);
  EXPECT_GT(sent, 4);   // more than the retries
  EXPECT_LT(sent, 40);  // since each wait is twice as long as the last
}

TEST(AdaptiveRetry, GoesOnForEverWithoutATimeout) {
  bool drops = true;
  RigOptions options = adaptive([&](const Packet&) { return drops; });
  options.settings.ack_timeout = 0;
  EngineRig rig(options);
  put(rig);
  time_until(rig, [&] { return rig.now_ns > 60'000 * kMs; });
  ASSERT_EQ(rig.a.info().state, QpState::rts);
  drops = false;
  const std::uint64_t took = time_until(rig, [&] { return rig.a.info().send_completed == 1; });
  EXPECT_LE(took, 5'000 * kMs);
}

// Nine losses in a row, each told by a NAK: without, eight break the queue pair.
TEST(AdaptiveRetry, IsNotExhaustedByGapsThatArePassed) {
  int lost = 0;
  EngineRig rig(adaptive(
      [&lost](const Packet& packet) { return packet.header.psn == 1 && lost < 9 && ++lost != 0; }));
  for (int i = 0; i < 4; ++i) put(rig);
  time_until(rig, [&] { return rig.a.info().send_completed == 4; });
  EXPECT_EQ(rig.a.info().state, QpState::rts);
  EXPECT_EQ(rig.a.info().send_completed, 4u);
  EXPECT_EQ(lost, 9);
}

}  // namespace
}  // namespace gdakit::softnic::test
