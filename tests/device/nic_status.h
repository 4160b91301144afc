// What a queue's Status says of faults that no Context lets a program make: a key of another
// protection domain, and a queue pair that the control path has put into its error state. The
// device's queue runs straight on a soft NIC, from memory that host and device share.
//
// Device says where its thread runs:
//
//   static std::pmr::memory_resource* memory();                  that both sides reach
//   static std::shared_ptr<softnic::HostPages> doorbell_pages(); null: the host's own
//   template <class Kernel> static Result<void> run(const Kernel& kernel);  kernel(machine), once
#pragma once

#include <memory_resource>

#include <gtest/gtest.h>

#include "backends/softnic/dma/host_dma.h"
#include "backends/softnic/engine/nic.h"
#include "backends/softnic/wire/loopback_wire.h"
#include "tests/device/own_queue.h"
#include "tests/device/stub_nic.h"

namespace gdakit::test {

inline softnic::DmaAddress address_of(const void* memory) {
  return {reinterpret_cast<std::uint64_t>(memory)};
}

// Writes 8 bytes from word 1 to word 0 under these keys.
struct WriteWord {
  DeviceContext context;
  QueueView view;
  std::uint64_t* words;
  Be32 rkey;
  Be32 lkey;
  Status* status;

  template <class M>
  GDAKIT_DEVICE void operator()(M& m) const {
    OwnQueue<M, SharedPublication> queue(m, context, view, 0);
    const Span remote{reinterpret_cast<std::uint64_t>(&words[0]), 8, rkey};
    const Span local{reinterpret_cast<std::uint64_t>(&words[1]), 8, lkey};
    const Ticket ticket =
        queue.post(LoneThread{}, {}, Batch::last, [&](std::uint64_t at, std::uint8_t fm) {
          write_rdma(m, view, at, format::Opcode::rdma_write, fm, remote, local, 8);
        });
    *status = ticket.status.ok() ? queue.wait(ticket.index) : ticket.status;
  }
};

// A QP over a queue in this test's memory, and its peer on the same NIC.
template <class Device>
class QueueOnNic : public testing::Test {
 protected:
  using Access = softnic::Access;
  using CqAttributes = softnic::CqAttributes;
  using MrAttributes = softnic::MrAttributes;
  using PdNumber = softnic::PdNumber;
  using QpAttributes = softnic::QpAttributes;
  using QpModify = softnic::QpModify;
  using QpNumber = softnic::QpNumber;
  using QpState = softnic::QpState;

  void SetUp() override {
    auto wire = softnic::LoopbackFabric::create()->attach();
    ASSERT_TRUE(wire);
    softnic::NicOptions options;
    options.doorbell_pages = Device::doorbell_pages();
    auto nic = softnic::Nic::open(options, std::make_unique<softnic::HostDma>(), std::move(*wire));
    ASSERT_TRUE(nic);
    nic_ = std::move(*nic);
    pd_ = *nic_->alloc_pd();
    other_pd_ = *nic_->alloc_pd();
    uar_ = *nic_->alloc_uar(softnic::UarType::dense);
    qpn_ = make_qp(shared_->queue.view());
    const QpNumber peer = make_qp(shared_->peer.view());
    connect(qpn_, peer);
    connect(peer, qpn_);
    view_ = shared_->queue.view();
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
    modify.path.endpoint = nic_->endpoint();
    modify.remote_qpn = peer;
    ASSERT_TRUE(nic_->modify_qp(qpn, modify));
    modify.state = QpState::rts;
    ASSERT_TRUE(nic_->modify_qp(qpn, modify));
  }

  Be32 key_of(PdNumber pd) {
    MrAttributes attributes;
    attributes.pd = pd;
    attributes.base = address_of(shared_->words);
    attributes.start = attributes.base.value;
    attributes.length = sizeof(shared_->words);
    attributes.access = Access::all;
    return Be32{*nic_->reg_mr(attributes)};
  }

  void break_queue_pair() {
    QpModify modify;
    modify.state = QpState::err;
    ASSERT_TRUE(nic_->modify_qp(qpn_, modify));
  }

  Status write(Be32 rkey, Be32 lkey) {
    DeviceContext context{};
    context.nic_scope = Scope::system;
    context.state = &shared_->state;
    context.words = &shared_->pe_words;
    context.watchdog_ns = 60'000'000'000;
    const Result<void> ran =
        Device::run(WriteWord{context, view_, shared_->words, rkey, lkey, &shared_->status});
    EXPECT_TRUE(ran) << ran.error().message();
    return shared_->status;
  }

  // What the NIC, the device's thread and the test all use.
  struct Shared {
    StubQueue queue{64, Sharing::shared, Handler::gpu, 64, Device::memory()};
    StubQueue peer{64, Sharing::shared, Handler::gpu, 64, Device::memory()};
    std::uint64_t words[2] = {0, 42};
    PeState state{};
    PeWords pe_words{};
    Status status{StatusCode::stalled};
  };
  struct Delete {
    void operator()(Shared* shared) const {
      std::pmr::polymorphic_allocator<>(Device::memory()).delete_object(shared);
    }
  };

  // Outlives the NIC that reads it.
  std::unique_ptr<Shared, Delete> shared_{
      std::pmr::polymorphic_allocator<>(Device::memory()).template new_object<Shared>()};
  std::unique_ptr<softnic::Nic> nic_;
  PdNumber pd_ = 0;
  PdNumber other_pd_ = 0;
  softnic::Uar uar_;
  QpNumber qpn_ = 0;
  QueueView view_{};
};

TYPED_TEST_SUITE_P(QueueOnNic);

TYPED_TEST_P(QueueOnNic, WritesUnderKeysOfItsOwnProtectionDomain) {
  const Be32 key = this->key_of(this->pd_);
  EXPECT_TRUE(this->write(key, key).ok());
  EXPECT_EQ(this->shared_->words[0], 42u);
}

TYPED_TEST_P(QueueOnNic, ReportsARemoteKeyOfAnotherProtectionDomain) {
  const Status status = this->write(this->key_of(this->other_pd_), this->key_of(this->pd_));
  EXPECT_EQ(status.code, StatusCode::queue_error);
  EXPECT_EQ(status.syndrome, format::Syndrome::remote_access);
  EXPECT_EQ(this->shared_->words[0], 0u);
}

TYPED_TEST_P(QueueOnNic, ReportsALocalKeyOfAnotherProtectionDomain) {
  const Status status = this->write(this->key_of(this->pd_), this->key_of(this->other_pd_));
  EXPECT_EQ(status.code, StatusCode::queue_error);
  EXPECT_EQ(status.syndrome, format::Syndrome::local_protection);
  EXPECT_EQ(this->shared_->words[0], 0u);
}

TYPED_TEST_P(QueueOnNic, ReportsAQueuePairInItsErrorState) {
  const Be32 key = this->key_of(this->pd_);
  this->break_queue_pair();
  const Status status = this->write(key, key);
  EXPECT_EQ(status.code, StatusCode::queue_error);
  EXPECT_EQ(status.syndrome, format::Syndrome::flushed);
  EXPECT_EQ(this->shared_->words[0], 0u);
}

REGISTER_TYPED_TEST_SUITE_P(QueueOnNic, WritesUnderKeysOfItsOwnProtectionDomain,
                            ReportsARemoteKeyOfAnotherProtectionDomain,
                            ReportsALocalKeyOfAnotherProtectionDomain,
                            ReportsAQueuePairInItsErrorState);

}  // namespace gdakit::test
