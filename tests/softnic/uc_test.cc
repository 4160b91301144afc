// Queue pairs of service type UC: messages that nobody acknowledges.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/engine/status_text.h"
#include "backends/softnic/wire/faulty_wire.h"
#include "tests/softnic/delayed_dma.h"
#include "tests/softnic/lossy_wire.h"
#include "tests/softnic/uc_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;
using format::Syndrome;

// Drops of what a sends the packets that `lost` holds, by their numbers.
RigOptions losing(std::vector<std::uint64_t> lost) {
  RigOptions options = uc_options();
  options.wrap_wire = [lost](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
    if (side == 1) return wire;
    std::uint64_t number = 0;
    const auto drop = [lost, number](const Packet&) mutable {
      return std::find(lost.begin(), lost.end(), number++) != lost.end();
    };
    return std::make_unique<LossyWire>(std::move(wire), Losses{.drop = drop});
  };
  return options;
}

Wqe send_wqe(const Side& side, std::size_t from, std::uint32_t size) {
  Wqe wqe{.opcode = Opcode::send};
  if (size != 0) wqe.body = {side.data(from, size)};
  return wqe;
}

void post_receive(Side& side, std::size_t offset, std::uint32_t size) {
  side.post_receive({format::data(side.heap_address(offset), Be32{side.key}, size)});
}

void expect_same_bytes(const EngineRig& rig, std::size_t to, std::size_t from, std::size_t size) {
  EXPECT_EQ(std::memcmp(rig.b.heap.data() + to, rig.a.heap.data() + from, size), 0);
}

class UcSizes : public testing::TestWithParam<std::uint32_t> {};

TEST_P(UcSizes, ASendArrivesAndIsNotAnswered) {
  EngineRig rig(uc_options());
  fill(rig.a.heap.data(), GetParam(), 1);
  post_receive(rig.b, kTo, 1 << 16);
  const std::uint64_t index = rig.a.post(send_wqe(rig.a, 0, GetParam()));
  ring_and_run(rig);
  const auto sent = rig.a.send_cq.poll();
  ASSERT_TRUE(sent);
  EXPECT_EQ(opcode_of(*sent), CqeOpcode::requester);
  EXPECT_EQ(sent->wqe_counter, index);
  const auto received = rig.b.receive_cq.poll();
  ASSERT_TRUE(received);
  EXPECT_EQ(opcode_of(*received), CqeOpcode::responder_send);
  EXPECT_EQ(received->byte_cnt, GetParam());
  EXPECT_EQ(received->flags_rqpn & 0xffffff, rig.a.qpn);
  expect_same_bytes(rig, kTo, 0, GetParam());
  EXPECT_EQ(rig.b.engine.counters().packets_sent, 0u);
  EXPECT_EQ(rig.a.engine.counters().packets_sent, std::max(1u, (GetParam() + 4095) / 4096));
}

TEST_P(UcSizes, AWriteArrivesAndIsNotAnswered) {
  EngineRig rig(uc_options());
  fill(rig.a.heap.data(), GetParam(), 2);
  Wqe wqe = write_wqe(rig, kTo, 0, GetParam());
  rig.a.post(wqe);
  wqe.opcode = Opcode::rdma_write_imm;
  wqe.imm = 0x01020304;
  post_receive(rig.b, 0, 0);
  rig.a.post(wqe);
  ring_and_run(rig);
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 2u);
  const auto received = rig.b.receive_cq.poll_all();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(opcode_of(received[0]), CqeOpcode::responder_write_imm);
  EXPECT_EQ(received[0].imm_inval_pkey, 0x01020304u);
  EXPECT_EQ(received[0].byte_cnt, GetParam());
  expect_same_bytes(rig, kTo, 0, GetParam());
  EXPECT_EQ(rig.b.engine.counters().packets_sent, 0u);
}

INSTANTIATE_TEST_SUITE_P(Uc, UcSizes, testing::Values(0, 1, 64, 65, 4096, 4097, 20000));

TEST(Uc, InlineMessagesArriveWithImmediateAndSolicited) {
  EngineRig rig(uc_options());
  const std::vector<std::uint8_t> bytes = {1, 2, 3, 4, 5};
  rig.a.post(inline_write_wqe(rig, kTo, bytes));
  Wqe wqe{.opcode = Opcode::send_imm, .solicited = true, .imm = 7, .body = inline_segments(bytes)};
  rig.a.post(wqe);
  post_receive(rig.b, 2 * kTo, 64);
  ring_and_run(rig);
  for (const std::size_t at : {kTo, 2 * kTo}) {
    EXPECT_EQ(std::memcmp(rig.b.heap.data() + at, bytes.data(), bytes.size()), 0);
  }
  const auto received = rig.b.receive_cq.poll();
  ASSERT_TRUE(received);
  EXPECT_EQ(opcode_of(*received), CqeOpcode::responder_send_imm);
  EXPECT_EQ(received->imm_inval_pkey, 7u);
  EXPECT_NE(received->op_own & 2, 0);
}

TEST(Uc, AWqeCompletesThoughItsPacketsAreLost) {
  EngineRig rig(losing({0}));
  post_receive(rig.b, kTo, 64);
  rig.a.post(send_wqe(rig.a, 0, 8));
  ring_and_run(rig);
  expect_sent(rig.a);
  EXPECT_FALSE(rig.b.receive_cq.poll());
  EXPECT_EQ(rig.a.info().state, QpState::rts);
}

// The first, a middle and the last packet of three.
TEST(Uc, AGapGivesUpItsMessageAndNoOther) {
  for (const std::uint64_t lost : {0, 1, 2}) {
    SCOPED_TRACE("packet " + std::to_string(lost));
    EngineRig rig(losing({lost}));
    constexpr std::uint32_t kSize = 3 * 4096;
    fill(rig.a.heap.data(), 2 * kSize, 3);
    post_receive(rig.b, kTo, kSize);
    rig.a.post(send_wqe(rig.a, 0, kSize));
    rig.a.post(send_wqe(rig.a, kSize, kSize));
    ring_and_run(rig);
    EXPECT_EQ(rig.a.send_cq.poll_all().size(), 2u);
    const auto received = rig.b.receive_cq.poll_all();
    ASSERT_EQ(received.size(), 1u);
    EXPECT_EQ(received[0].wqe_counter, 0u) << "the receive WQE of the lost message is the next's";
    expect_same_bytes(rig, kTo, kSize, kSize);
    EXPECT_NE(rig.b.engine.counters().out_of_sequence, 0u);
  }
}

// What is still being written of the message that was given up is not written over the next one.
TEST(Uc, TheNextMessageWaitsForTheBytesOfALostOne) {
  for (int seed = 1; seed < 20; ++seed) {
    RigOptions options = losing({2});
    options.make_port = [seed](int side) {
      return std::make_unique<DelayedDma>(seed + side, /*ordered=*/false);
    };
    EngineRig rig(options);
    constexpr std::uint32_t kSize = 3 * 4096;
    fill(rig.a.heap.data(), 2 * kSize, 3);
    post_receive(rig.b, kTo, kSize);
    for (const std::size_t from : {0u, kSize}) rig.a.post(send_wqe(rig.a, from, kSize));
    ring_and_run(rig);
    EXPECT_EQ(rig.b.receive_cq.poll_all().size(), 1u);
    expect_same_bytes(rig, kTo, kSize, kSize);
  }
}

TEST(Uc, AMissingReceiveWqeDropsTheMessageAlone) {
  EngineRig rig(uc_options());
  fill(rig.a.heap.data(), 2 * 8192, 4);
  rig.a.post(send_wqe(rig.a, 0, 8192));
  ring_and_run(rig);
  EXPECT_EQ(rig.b.engine.counters().out_of_buffer, 1u);
  Wqe wqe = write_wqe(rig, kTo, 0, 8);
  wqe.opcode = Opcode::rdma_write_imm;
  rig.a.post(wqe);
  ring_and_run(rig);
  EXPECT_EQ(rig.b.word<std::uint64_t>(kTo), 0u) << "a WRITE that cannot be told of is dropped";
  post_receive(rig.b, kTo, 8192);
  rig.a.post(send_wqe(rig.a, 8192, 8192));
  ring_and_run(rig);
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 3u);
  EXPECT_EQ(rig.b.receive_cq.poll_all().size(), 1u);
  expect_same_bytes(rig, kTo, 8192, 8192);
}

TEST(Uc, AWriteThatIsNotAllowedIsDroppedAndCounted) {
  RigOptions options = uc_options();
  options.qp_access = Access::none;
  EngineRig closed(options);
  closed.a.post(write_wqe(closed, kTo, 0, 8));
  ring_and_run(closed);
  EXPECT_EQ(closed.b.engine.counters().resp_remote_invalid_request, 1u);
  EngineRig rig(uc_options());
  rig.a.word<std::uint64_t>(0) = 5;
  Wqe wrong = write_wqe(rig, kTo, 0, 8);
  wrong.body[0] = format::to_segment(format::remote_address(rig.b.heap_address(kTo), Be32{0x777}));
  rig.a.post(wrong);
  rig.a.post(write_wqe(rig, 2 * kTo, 0, 8));
  ring_and_run(rig);
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 2u);
  EXPECT_EQ(rig.b.engine.counters().resp_remote_access_errors, 1u);
  EXPECT_EQ(rig.b.word<std::uint64_t>(kTo), 0u);
  EXPECT_EQ(rig.b.word<std::uint64_t>(2 * kTo), 5u);
  EXPECT_EQ(rig.b.info().state, QpState::rts);
}

TEST(Uc, AReceiveWqeThatIsTooShortFailsTheReceiversQueuePair) {
  EngineRig rig(uc_options());
  post_receive(rig.b, kTo, 8);
  post_receive(rig.b, kTo, 64);
  rig.a.post(send_wqe(rig.a, 0, 9));
  ring_and_run(rig);
  expect_sent(rig.a);
  const auto cqes = rig.b.receive_cq.poll_all();
  ASSERT_EQ(cqes.size(), 2u);
  EXPECT_EQ(opcode_of(cqes[0]), CqeOpcode::responder_error);
  EXPECT_EQ(syndrome_of(cqes[0]), Syndrome::local_length);
  EXPECT_EQ(syndrome_of(cqes[1]), Syndrome::flushed);
  EXPECT_EQ(rig.b.info().state, QpState::err);
  EXPECT_EQ(rig.a.info().state, QpState::rts);
}

std::vector<Wqe> wqes_that_uc_has_not(const EngineRig& rig) {
  Wqe dump{.opcode = Opcode::dump, .body = {rig.a.data(0, 8)}};
  return {read_wqe(rig, 0, 0, 8), fetch_add_wqe(rig, 0, 0, 1), dump};
}

TEST(Uc, ReadsAndAtomicsFailTheSendQueueAlone) {
  for (std::size_t i = 0; i < wqes_that_uc_has_not(EngineRig()).size(); ++i) {
    EngineRig rig(uc_options());
    const std::uint64_t good = rig.a.post(write_wqe(rig, kTo, 0, 8));
    const std::uint64_t bad = rig.a.post(wqes_that_uc_has_not(rig)[i]);
    rig.a.post(write_wqe(rig, kTo, 0, 8));
    ring_and_run(rig);
    const auto cqes = rig.a.send_cq.poll_all();
    ASSERT_EQ(cqes.size(), 3u);
    EXPECT_EQ(opcode_of(cqes[0]), CqeOpcode::requester);
    EXPECT_EQ(cqes[0].wqe_counter, good);
    EXPECT_EQ(syndrome_of(cqes[1]), Syndrome::local_qp_operation);
    EXPECT_EQ(cqes[1].wqe_counter, bad);
    EXPECT_EQ(syndrome_of(cqes[2]), Syndrome::flushed);
    EXPECT_EQ(rig.a.info().state, QpState::sqer);
  }
}

TEST(Uc, ASendQueueThatHasFailedFlushesReceivesAndIsBroughtBack) {
  EngineRig rig(uc_options());
  rig.a.post(read_wqe(rig, 0, 0, 8));
  ring_and_run(rig);
  EXPECT_EQ(rig.a.send_cq.poll_all().size(), 1u);
  // A later WQE is flushed.
  rig.a.post(write_wqe(rig, kTo, 0, 8));
  ring_and_run(rig);
  const auto flushed = rig.a.send_cq.poll_all();
  ASSERT_EQ(flushed.size(), 1u);
  EXPECT_EQ(syndrome_of(flushed[0]), Syndrome::flushed);
  // The receive queue works.
  post_receive(rig.a, kTo, 64);
  rig.b.post(send_wqe(rig.b, 0, 8));
  rig.b.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_TRUE(rig.a.receive_cq.poll());
  EXPECT_EQ(rig.a.engine.broken_qps().size(), 1u);
  const Outcome<> back = rig.a.engine.modify_qp(rig.a.qpn, {.state = QpState::rts});
  ASSERT_TRUE(back) << status_text(back.status());
  EXPECT_TRUE(rig.a.engine.broken_qps().empty());
  rig.a.word<std::uint64_t>(0) = 6;
  rig.a.post(write_wqe(rig, kTo, 0, 8));
  ring_and_run(rig);
  expect_sent(rig.a);
  EXPECT_EQ(rig.b.word<std::uint64_t>(kTo), 6u);
}

TEST(Uc, AKeyThatGoesWhileItsMessageIsSentFailsTheWqe) {
  RigOptions options = uc_options();
  int sent = 0;
  options.wrap_wire = [&](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
    if (side == 1) return wire;
    return std::make_unique<LossyWire>(std::move(wire), Losses{.full = [&] { return ++sent > 3; }});
  };
  EngineRig rig(options);
  post_receive(rig.b, kTo, 10 * 4096);
  rig.a.post(send_wqe(rig.a, 0, 10 * 4096));
  rig.a.ring();
  for (int i = 0; i < 100; ++i) rig.step();
  ASSERT_FALSE(rig.a.send_cq.poll());
  ASSERT_TRUE(rig.a.engine.dereg_mr(rig.a.key));
  ASSERT_TRUE(rig.run());
  const auto cqe = rig.a.send_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(syndrome_of(*cqe), Syndrome::local_protection);
  EXPECT_EQ(rig.a.info().state, QpState::sqer);
  EXPECT_FALSE(rig.b.receive_cq.poll());
}

TEST(Uc, WhatIsOutstandingIsFlushedInErr) {
  EngineRig rig(uc_options());
  for (int i = 0; i < 3; ++i) post_receive(rig.a, kTo, 64);
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, {.state = QpState::err}));
  for (int i = 0; i < 2; ++i) rig.a.post(write_wqe(rig, kTo, 0, 8));
  ring_and_run(rig);
  const auto sends = rig.a.send_cq.poll_all();
  const auto receives = rig.a.receive_cq.poll_all();
  ASSERT_EQ(sends.size(), 2u);
  ASSERT_EQ(receives.size(), 3u);
  for (const auto& cqe : sends) EXPECT_EQ(syndrome_of(cqe), Syndrome::flushed);
  for (const auto& cqe : receives) EXPECT_EQ(syndrome_of(cqe), Syndrome::flushed);
}

// Memory of which one place is read for as long as the test likes.
class HeldDma final : public HostDma {
 public:
  std::uint64_t place = 0;
  bool under_way = false;

  DmaOp read(void* to, DmaAddress from, std::size_t size) override {
    under_way |= from.value == place;
    const DmaOp op = HostDma::read(to, from, size);
    return from.value == place ? DmaOp{1} : op;
  }
  DmaOp fence() override { return under_way ? DmaOp{1} : DmaOp{}; }
  bool done(DmaOp op) override { return op.id == 0 || !under_way; }
};

TEST(Uc, NothingIsFlushedWhileItsMemoryIsRead) {
  RigOptions options = uc_options();
  HeldDma* dma = nullptr;
  options.make_port = [&](int side) {
    auto port = std::make_unique<HeldDma>();
    if (side == 0) dma = port.get();
    return port;
  };
  EngineRig rig(options);
  dma->place = rig.a.heap_address(0);
  rig.a.post(write_wqe(rig, kTo, 0, 100));
  rig.a.ring();
  for (int i = 0; i < 50; ++i) rig.step();
  ASSERT_TRUE(dma->under_way);
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, {.state = QpState::err}));
  for (int i = 0; i < 50; ++i) rig.step();
  EXPECT_FALSE(rig.a.send_cq.poll());
  dma->under_way = false;
  ASSERT_TRUE(rig.run());
  const auto cqe = rig.a.send_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(syndrome_of(*cqe), Syndrome::flushed);
  EXPECT_EQ(rig.b.engine.counters().packets_received, 0u);
}

TEST(Uc, AQueueInSqdIsDrainedWhenTheWqeUnderWayHasBeenSent) {
  EngineRig rig(uc_options());
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, {.state = QpState::sqd}));
  rig.a.post(write_wqe(rig, kTo, 0, 8));
  ring_and_run(rig);
  EXPECT_EQ(rig.a.events.of(EventKind::sq_drained).size(), 1u);
  EXPECT_FALSE(rig.a.send_cq.poll());
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, {.state = QpState::rts}));
  ASSERT_TRUE(rig.run());
  expect_sent(rig.a);
}

TEST(Uc, ResetAndRemovalEndWhenNothingIsReadAnyMore) {
  for (const bool resets : {false, true}) {
    RigOptions options = uc_options();
    options.make_port = [](int side) {
      return std::make_unique<DelayedDma>(side, /*ordered=*/side == 0);
    };
    EngineRig rig(options);
    for (int i = 0; i < 8; ++i) rig.a.post(write_wqe(rig, kTo, 0, 9000));
    rig.a.ring();
    for (int i = 0; i < 20; ++i) rig.step();
    if (resets) {
      ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, {.state = QpState::reset}));
    } else {
      ASSERT_TRUE(rig.a.engine.destroy_qp(rig.a.qpn));
    }
    const RemovalNumber number = rig.a.engine.last_removal();
    EXPECT_TRUE(rig.run_until([&] { return rig.a.engine.removed(number); }));
    ASSERT_TRUE(rig.run());
  }
}

// Messages of which each is filled with a byte of its own, and whose receives are as many.
struct Stream {
  static constexpr int kMessages = 400;
  static constexpr std::uint32_t kMost = 12000;

  explicit Stream(const RigOptions& options) : rig(options) {}

  static std::uint32_t size_of(int message) {
    return 1 + static_cast<std::uint32_t>(message) * 7919 % kMost;
  }
  // Sends one message; its bytes stay only until its CQE is here. Looks at what has arrived after
  // each step.
  void send(int message) {
    std::memset(rig.a.heap.data(), message & 0xff, kMost);
    std::memset(rig.b.heap.data(), 0xee, 2 * kMost);
    post_receive(rig.b, 0, kMost);
    rig.a.post(send_wqe(rig.a, 0, size_of(message)));
    rig.a.ring();
    int sent = 0;
    for (int idle = 0; idle < 300;) {
      idle = rig.step() ? 0 : idle + 1;
      for (; rig.a.send_cq.poll(); ++sent) std::memset(rig.a.heap.data(), 0xdd, kMost);
      check(message);
    }
    EXPECT_EQ(sent, 1);
  }
  // What has arrived is the message, all of it.
  void check(int message) {
    for (const auto& cqe : rig.b.receive_cq.poll_all()) {
      ++arrived;
      EXPECT_EQ(opcode_of(cqe), CqeOpcode::responder_send);
      EXPECT_EQ(cqe.byte_cnt, size_of(message));
      const std::uint8_t* const begin = rig.b.heap.data();
      const auto is_of_message = [&](std::uint8_t byte) { return byte == (message & 0xff); };
      EXPECT_TRUE(std::all_of(begin, begin + size_of(message), is_of_message));
    }
  }

  EngineRig rig;
  int arrived = 0;
};

void expect_whole_messages(const Faults& faults, bool ordered, bool delayed) {
  RigOptions options = uc_options();
  options.log_rq = 9;
  options.wrap_wire = [&](std::unique_ptr<Wire> wire, int) -> std::unique_ptr<Wire> {
    return make_faulty(std::move(wire), faults, [] { return std::uint64_t{0}; });
  };
  if (delayed) {
    options.make_port = [ordered](int side) { return std::make_unique<DelayedDma>(side, ordered); };
  }
  Stream stream(options);
  for (int i = 0; i < Stream::kMessages; ++i) stream.send(i);
  EXPECT_GT(stream.arrived, Stream::kMessages / 3);
  if (faults.drop != 0) {
    EXPECT_LT(stream.arrived, Stream::kMessages);
  }
  EXPECT_EQ(stream.rig.b.info().state, QpState::rts);
}

TEST(Uc, MessagesArriveWholeOrNotAtAllWhenPacketsAreLost) {
  expect_whole_messages({.drop = 0.2}, true, false);
}

TEST(Uc, MessagesArriveWholeOrNotAtAllWhenPacketsAreDamagedRepeatedAndLost) {
  expect_whole_messages({.drop = 0.1, .repeat = 0.1, .corrupt = 0.1}, true, false);
}

TEST(Uc, MessagesArriveWholeOrNotAtAllWhateverTheOrderOfDma) {
  for (const bool ordered : {false, true}) expect_whole_messages({.drop = 0.1}, ordered, true);
}

TEST(Uc, MessagesArriveWholeOrNotAtAllWhenPacketsChangePlaces) {
  expect_whole_messages({.reorder = 0.1, .reorder_depth = 2}, true, false);
}

}  // namespace
}  // namespace gdakit::softnic::test
