// Each counter counts what its name says: one cause at a time, and all of them in sum.
#include <map>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "core/host/counter_table.h"
#include "tests/softnic/engine_rig.h"
#include "tests/softnic/lossy_wire.h"

namespace gdakit::softnic::test {
namespace {

using format::Opcode;
using format::Syndrome;

// A rig whose side loses the packets that `drop` says.
RigOptions dropping(int dropping_side, std::function<bool(const Packet&)> drop) {
  RigOptions options;
  options.settings.ack_timeout = 5;
  options.wrap_wire = [=](std::unique_ptr<Wire> wire, int side) -> std::unique_ptr<Wire> {
    if (side != dropping_side) return wire;
    return std::make_unique<LossyWire>(std::move(wire), Losses{.drop = drop});
  };
  return options;
}

// Drops the first packet of this opcode.
std::function<bool(const Packet&)> first_of(PacketOpcode opcode) {
  return [opcode, dropped = false](const Packet& packet) mutable {
    return packet.header.opcode == opcode && !std::exchange(dropped, true);
  };
}

bool completes(EngineRig& rig) {
  rig.a.ring();
  return rig.run_until([&] { return rig.a.info().send_completed == rig.a.producer; }) && rig.run();
}

// The counters that are not 0, but for those of a job in which nothing goes wrong.
std::map<std::string_view, std::uint64_t> troubles(const Side& side) {
  std::map<std::string_view, std::uint64_t> found;
  const NicCounters counters = side.engine.counters();
  bool of_troubles = false;
  for (const CounterRow& row : counter_table()) {
    of_troubles |= row.name == "out_of_sequence";
    if (of_troubles && value_of(counters, row) != 0) found[row.name] = value_of(counters, row);
  }
  return found;
}
using Troubles = std::map<std::string_view, std::uint64_t>;

TEST(Counters, OfAJobInWhichNothingGoesWrong) {
  EngineRig rig;
  rig.a.post(write_wqe(rig, 0, 0, 1000));
  rig.a.post(read_wqe(rig, 0, 0, 500));
  rig.a.post(fetch_add_wqe(rig, 0, 64, 1));
  rig.a.post(fetch_add_wqe(rig, 0, 64, 1));
  ASSERT_TRUE(completes(rig));
  const NicCounters a = rig.a.engine.counters(), b = rig.b.engine.counters();
  EXPECT_EQ(a.posted_wqebbs, rig.a.producer);
  EXPECT_EQ(a.fetched_wqebbs, rig.a.producer);
  EXPECT_EQ(a.wqes, 4u);
  EXPECT_EQ(a.cqes, 4u);
  EXPECT_EQ(a.doorbells, 1u);
  EXPECT_EQ(a.bytes_sent, 1000u);
  EXPECT_EQ(a.bytes_received, 500u);
  EXPECT_EQ(b.bytes_received, 1000u);
  EXPECT_EQ(b.rx_write_requests, 1u);
  EXPECT_EQ(b.rx_read_requests, 1u);
  EXPECT_EQ(b.rx_atomic_requests, 2u);
  EXPECT_EQ(a.packets_sent, b.packets_received);
  EXPECT_EQ(a.udp_packets_sent + b.udp_packets_sent, 0u);
  EXPECT_EQ(b.packets_sent, a.packets_received);
  EXPECT_EQ(a.lost_doorbells, 0u);
  EXPECT_EQ(troubles(rig.a), Troubles{});
  EXPECT_EQ(troubles(rig.b), Troubles{});
}

TEST(Counters, OfARequestThatIsLost) {
  EngineRig rig(dropping(0, first_of(PacketOpcode::write_only)));
  for (int i = 0; i < 3; ++i) rig.a.post(write_wqe(rig, 0, 0, 8));
  ASSERT_TRUE(completes(rig));
  EXPECT_EQ(troubles(rig.a), (Troubles{{"packet_seq_err", 1}, {"retries", 1}}));
  EXPECT_EQ(troubles(rig.b), (Troubles{{"out_of_sequence", 2}, {"naks_sent", 1}}));
  EXPECT_EQ(rig.b.engine.counters().rx_write_requests, 3u);
  EXPECT_EQ(rig.b.engine.counters().bytes_received, 24u);
  EXPECT_EQ(rig.a.engine.counters().bytes_sent, 6 * 8u);  // all were sent twice
}

TEST(Counters, OfAnAcknowledgeThatIsLost) {
  EngineRig rig(dropping(1, first_of(PacketOpcode::acknowledge)));
  rig.a.post(write_wqe(rig, 0, 0, 8));
  ASSERT_TRUE(completes(rig));
  EXPECT_EQ(troubles(rig.a), (Troubles{{"local_ack_timeout_err", 1}, {"retries", 1}}));
  EXPECT_EQ(troubles(rig.b), (Troubles{{"duplicate_request", 1}}));
  EXPECT_EQ(rig.b.engine.counters().rx_write_requests, 1u);
}

TEST(Counters, OfAReadResponseThatIsLost) {
  EngineRig rig(dropping(1, first_of(PacketOpcode::read_response_only)));
  rig.a.post(read_wqe(rig, 0, 0, 8));
  rig.a.post(read_wqe(rig, 64, 64, 8));
  ASSERT_TRUE(completes(rig));
  EXPECT_EQ(troubles(rig.a), (Troubles{{"implied_nak_seq_err", 1}, {"retries", 1}}));
  EXPECT_EQ(troubles(rig.b), (Troubles{{"duplicate_request", 2}}));
  EXPECT_EQ(rig.b.engine.counters().rx_read_requests, 2u);
}

TEST(Counters, OfARetransmissionBeforeTheAckTimeout) {
  RigOptions options = dropping(0, first_of(PacketOpcode::read_request));
  options.engine.adaptive_retransmission = true;
  options.settings.ack_timeout = 20;
  EngineRig rig(options);
  rig.a.post(write_wqe(rig, 0, 0, 8));
  ASSERT_TRUE(completes(rig));
  rig.a.post(read_wqe(rig, 0, 0, 8));
  ASSERT_TRUE(completes(rig));
  EXPECT_EQ(troubles(rig.a), (Troubles{{"roce_adp_retrans", 1}, {"retries", 1}}));
}

TEST(Counters, OfAReceiverThatIsNotReady) {
  EngineRig rig;
  rig.a.post({.opcode = Opcode::send, .body = {rig.a.data(0, 100)}});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 100)});
  ASSERT_TRUE(completes(rig));
  EXPECT_EQ(troubles(rig.a), (Troubles{{"rnr_nak_retry_err", 1}, {"retries", 1}}));
  EXPECT_EQ(troubles(rig.b), (Troubles{{"out_of_buffer", 1}, {"naks_sent", 1}}));
}

// A bad WQE and one behind it.
Troubles requester_troubles(EngineRig& rig, const Wqe& bad) {
  rig.a.post(bad);
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  EXPECT_TRUE(rig.run_until([&] { return rig.a.info().send_completed == rig.a.producer; }));
  EXPECT_TRUE(rig.run());
  return troubles(rig.a);
}

// What a WQE that fails for this counts with, beside its own counter.
Troubles one_error(std::string_view name) {
  return {{"req_cqe_error", 2}, {"req_cqe_flush_error", 1}, {name, 1}};
}

TEST(Counters, OfErrorsBySyndrome) {
  EngineRig access;
  Wqe wqe = write_wqe(access, 0, 0, 8);
  wqe.body[0] = format::to_segment(format::remote_address(access.b.heap_address(0), Be32{0x1200}));
  EXPECT_EQ(requester_troubles(access, wqe), one_error("req_remote_access_errors"));
  EXPECT_EQ(troubles(access.b)["resp_remote_access_errors"], 1u);

  RigOptions no_right;
  no_right.qp_access = Access::remote_read;
  EngineRig invalid(no_right);
  EXPECT_EQ(requester_troubles(invalid, write_wqe(invalid, 0, 0, 8)),
            one_error("req_remote_invalid_request"));
  EXPECT_EQ(troubles(invalid.b)["resp_remote_invalid_request"], 1u);

  EngineRig own;
  wqe = write_wqe(own, 0, 0, 8);
  wqe.body[1] = format::to_segment(format::data(own.a.heap_address(0), Be32{0x1200}, 8));
  EXPECT_EQ(requester_troubles(own, wqe), one_error("req_local_protection"));

  EngineRig malformed;
  EXPECT_EQ(requester_troubles(malformed, {.opcode = static_cast<Opcode>(0x7f)}),
            one_error("local_operation_error"));
}

TEST(Counters, OfAReceiveWqeThatIsTooShort) {
  EngineRig rig;
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 8)});
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 8)});
  const Wqe wqe = {.opcode = Opcode::send, .body = {rig.a.data(0, 100)}};
  EXPECT_EQ(requester_troubles(rig, wqe), one_error("req_remote_invalid_request"));
  EXPECT_EQ(troubles(rig.b), (Troubles{{"naks_sent", 1},
                                       {"resp_cqe_error", 2},
                                       {"resp_cqe_flush_error", 1},
                                       {"resp_local_length_error", 1}}));
}

// A retry that is one too many counts as the error alone.
TEST(Counters, OfRetriesThatAreUsedUp) {
  RigOptions options = dropping(0, [](const Packet&) { return true; });
  options.settings.retry_count = 3;
  EngineRig silent(options);
  Troubles expected = one_error("req_transport_retries_exceeded");
  expected["retries"] = expected["local_ack_timeout_err"] = 3;
  EXPECT_EQ(requester_troubles(silent, write_wqe(silent, 0, 0, 8)), expected);

  options = {};
  options.settings.rnr_retry = 2;
  EngineRig not_ready(options);
  expected = one_error("req_rnr_retries_exceeded");
  expected["retries"] = expected["rnr_nak_retry_err"] = 2;
  const Wqe wqe = {.opcode = Opcode::send, .body = {not_ready.a.data(0, 100)}};
  EXPECT_EQ(requester_troubles(not_ready, wqe), expected);
  EXPECT_EQ(troubles(not_ready.b), (Troubles{{"out_of_buffer", 3}, {"naks_sent", 3}}));
}

TEST(Counters, OfACompletionQueueThatOverflows) {
  RigOptions options;
  options.log_cq = 1;
  options.overrun_ignore = false;
  EngineRig rig(options);
  for (int i = 0; i < 4; ++i) rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  EXPECT_EQ(rig.a.engine.counters().cqes, 2u);
  EXPECT_GE(rig.a.engine.counters().cq_overflow, 1u);
}

constexpr std::uint64_t kLongNs = 2'000'000'000;

TEST(LostDoorbells, AreThoseThatNeverCome) {
  for (const UarType type : {UarType::dense, UarType::registers}) {
    RigOptions options;
    options.uar_type = type;
    EngineRig rig(options);
    ASSERT_TRUE(rig.run());  // what is there at the beginning is not lost
    rig.a.post(write_wqe(rig, 0, 0, 8));
    rig.a.store_record();
    ASSERT_TRUE(rig.run());
    ASSERT_EQ(rig.a.info().send_completed, 1u);
    EXPECT_EQ(rig.a.engine.counters().lost_doorbells, 0u) << "it may be late";
    rig.now_ns += kLongNs;
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.a.engine.counters().lost_doorbells, 1u);
    EXPECT_EQ(rig.a.engine.counters().posted_wqebbs, 1u);
    rig.now_ns += kLongNs;
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.a.engine.counters().lost_doorbells, 1u) << "once";
  }
}

TEST(LostDoorbells, AreNotThoseThatComeLate) {
  for (const UarType type : {UarType::dense, UarType::registers}) {
    RigOptions options;
    options.uar_type = type;
    EngineRig rig(options);
    ASSERT_TRUE(rig.run());
    rig.a.post(write_wqe(rig, 0, 0, 8));
    rig.a.store_record();
    ASSERT_TRUE(rig.run());
    rig.a.ring();
    ASSERT_TRUE(rig.run());
    rig.now_ns += kLongNs;
    ASSERT_TRUE(rig.run());
    EXPECT_EQ(rig.a.engine.counters().lost_doorbells, 0u);
    EXPECT_EQ(rig.a.engine.counters().doorbells, 1u);
    EXPECT_EQ(rig.a.engine.counters().posted_wqebbs, 1u);
  }
}

TEST(LostDoorbells, OfAnotherQueuesRegisterAreFoundByTheNextOne) {
  RigOptions options;
  options.uar_type = UarType::registers;
  EngineRig rig(options);
  ASSERT_TRUE(rig.run());
  rig.a.post(write_wqe(rig, 0, 0, 8));
  rig.a.store_record();
  ASSERT_TRUE(rig.run());
  rig.a.post(write_wqe(rig, 0, 0, 8));
  ASSERT_TRUE(completes(rig));
  EXPECT_EQ(rig.a.engine.counters().lost_doorbells, 1u);
}

TEST(NicCount, IsTheSumOfItsQueuePairsAlsoOfThoseThatAreGone) {
  RigOptions options = dropping(0, first_of(PacketOpcode::write_only));
  EngineRig rig(options);
  const Pages record(8);
  const QpNumber idle = *rig.a.engine.create_qp(rig.a.another_qp(record));
  for (int i = 0; i < 3; ++i) rig.a.post(write_wqe(rig, 0, 0, 8));
  ASSERT_TRUE(completes(rig));
  const NicCount before = rig.a.engine.count();
  ASSERT_EQ(before.queues.size(), 2u);
  QueueCounters sum;
  for (const QueueCount& queue : before.queues) sum += queue.counters;
  for (const CounterRow& row : counter_table()) {
    if (row.of != CounterOf::queue) continue;
    EXPECT_EQ(value_of(sum, row), value_of(before.nic, row)) << row.name;
  }
  EXPECT_EQ(before.nic.packet_seq_err, 1u);
  // A queue pair goes on counting when it is reset.
  QpModify reset;
  reset.state = QpState::reset;
  ASSERT_TRUE(rig.a.engine.modify_qp(rig.a.qpn, reset));
  EXPECT_EQ(rig.a.engine.counters().wqes, 3u);
  EXPECT_EQ(rig.a.engine.count().queues.size(), 2u);
  for (const QpNumber qpn : {rig.a.qpn, idle}) ASSERT_TRUE(rig.a.engine.destroy_qp(qpn));
  const NicCount after = rig.a.engine.count();
  EXPECT_TRUE(after.queues.empty());
  for (const CounterRow& row : counter_table()) {
    EXPECT_EQ(value_of(after.nic, row), value_of(before.nic, row)) << row.name;
  }
}

}  // namespace
}  // namespace gdakit::softnic::test
