// A shared receive queue by the calls of a Nic, with the NIC's own thread.
#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/softnic/nic_client.h"
#include "tests/softnic/srq_rig.h"

namespace gdakit::softnic::test {
namespace {

class Listener final : public EventSink {
 public:
  void event(const Event& event) override {
    const std::scoped_lock lock(mutex_);
    events_.push_back(event);
  }
  // Waits for the first event, ten seconds at most.
  std::vector<Event> wait() {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < limit) {
      const std::scoped_lock lock(mutex_);
      if (!events_.empty()) break;
      std::this_thread::yield();
    }
    const std::scoped_lock lock(mutex_);
    return std::exchange(events_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<Event> events_;
};

NicOptions heard_by(Listener& listener) {
  NicOptions options;
  options.engine.events = &listener;
  return options;
}

// A client whose queue pair sends to another one of the same NIC, which has a shared receive queue.
class SrqNic : public testing::Test {
 protected:
  SrqNic() {
    srqn = *nic.create_srq(srq.attributes(client.pd));
    CqAttributes cq;
    cq.entries = receive_cq.address();
    cq.log_entries = receive_cq.log_entries();
    cq.doorbell_record = receive_cq.record();
    receive_cqn = *nic.create_cq(cq);
  }
  QpNumber make_receiver() {
    QpAttributes qp;
    qp.pd = client.pd;
    qp.send_cq = client.cqn;
    qp.receive_cq = receive_cqn;
    qp.uar = client.uar.number;
    qp.send_queue = host_address(sq.data());
    qp.doorbell_record = host_address(record.data());
    qp.srq = srqn;
    return *nic.create_qp(qp);
  }
  void connect(QpNumber from, QpNumber to) {
    QpModify modify;
    modify.path.endpoint = nic.endpoint();
    modify.remote_qpn = to;
    for (const QpState state : {QpState::init, QpState::rtr, QpState::rts}) {
      modify.state = state;
      ASSERT_TRUE(nic.modify_qp(from, modify));
    }
  }
  void send(std::size_t from, std::uint32_t size) {
    const format::Segment segments[2] = {
        format::to_segment(format::control(
            format::Opcode::send, 0, format::wire_index(client.producer), client.qpn, 2,
            format::fm_ce_se(format::FenceMode::none, format::Completion::always))),
        format::to_segment(format::data(client.address(from), Be32{client.key}, size))};
    std::memcpy(client.sq.data() + (client.producer % kDepth) * format::kWqebbBytes, segments,
                sizeof segments);
    ++client.producer;
    client.ring();
  }

  Listener listener;
  std::shared_ptr<LoopbackFabric> fabric = LoopbackFabric::create();
  Pages sq{64}, record{8};
  SrqClient srq{SrqForm::list, 4, 5};
  CqReader receive_cq{4, false};
  Client client{*fabric, heard_by(listener)};
  Nic& nic = *client.nic;
  SrqNumber srqn = 0;
  CqNumber receive_cqn = 0;
};

// Before any queue pair is connected, too.
TEST_F(SrqNic, ALimitIsToldOf) {
  ASSERT_TRUE(nic.arm_srq(srqn, 1));
  EXPECT_EQ(listener.wait(), (std::vector<Event>{{EventKind::srq_limit, srqn}}));
  EXPECT_EQ(nic.query_srq(srqn)->limit, 0u);
  const Result<> refused = nic.arm_srq(srqn, 17);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(),
            "arm_srq: shared receive queue 1 has not 17 WQEs to be its limit; give fewer");
}

TEST_F(SrqNic, ReceivesUntilItIsDestroyed) {
  const QpNumber receiver = make_receiver();
  connect(client.qpn, receiver);
  connect(receiver, client.qpn);
  for (std::uint16_t i = 0; i < 100; ++i) {
    fill(client.heap.data(), 64, i);
    const std::uint16_t index =
        srq.post({format::data(client.address(4096), Be32{client.key}, 64)});
    send(0, 64);
    ASSERT_TRUE(client.wait());
    const auto cqe = receive_cq.poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->wqe_counter, index);
    EXPECT_EQ(std::memcmp(client.heap.data(), client.heap.data() + 4096, 64), 0);
    srq.free(index);
  }
  EXPECT_EQ(nic.query_srq(srqn)->taken, 100);
  const Result<> busy = nic.destroy_srq(srqn);
  ASSERT_FALSE(busy);
  EXPECT_EQ(
      busy.error().message(),
      "destroy_srq: shared receive queue 1 is still used by queue pairs; destroy those first");
  ASSERT_TRUE(nic.destroy_qp(receiver));
  ASSERT_TRUE(nic.destroy_srq(srqn));
  EXPECT_EQ(nic.query_srq(srqn).error().code(), Code::not_found);
  EXPECT_TRUE(nic.destroy_cq(receive_cqn));
}

}  // namespace
}  // namespace gdakit::softnic::test
