// Losses one by one: when the requester tries again, from where, and when it gives up.
#include <gtest/gtest.h>

#include "tests/softnic/engine_rig.h"
#include "tests/softnic/lossy_wire.h"
#include "tests/softnic/slow_dma.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;
using format::Syndrome;

// A rig whose side a, or b, drops what `drop` says.
RigOptions dropping(int dropping_side, std::function<bool(const Packet&)> drop) {
  RigOptions options;
  options.settings.ack_timeout = 5;
  options.wrap_wire = [dropping_side, drop](std::unique_ptr<Wire> wire,
                                            int side) -> std::unique_ptr<Wire> {
    if (side != dropping_side) return wire;
    return std::make_unique<LossyWire>(std::move(wire), Losses{.drop = drop});
  };
  return options;
}

TEST(Retry, IsGivenUpAfterRetryCount) {
  int sent = 0;
  RigOptions options = dropping(0, [&sent](const Packet&) { return ++sent > 0; });
  options.settings.retry_count = 3;
  EngineRig rig(options);
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().state == QpState::err; }));
  ASSERT_TRUE(rig.run());
  const auto cqes = rig.a.send_cq.poll_all();
  ASSERT_EQ(cqes.size(), 2u);
  EXPECT_EQ(syndrome_of(cqes[0]), Syndrome::transport_retry_exceeded);
  EXPECT_EQ(vendor_of(cqes[0]), format::vendor::retry_exceeded);
  EXPECT_EQ(syndrome_of(cqes[1]), Syndrome::flushed);
  EXPECT_EQ(sent, 2 * (1 + 3));
}

TEST(Retry, WaitsForTheAckTimeout) {
  RigOptions options = dropping(1, [](const Packet&) { return true; });
  options.settings.ack_timeout = 10;
  EngineRig rig(options);
  const std::uint64_t timeout = 4096ull << 10;
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  rig.step();
  const std::uint64_t sent_at = rig.now_ns;
  rig.now_ns = sent_at + timeout - 200;
  rig.step();
  EXPECT_EQ(rig.a.engine.counters().retries, 0u);
  rig.now_ns = sent_at + timeout + 100;
  rig.step();
  EXPECT_EQ(rig.a.engine.counters().retries, 1u);
}

TEST(Retry, CountsFromTheLastProgress) {
  int acks = 0;
  RigOptions options = dropping(1, [&acks](const Packet&) { return ++acks > 1; });
  options.settings.ack_timeout = 10;
  EngineRig rig(options);
  const std::uint64_t timeout = 4096ull << 10;
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  rig.step();
  const std::uint64_t first_at = rig.now_ns;
  rig.now_ns += timeout / 2;
  for (int i = 0; i < 5; ++i) rig.step();
  ASSERT_EQ(rig.a.info().send_completed, 1u);
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  rig.step();
  // The first WQE's deadline is past, the second one's is not.
  rig.now_ns = first_at + timeout + 1000;
  for (int i = 0; i < 5; ++i) rig.step();
  EXPECT_EQ(rig.a.engine.counters().retries, 0u);
  rig.now_ns = first_at + timeout * 2;
  for (int i = 0; i < 5; ++i) rig.step();
  EXPECT_EQ(rig.a.engine.counters().retries, 1u);
}

TEST(Retry, NeverHappensWithTimeout0) {
  RigOptions options = dropping(1, [](const Packet&) { return true; });
  options.settings.ack_timeout = 0;
  EngineRig rig(options);
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_FALSE(rig.a.engine.next_timer_ns().has_value());
  rig.now_ns += 1'000'000'000'000;
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.engine.counters().retries, 0u);
}

TEST(Retry, ItsTimerStopsWithTheAnswer) {
  EngineRig rig;
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  rig.a.engine.step(rig.now_ns);
  EXPECT_TRUE(rig.a.engine.next_timer_ns().has_value());
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().send_completed, 1u);
  EXPECT_FALSE(rig.a.engine.next_timer_ns().has_value());
}

TEST(Retry, ItsTimerGoesWithTheQueuePair) {
  for (const bool destroyed : {false, true}) {
    EngineRig rig(dropping(1, [](const Packet&) { return true; }));
    rig.a.post(write_wqe(rig, 0, 0, 8));
    rig.a.ring();
    ASSERT_TRUE(rig.run());
    ASSERT_TRUE(rig.a.engine.next_timer_ns().has_value());
    if (destroyed) {
      ASSERT_TRUE(rig.a.engine.destroy_qp(rig.a.qpn));
    } else {
      QpModify reset;
      reset.state = QpState::reset;
      ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, reset));
    }
    EXPECT_FALSE(rig.a.engine.next_timer_ns().has_value());
    ASSERT_TRUE(rig.run());
  }
}

TEST(Retry, ReadsTheWqeAgainAndFailsIfItHasChanged) {
  int sent = 0;
  EngineRig rig(dropping(0, [&sent](const Packet&) { return ++sent == 1; }));
  Wqe wqe = write_wqe(rig, 0, 0, 8);
  rig.a.post(wqe);
  rig.a.ring();
  rig.step();
  // The client breaks the rule that a WQE stays until it completes: other length, then many WQEs
  // more, so that the NIC's copy is gone.
  for (int i = 0; i < 40; ++i) rig.a.post({});
  rig.a.producer = 0;
  wqe.body[1] = rig.a.data(0, 16);
  rig.a.post(wqe);
  rig.a.producer = 41;
  rig.a.ring();
  for (int i = 0; i < 20; ++i) rig.step();
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().state == QpState::err; }));
  EXPECT_EQ(rig.a.info().first_error.syndrome, Syndrome::local_qp_operation);
  EXPECT_EQ(rig.a.info().first_error.wqe_index, 0u);
}

// The acknowledge comes while the NIC reads the WQEs once more: their slots stay its own until
// then.
TEST(Retry, CompletesNoWqeWhoseSlotIsBeingRead) {
  bool full = true;  // b cannot acknowledge
  SlowDma* dma = nullptr;
  RigOptions options;
  options.settings.ack_timeout = 5;
  options.make_port = [&dma](int side) {
    auto port = std::make_unique<SlowDma>();
    if (side == 0) dma = port.get();
    return port;
  };
  options.wrap_wire = [&full](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
    if (side == 0) return wire;
    return std::make_unique<LossyWire>(std::move(wire), Losses{.full = [&] { return full; }});
  };
  EngineRig rig(options);
  // Once all are sent the NIC keeps no copy of them, and reads them again.
  constexpr std::uint64_t kWqes = 8;
  for (std::uint64_t i = 0; i < kWqes; ++i) rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  ASSERT_TRUE(rig.run_until([&] { return rig.a.engine.counters().packets_sent == kWqes; }));
  dma->slow = host_address(rig.a.sq.data());
  ASSERT_TRUE(rig.run_until([&] { return dma->under_way; }));
  full = false;
  for (int i = 0; i < 100; ++i) rig.step();
  EXPECT_EQ(rig.a.info().send_completed, 0u);
  dma->slow.reset();
  dma->under_way = false;
  EXPECT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == kWqes; }));
}

TEST(Retry, GoesBackOverNopsAndDumpsAndAnsweredReads) {
  for (int lose = 1; lose <= 12; ++lose) {
    int sent = 0;
    EngineRig rig(dropping(0, [&sent, lose](const Packet&) { return ++sent == lose; }));
    fill(rig.a.heap.data(), 64, 3);
    for (int round = 0; round < 3; ++round) {
      rig.a.post({});
      rig.a.post({.opcode = Opcode::dump, .body = {rig.a.data(0, 100'000)}});
      rig.a.post(fetch_add_wqe(rig, 1000, 1000, 1));
      rig.a.post(write_wqe(rig, 0, 0, 64));
      rig.a.post({});
      rig.a.post(read_wqe(rig, 2000, 0, 64));
    }
    rig.a.ring();
    ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 18; })) << lose;
    const auto cqes = rig.a.send_cq.poll_all();
    ASSERT_EQ(cqes.size(), 18u);
    for (std::size_t i = 0; i < cqes.size(); ++i) {
      EXPECT_EQ(opcode_of(cqes[i]), CqeOpcode::requester);
      EXPECT_EQ(cqes[i].wqe_counter, i);
    }
    EXPECT_EQ(rig.b.word<std::uint64_t>(1000), 3u);
    EXPECT_EQ(std::memcmp(rig.a.heap.data() + 2000, rig.a.heap.data(), 64), 0);
  }
}

TEST(Retry, LeavesANopThatCompletesWhileTheCursorStandsOnIt) {
  // A turn sends 32 WRITEs again and ends in front of the NOP, which the acknowledge of all 32
  // completes.
  for (int writes = 28; writes < 36; ++writes) {
    int sent = 0;
    EngineRig rig(dropping(0, [&sent, writes](const Packet&) { return ++sent <= writes + 1; }));
    for (int i = 0; i < writes; ++i) rig.a.post(write_wqe(rig, 0, 0, 8));
    rig.a.post({});
    rig.a.post(write_wqe(rig, 0, 0, 8));
    rig.a.ring();
    const auto all = static_cast<std::uint64_t>(writes + 2);
    ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == all; }));
    EXPECT_EQ(rig.a.send_cq.poll_all().size(), all);
  }
}

// The wire may repeat what it carries: a second copy of a NAK asks for nothing more.
TEST(Retry, ARepeatedNakCountsOnce) {
  int sent = 0;
  RigOptions options;
  options.settings.ack_timeout = 5;
  options.settings.retry_count = 1;
  options.wrap_wire = [&sent](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
    const Losses losses = side == 1 ? Losses{.repeat_percent = 100}
                                    : Losses{.drop = [&](const Packet&) { return ++sent == 1; }};
    return std::make_unique<LossyWire>(std::move(wire), losses);
  };
  EngineRig rig(options);
  for (int i = 0; i < 3; ++i) rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 3; }));
  EXPECT_EQ(rig.a.info().state, QpState::rts);
  EXPECT_EQ(rig.a.engine.counters().retries, 1u);
}

// A turn's 64 steps end behind the start of the last NOP: a WRITE of two packets takes three, every
// other WQE two.
void post_until_a_nop_is_started_and_not_sent(EngineRig& rig) {
  rig.a.post(write_wqe(rig, 0, 0, 512));
  for (int i = 0; i < 31; ++i) rig.a.post({});
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
}

TEST(Retry, SendsTheNopThatWasStartedWhenAPacketWasLost) {
  int sent = 0;
  RigOptions options = dropping(0, [&sent](const Packet&) { return ++sent == 1; });
  options.wire.mtu = 256;
  EngineRig rig(options);
  post_until_a_nop_is_started_and_not_sent(rig);
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 33; }));
}

TEST(Retry, SendsTheNopThatWasStartedWhenAKeyWent) {
  RigOptions options;
  options.wire.mtu = 256;
  EngineRig rig(options);
  MrAttributes other;
  other.pd = rig.a.pd;
  other.base = host_address(rig.a.heap.data());
  other.length = 4096;
  other.access = Access::all;
  const MemoryKey key = *rig.a.engine.reg_mr(other);
  post_until_a_nop_is_started_and_not_sent(rig);
  rig.a.engine.step(++rig.now_ns);
  ASSERT_TRUE(rig.a.engine.dereg_mr(key));
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().send_completed, 33u);
}

TEST(Retry, StopsWhenWhatIsSentAgainTurnsOutToBeAcknowledged) {
  int acks = 0;
  std::uint64_t lost = 0;
  RigOptions options = dropping(1, [&](const Packet&) { return ++acks <= 10 && ++lost != 0; });
  options.log_sq = 8;
  EngineRig rig(options);
  for (int i = 0; i < 200; ++i) rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  ASSERT_GT(lost, 0u);
  ASSERT_EQ(rig.a.engine.counters().packets_sent, 200u);
  acks = 10;
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 200; }));
  EXPECT_LT(rig.a.engine.counters().packets_sent, 300u);
}

TEST(Retry, OfAReadIsQuickAgainAfterATimeout) {
  int responses = 0;
  // Attempt 1 loses the first of 8, attempt 2 all 8, attempt 3 the first.
  RigOptions options = dropping(1, [&responses](const Packet& packet) {
    if (!is_read_response(packet.header.opcode)) return false;
    ++responses;
    return responses == 1 || (responses > 8 && responses <= 17);
  });
  options.wire.mtu = 256;
  options.settings.ack_timeout = 20;
  EngineRig rig(options);
  fill(rig.b.heap.data(), 2048, 3);
  rig.a.post(read_wqe(rig, 0, 0, 2048));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  ASSERT_EQ(responses, 16);
  rig.now_ns = rig.a.engine.next_timer_ns().value();
  // No further timeout: the gap is seen at once.
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.info().send_completed, 1u);
  EXPECT_EQ(std::memcmp(rig.a.heap.data(), rig.b.heap.data(), 2048), 0);
}

TEST(Retry, APeerThatTakesNothingIsGivenUpLikeOneThatDoesNotAnswer) {
  RigOptions options;
  options.settings.ack_timeout = 5;
  options.wrap_wire = [](std::unique_ptr<Wire> wire, int) -> std::unique_ptr<Wire> {
    return std::make_unique<LossyWire>(std::move(wire), Losses{.full = [] { return true; }});
  };
  EngineRig rig(options);
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().state == QpState::err; }));
  EXPECT_EQ(rig.a.info().first_error.syndrome, Syndrome::transport_retry_exceeded);
}

// Of a NIC that stands still, as one of a stopped process, nothing is lost.
TEST(Retry, WaitsAsLongAsThePeerHasYetToRead) {
  RigOptions options;
  options.settings.ack_timeout = 5;
  EngineRig rig(options);
  fill(rig.a.heap.data(), 64, 1);
  rig.a.post(write_wqe(rig, 0, 0, 64));
  rig.a.post(fetch_add_wqe(rig, 128, 256, 1));
  rig.a.ring();
  for (int i = 0; i < 1000; ++i) rig.a.engine.step(rig.now_ns += 4096ull << 5);
  EXPECT_EQ(rig.a.info().state, QpState::rts);
  EXPECT_EQ(rig.a.engine.counters().retries, 0u);
  ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 2; }));
  EXPECT_EQ(std::memcmp(rig.b.heap.data(), rig.a.heap.data(), 64), 0);
  EXPECT_EQ(rig.b.word<std::uint64_t>(256), 1u);
}

TEST(AtomicReplay, ALostAnswerIsRepeatedFromTheCache) {
  for (int lose = 1; lose <= 16; ++lose) {
    int answers = 0;
    EngineRig rig(dropping(1, [&answers, lose](const Packet& packet) {
      return packet.header.opcode == PacketOpcode::atomic_acknowledge && ++answers == lose;
    }));
    for (std::size_t i = 0; i < 16; ++i) rig.a.post(fetch_add_wqe(rig, i * 8, 256, 1));
    rig.a.ring();
    ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 16; }));
    EXPECT_EQ(rig.b.word<std::uint64_t>(256), 16u);
    for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(rig.a.word<std::uint64_t>(i * 8), i);
    EXPECT_EQ(rig.a.engine.counters().retries, 1u);
  }
}

TEST(ReadRetry, ALostResponseIsAskedForAgainFromThereOn) {
  for (int lose = 1; lose <= 8; ++lose) {
    int responses = 0;
    std::uint64_t sent = 0;
    RigOptions options = dropping(1, [&](const Packet& packet) {
      ++sent;
      return is_read_response(packet.header.opcode) && ++responses == lose;
    });
    options.wire.mtu = 256;
    EngineRig rig(options);
    fill(rig.b.heap.data(), 2000, 7);
    rig.a.post(read_wqe(rig, 0, 0, 2000));
    rig.a.ring();
    ASSERT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 1; }));
    EXPECT_EQ(std::memcmp(rig.a.heap.data(), rig.b.heap.data(), 2000), 0);
  }
}

// Memory that can be lost, as a GPU's is by a fault: reads then bring zeros, writes go nowhere.
class LosableMemory final : public HostDma {
 public:
  explicit LosableMemory(const bool& is_lost) : is_lost_(is_lost) {}
  DmaOp read(void* to, DmaAddress from, std::size_t size) override {
    if (is_lost_) std::memset(to, 0, size);
    return is_lost_ ? DmaOp{} : HostDma::read(to, from, size);
  }
  DmaOp write(DmaAddress to, const void* from, std::size_t size) override {
    return is_lost_ ? DmaOp{} : HostDma::write(to, from, size);
  }
  bool lost() const override { return is_lost_; }

 private:
  const bool& is_lost_;
};

// Nobody is told that a READ or a WRITE was done which memory no longer does, nor sent its zeros.
TEST(Retry, ANicWhoseMemoryIsLostSaysNothingMore) {
  const auto error_of = [](auto make_wqe) {
    bool is_lost = false;
    RigOptions options;
    options.settings.ack_timeout = 5;
    options.make_port = [&is_lost](int side) -> std::unique_ptr<DmaPort> {
      if (side == 0) return std::make_unique<HostDma>();
      return std::make_unique<LosableMemory>(is_lost);
    };
    EngineRig rig(options);
    fill(rig.a.heap.data(), 64, 1);
    rig.a.post(make_wqe(rig, 0, 0, 8));
    rig.a.ring();
    EXPECT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == 1; }));
    const auto mine = rig.a.word<std::uint64_t>(64);
    const auto other = rig.b.word<std::uint64_t>(64);
    is_lost = true;
    rig.a.post(make_wqe(rig, 64, 64, 8));
    rig.a.ring();
    EXPECT_TRUE(rig.run_until([&] { return rig.a.info().state == QpState::err; }));
    EXPECT_EQ(rig.a.word<std::uint64_t>(64), mine);
    EXPECT_EQ(rig.b.word<std::uint64_t>(64), other);
    return rig.a.info().first_error.syndrome;
  };
  EXPECT_EQ(error_of(read_wqe), Syndrome::transport_retry_exceeded);
  EXPECT_EQ(error_of(write_wqe), Syndrome::transport_retry_exceeded);
}

}  // namespace
}  // namespace gdakit::softnic::test
