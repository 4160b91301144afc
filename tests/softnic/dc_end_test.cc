// DC: few responders for many initiators, and the end of targets.
#include <gtest/gtest.h>

#include "tests/softnic/dc_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::Opcode;
using format::Syndrome;

DcRigOptions few_responders(std::uint32_t responders, std::size_t initiators) {
  DcRigOptions options;
  options.rig.engine.dc = {.responders = responders, .tenure_ns = 200'000};
  options.initiators = initiators;
  options.log_srq = 10;
  return options;
}

TEST(DcResponders, ManyInitiatorsShareFewAndAllGoOn) {
  constexpr std::size_t kInitiators = 64;
  DcRig rig(few_responders(4, kInitiators));
  fill(rig.rig.a.heap.data(), rig.rig.a.heap.size() / 2, 1);
  rig.rig.b.word<std::uint64_t>(1 << 19) = 0;
  std::vector<std::size_t> done(kInitiators), posted(kInitiators);
  const auto post = [&](std::size_t i) {
    const std::size_t at = i * 4096 + posted[i] % 4 * 1024;
    rig.send(i, 0,
             posted[i] % 4 == 3 ? fetch_add_wqe(rig.rig, (1 << 19) + 8 * i, 1 << 19, 1)
                                : rig.write(at, at, 1000));
    ++posted[i];
  };
  constexpr std::size_t kEach = 40;
  for (std::size_t i = 0; i < kInitiators; ++i) {
    for (std::size_t n = 0; n < 8; ++n) post(i);
  }
  std::size_t all = 0;
  ASSERT_TRUE(rig.rig.run_until([&] {
    for (std::size_t i = 0; i < kInitiators; ++i) {
      const std::size_t more = rig.succeeded(i);
      done[i] += more;
      all += more;
      for (std::size_t n = 0; n < more && posted[i] < kEach; ++n) post(i);
      EXPECT_LE(rig.rig.b.engine.query_dct(rig.targets[0])->connections, 4u);
    }
    return all == kInitiators * kEach;
  }));
  EXPECT_GT(rig.rig.b.engine.counters().dc_cnaks_sent, 0u);
  EXPECT_EQ(rig.rig.b.word<std::uint64_t>(1 << 19), kInitiators * kEach / 4);
  for (std::size_t i = 0; i < kInitiators; ++i) {
    EXPECT_EQ(std::memcmp(rig.rig.b.heap.data() + i * 4096, rig.rig.a.heap.data() + i * 4096, 1000),
              0);
  }
}

TEST(DcResponders, OneIsEnoughForTwoThatNeverRest) {
  DcRig rig(few_responders(1, 2));
  std::size_t done[2] = {};
  for (std::size_t i = 0; i < 2; ++i) {
    for (int n = 0; n < 4; ++n) rig.send(i, 0, rig.write(0, 0, 8));
  }
  ASSERT_TRUE(rig.rig.run_until([&] {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::size_t more = rig.succeeded(i);
      done[i] += more;
      for (std::size_t n = 0; n < more; ++n) rig.send(i, 0, rig.write(0, 0, 8));
    }
    return done[0] >= 100 && done[1] >= 100;
  }));
}

TEST(DcResponders, AMessageThatIsInterruptedGoesOn) {
  DcRigOptions options = few_responders(1, 2);
  options.rig.wire.mtu = 256;
  options.rig.wire.slots = 4;
  options.rig.engine.dc.tenure_ns = 1000;
  DcRig rig(options);
  constexpr std::uint32_t kLong = 60'000;
  fill(rig.rig.a.heap.data(), rig.rig.a.heap.size() / 2, 1);
  for (std::size_t i = 0; i < 8; ++i) {
    rig.srq.post({rig.segment((i % 8) * kLong, kLong)});
    rig.send(i % 2, 0,
             rig.send_wqe(i * kLong, kLong, Opcode::send_imm, static_cast<std::uint32_t>(i)));
  }
  std::vector<format::Cqe64> cqes;
  ASSERT_TRUE(rig.rig.run_until([&] {
    while (const auto cqe = rig.rig.b.receive_cq.poll()) cqes.push_back(*cqe);
    return cqes.size() == 8;
  }));
  EXPECT_GT(rig.rig.b.engine.counters().dc_cnaks_sent, 1u);
  for (const auto& cqe : cqes) {
    EXPECT_EQ(cqe.byte_cnt, kLong);
    EXPECT_EQ(std::memcmp(rig.rig.b.heap.data() + cqe.wqe_counter * kLong,
                          rig.rig.a.heap.data() + cqe.imm_inval_pkey * kLong, kLong),
              0);
  }
}

TEST(DcResponders, IdleOnesMakeRoomAtOnce) {
  DcRig rig(few_responders(2, 6));
  for (std::size_t i = 0; i < 6; ++i) {
    rig.send(i, 0, rig.write(0, 0, 8));
    EXPECT_EQ(rig.next(i), Syndrome::none);
  }
  // Those that have given their place up come again.
  for (std::size_t i = 0; i < 6; ++i) {
    rig.send(i, 0, rig.write(0, 0, 8));
    EXPECT_EQ(rig.next(i), Syndrome::none);
  }
}

TEST(DcTarget, OnlyOneThatIsDrainedIsDestroyed) {
  DcRig rig;
  Engine& b = rig.rig.b.engine;
  EXPECT_EQ(b.destroy_dct(rig.targets[0]).status().syndrome, CommandSyndrome::destroy_dct_state);
  EXPECT_EQ(b.destroy_srq(rig.srqn).status().syndrome, CommandSyndrome::destroy_srq_busy);
  EXPECT_EQ(b.destroy_cq(rig.rig.b.receive_cqn).status().status, CommandStatus::res_busy);
  ASSERT_TRUE(rig.drain(0));
  EXPECT_EQ(rig.rig.b.events.of(EventKind::dct_drained).size(), 1u);
  EXPECT_TRUE(b.destroy_dct(rig.targets[0]));
  EXPECT_EQ(b.query_dct(rig.targets[0]).status().syndrome, CommandSyndrome::query_dct_absent);
  EXPECT_TRUE(b.destroy_srq(rig.srqn));
}

TEST(DcTarget, EndsUnderTraffic) {
  DcRigOptions options;
  options.initiators = 8;
  options.targets = 2;
  options.rig.wire.mtu = 256;
  options.rig.wire.slots = 8;
  DcRig rig(options);
  constexpr std::uint32_t kLong = 20'000;
  for (std::size_t i = 0; i < 8; ++i) {
    rig.srq.post({rig.segment(i * kLong, kLong)});
    rig.send(i, i % 2, rig.send_wqe(0, kLong));
    rig.send(i, i % 2, read_wqe(rig.rig, 1 << 19, 0, kLong));
  }
  for (int step = 0; step < 60; ++step) rig.rig.step();
  ASSERT_TRUE(rig.drain(0));
  EXPECT_TRUE(rig.rig.b.engine.destroy_dct(rig.targets[0]));
  for (std::size_t i = 0; i < 8; ++i) {
    Syndrome first = rig.next(i);
    if (i % 2 == 1) {
      EXPECT_EQ(first, Syndrome::none);
      EXPECT_EQ(rig.next(i), Syndrome::none);
      continue;
    }
    if (first == Syndrome::none) first = rig.next(i);
    if (first != Syndrome::none) {
      EXPECT_EQ(first, Syndrome::transport_retry_exceeded);
    }
  }
}

TEST(DcTarget, AReceiveWqeThatAMessageHasClaimedIsFlushed) {
  DcRigOptions options;
  options.rig.wire.mtu = 256;
  options.rig.wire.slots = 4;
  DcRig rig(options);
  rig.srq.post({rig.segment(0, 60'000)});
  rig.send(0, 0, rig.send_wqe(0, 60'000));
  ASSERT_TRUE(rig.rig.run_until([&] { return rig.rig.b.engine.counters().bytes_received != 0; }));
  ASSERT_TRUE(rig.drain(0));
  const auto cqe = rig.rig.b.receive_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(syndrome_of(*cqe), Syndrome::flushed);
  EXPECT_TRUE(rig.rig.b.engine.destroy_dct(rig.targets[0]));
}

TEST(DcTarget, ACqThatIsOverrunBreaksIt) {
  DcRigOptions options;
  options.rig.log_cq = 1;
  options.rig.overrun_ignore = false;
  DcRig rig(options);
  for (std::size_t i = 0; i < 4; ++i) {
    rig.srq.post({rig.segment(0, 64)});
    rig.send(0, 0, rig.send_wqe(0, 8));
  }
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.rig.b.events.of(EventKind::cq_error).size(), 1u);
  rig.send(0, 0, rig.write(0, 0, 8));
  Syndrome last = Syndrome::none;
  while (last == Syndrome::none) last = rig.next(0);
  EXPECT_EQ(last, Syndrome::transport_retry_exceeded);
  ASSERT_TRUE(rig.drain(0));
  EXPECT_TRUE(rig.rig.b.engine.destroy_dct(rig.targets[0]));
}

TEST(DcTarget, AnInitiatorThatIsMadeAnewConnectsAnew) {
  DcRig rig;
  for (int i = 0; i < 3; ++i) {
    rig.send(0, 0, rig.write(0, 0, 8));
    EXPECT_EQ(rig.next(0), Syndrome::none);
    rig.connect(*rig.initiators[0]);
  }
  EXPECT_EQ(rig.rig.b.engine.counters().rx_dct_connect, 3u);
}

// Its old responder has a message in hand, which ends first: that takes no retry.
TEST(DcTarget, AnInitiatorThatIsMadeAnewInTheMidstOfAMessageConnectsAnew) {
  DcRigOptions options;
  options.rig.settings.retry_count = 0;
  options.rig.wire.mtu = 256;
  options.rig.wire.slots = 4;
  DcRig rig(options);
  rig.srq.post({rig.segment(0, 60'000)});
  rig.send(0, 0, rig.send_wqe(0, 60'000));
  ASSERT_TRUE(rig.rig.run_until([&] { return rig.rig.b.engine.counters().bytes_received != 0; }));
  rig.connect(*rig.initiators[0]);
  rig.send(0, 0, rig.write(0, 0, 8));
  EXPECT_EQ(rig.next(0), Syndrome::none);
  const auto cqe = rig.rig.b.receive_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(syndrome_of(*cqe), Syndrome::flushed);
}

TEST(DcTarget, AnInitiatorIsKnownToBeANewOneAfterAnHour) {
  DcRig rig;
  constexpr std::uint64_t kMinute = 60'000'000'000;
  rig.send(0, 0, rig.write(0, 0, 8));
  EXPECT_EQ(rig.next(0), Syndrome::none);
  for (int minute = 0; minute < 55; ++minute) rig.rig.now_ns += kMinute;
  rig.send(0, 0, rig.write(0, 0, 8));
  EXPECT_EQ(rig.next(0), Syndrome::none);
  rig.connect(*rig.initiators[0]);
  rig.send(0, 0, rig.write(0, 0, 8));
  EXPECT_EQ(rig.next(0), Syndrome::none);
}

}  // namespace
}  // namespace gdakit::softnic::test
