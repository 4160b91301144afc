// What a queue's Status says of faults that no Context lets a program make: a key of another
// protection domain, and a queue pair that the control path has put into its error state. The
// device's queue runs straight on a soft NIC.
#include <gtest/gtest.h>

#include "backends/softnic/host_dma.h"
#include "backends/softnic/loopback_wire.h"
#include "backends/softnic/nic.h"
#include "device/send_queue.h"
#include "sim/emulator.h"
#include "tests/device/stub_nic.h"

namespace gdakit {
namespace {

using namespace softnic;

DmaAddress address_of(const void* memory) { return {reinterpret_cast<std::uint64_t>(memory)}; }

// A QP over a queue in this test's memory, and its peer on the same NIC.
class QueueOnNic : public testing::Test {
 protected:
  void SetUp() override {
    auto wire = LoopbackFabric::create()->attach();
    ASSERT_TRUE(wire);
    auto nic = Nic::open({}, std::make_unique<HostDma>(), std::move(*wire));
    ASSERT_TRUE(nic);
    nic_ = std::move(*nic);
    pd_ = *nic_->alloc_pd();
    other_pd_ = *nic_->alloc_pd();
    uar_ = *nic_->alloc_uar();
    qpn_ = make_qp(memory_.view());
    const QpNumber peer = make_qp(peer_memory_.view());
    connect(qpn_, peer);
    connect(peer, qpn_);
    view_ = memory_.view();
    view_.qpn_shifted = Be32{qpn_ << 8};
    view_.doorbell =
        reinterpret_cast<std::uint64_t*>(static_cast<char*>(uar_.page) + format::kUarDoorbellBegin);
  }

  QpNumber make_qp(const QueueView& view) {
    CqAttributes cq;
    cq.entries = address_of(view.cqe);
    cq.collapsed = cq.overrun_ignore = true;
    QpAttributes qp;
    qp.pd = pd_;
    qp.send_cq = qp.receive_cq = *nic_->create_cq(cq);
    qp.uar = uar_.number;
    qp.send_queue = address_of(view.slots);
    qp.log_send_wqebbs = 6;
    qp.doorbell_record = address_of(view.record - 1);  // the record's first word
    return *nic_->create_qp(qp);
  }

  void connect(QpNumber qpn, QpNumber peer) {
    QpModify modify;
    modify.state = QpState::init;
    modify.access = Access::remote_read | Access::remote_write | Access::remote_atomic;
    ASSERT_TRUE(nic_->modify_qp(qpn, modify));
    modify.state = QpState::rtr;
    modify.remote_endpoint = nic_->endpoint();
    modify.remote_qpn = peer;
    ASSERT_TRUE(nic_->modify_qp(qpn, modify));
    modify.state = QpState::rts;
    ASSERT_TRUE(nic_->modify_qp(qpn, modify));
  }

  Be32 key_of(PdNumber pd) {
    MrAttributes attributes;
    attributes.pd = pd;
    attributes.base = address_of(word_);
    attributes.start = attributes.base.value;
    attributes.length = sizeof(word_);
    attributes.access = Access::all;
    return Be32{*nic_->reg_mr(attributes)};
  }

  // Writes 8 bytes from word 1 to word 0 under these keys.
  Status write(Be32 rkey, Be32 lkey) {
    Status status;
    DeviceContext context{};
    PeState state{};
    context.state = &state;
    context.watchdog_ns = 10'000'000'000;
    const Result<void> ran = sim::launch({1, 1}, {}, [&](sim::HostMachine& m) {
      SendQueue<sim::HostMachine, SharedPublication> queue(m, context, view_, 0);
      const Span remote{reinterpret_cast<std::uint64_t>(&word_[0]), 8, rkey};
      const Span local{reinterpret_cast<std::uint64_t>(&word_[1]), 8, lkey};
      const Ticket ticket =
          queue.post(Crew::alone(m), {}, Batch::last, [&](std::uint64_t at, std::uint8_t fm) {
            write_rdma(m, view_, at, format::Opcode::rdma_write, fm, remote, local, 8);
          });
      status = ticket.status.ok() ? queue.wait(ticket.index) : ticket.status;
    });
    EXPECT_TRUE(ran);
    return status;
  }

  test::StubQueue memory_{64};  // both outlive the NIC that reads them
  test::StubQueue peer_memory_{64};
  std::uint64_t word_[2] = {0, 42};
  std::unique_ptr<Nic> nic_;
  PdNumber pd_ = 0;
  PdNumber other_pd_ = 0;
  Uar uar_;
  QpNumber qpn_ = 0;
  QueueView view_{};
};

TEST_F(QueueOnNic, WritesUnderKeysOfItsOwnProtectionDomain) {
  const Be32 key = key_of(pd_);
  EXPECT_TRUE(write(key, key).ok());
  EXPECT_EQ(word_[0], 42u);
}

TEST_F(QueueOnNic, ReportsARemoteKeyOfAnotherProtectionDomain) {
  const Status status = write(key_of(other_pd_), key_of(pd_));
  EXPECT_EQ(status.code, StatusCode::queue_error);
  EXPECT_EQ(status.syndrome, format::Syndrome::remote_access);
  EXPECT_EQ(word_[0], 0u);
}

TEST_F(QueueOnNic, ReportsALocalKeyOfAnotherProtectionDomain) {
  const Status status = write(key_of(pd_), key_of(other_pd_));
  EXPECT_EQ(status.code, StatusCode::queue_error);
  EXPECT_EQ(status.syndrome, format::Syndrome::local_protection);
  EXPECT_EQ(word_[0], 0u);
}

TEST_F(QueueOnNic, ReportsAQueuePairInItsErrorState) {
  const Be32 key = key_of(pd_);
  QpModify modify;
  modify.state = QpState::err;
  ASSERT_TRUE(nic_->modify_qp(qpn_, modify));
  const Status status = write(key, key);
  EXPECT_EQ(status.code, StatusCode::queue_error);
  EXPECT_EQ(status.syndrome, format::Syndrome::flushed);
  EXPECT_EQ(word_[0], 0u);
}

}  // namespace
}  // namespace gdakit
