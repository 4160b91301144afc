// A client of a Nic with one queue pair, for tests with the NIC's own thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>

#include <gtest/gtest.h>

#include "backends/softnic/dma/host_dma.h"
#include "backends/softnic/engine/nic.h"
#include "backends/softnic/wire/loopback_wire.h"
#include "core/format/doorbell.h"
#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {

inline constexpr std::uint32_t kLogDepth = 8;
inline constexpr std::uint32_t kDepth = 1u << kLogDepth;

// A NIC and a thread's view of one QP on it.
struct Client {
  explicit Client(LoopbackFabric& fabric, const NicOptions& options = {},
                  std::unique_ptr<DmaPort> port = std::make_unique<HostDma>())
      : nic(std::move(*Nic::open(options, std::move(port), std::move(*fabric.attach())))) {
    pd = *nic->alloc_pd();
    uar = *nic->alloc_uar(UarType::dense);
    const DmaAddress base = host_address(heap.data());
    key = *nic->reg_mr({pd, base, base.value, heap.size(), Access::all, kAnyQp, {}});
    std::memset(cq.data(), format::kInvalidCqeByte, cq.size());
    cqn = *nic->create_cq({host_address(cq.data()), 0, true, true, {}});
    QpAttributes attributes;
    attributes.pd = pd;
    attributes.send_cq = cqn;
    attributes.uar = uar.number;
    attributes.send_queue = host_address(sq.data());
    attributes.log_send_wqebbs = kLogDepth;
    attributes.doorbell_record = host_address(record.data());
    qpn = *nic->create_qp(attributes);
  }

  // Anew, if it was connected: then nothing is posted.
  void connect(const Client& peer) {
    store_record(0);
    QpModify modify;
    modify.access = Access::all;
    modify.path.endpoint = peer.nic->endpoint();
    modify.remote_qpn = peer.qpn;
    for (const QpState state : {QpState::reset, QpState::init, QpState::rtr, QpState::rts}) {
      modify.state = state;
      ASSERT_TRUE(nic->modify_qp(qpn, modify));
    }
    producer = 0;
  }
  void post_write(std::uint64_t to, MemoryKey rkey, std::uint64_t from, std::uint32_t size) {
    const format::Segment segments[3] = {
        format::to_segment(
            format::control(format::Opcode::rdma_write, 0, format::wire_index(producer), qpn, 3,
                            format::fm_ce_se(format::FenceMode::none, format::Completion::always))),
        format::to_segment(format::remote_address(to, Be32{rkey})),
        format::to_segment(format::data(from, Be32{key}, size))};
    std::memcpy(sq.data() + (producer % kDepth) * format::kWqebbBytes, segments, sizeof segments);
    ++producer;
  }
  void store_record(std::uint64_t value) const {
    auto* words = reinterpret_cast<std::uint32_t*>(record.data());
    __atomic_store_n(&words[1], format::doorbell_record_value(value).raw(), __ATOMIC_RELEASE);
  }
  void ring() {
    store_record(producer);
    auto* doorbell = reinterpret_cast<std::uint64_t*>(static_cast<std::uint8_t*>(uar.page) + 0x800);
    __atomic_store_n(doorbell, format::doorbell_value(producer, qpn), __ATOMIC_RELEASE);
  }
  format::CqeTail tail() const {
    const auto* words = reinterpret_cast<const std::uint64_t*>(cq.data());
    return {__atomic_load_n(&words[7], __ATOMIC_ACQUIRE)};
  }
  // Waits for the CQE of the last WQE; false after ten seconds or an error.
  bool wait() {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (tail().opcode() == format::CqeOpcode::invalid ||
           tail().wqe_counter() != format::wire_index(producer - 1)) {
      if (std::chrono::steady_clock::now() > limit) return false;
      std::this_thread::yield();
    }
    return tail().opcode() == format::CqeOpcode::requester;
  }
  std::uint64_t address(std::size_t offset) const {
    return host_address(heap.data() + offset).value;
  }

  Pages heap{1 << 20}, sq{kDepth * format::kWqebbBytes}, cq{64}, record{8};
  std::unique_ptr<Nic> nic;
  PdNumber pd = 0;
  Uar uar;
  MemoryKey key = 0;
  CqNumber cqn = 0;
  QpNumber qpn = 0;
  std::uint64_t producer = 0;
};

}  // namespace gdakit::softnic::test
