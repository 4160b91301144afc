// NICs and their clients, who know nothing but mailboxes.
//
//   FirmwareRig rig;
//   rig.one.connect(rig.other);
//   rig.one.write(0, rig.other, 0, 1000);
//   rig.run();
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "backends/softnic/firmware/firmware.h"
#include "backends/softnic/firmware/srq_mailbox.h"
#include "core/format/cq_doorbell.h"
#include "core/format/prm/command.h"
#include "core/format/prm/cq.h"
#include "core/format/prm/mkey.h"
#include "core/format/prm/pd.h"
#include "core/format/prm/qp.h"
#include "core/format/prm/rmp.h"
#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {

namespace prm = format::prm;

inline constexpr Uid kUid = 7;
inline constexpr std::uint32_t kLogSq = 4, kLogCq = 6;
// In the umem.
inline constexpr std::uint64_t kCqAt = 0, kQueueAt = 0x1000, kCqRecordAt = 0x3000;
inline constexpr std::uint64_t kQpRecordAt = 0x3040;
inline constexpr std::uint64_t kRmpAt = 0x2000, kRmpRecordAt = 0x3080;
inline constexpr std::uint32_t kLogRmp = 3, kLogRmpStride = 5;

// The endpoint is the last byte of the GID.
class LastByte final : public AddressResolver {
 public:
  std::optional<Endpoint> endpoint_of(const AddressVector& address) override {
    if (address.gid.back() > 1) return std::nullopt;
    return address.gid.back();
  }
  PortAddress address_of(Endpoint) override { return {}; }
};

// A NIC and its client, who knows nothing but mailboxes.
struct FirmwareSide {
  explicit FirmwareSide(std::unique_ptr<Wire> packets)
      : wire(std::move(packets)),
        engine(EngineOptions{.events = &events, .addresses = &addresses}, dma, *wire),
        firmware(engine, &addresses) {
    uar = *engine.alloc_uar(UarType::registers, kUid);
    std::memset(memory.data() + kCqAt, format::kInvalidCqeByte, 64u << kLogCq);
    umem = firmware.add_umem({{host_address(memory.data()), memory.size()}, kUid});
  }

  template <class Request, class Answer>
  CommandStatus run(prm::Opcode opcode, prm::Mailbox<Request>& in, prm::Mailbox<Answer>& out,
                    Sender sender = Sender::user) {
    in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(opcode));
    in.set(prm::MboxIn::uid, kUid);
    const CommandStatus status = firmware.execute(in.bytes(), out.bytes(), sender);
    EXPECT_EQ(out.get(prm::MboxOut::status), static_cast<std::uint64_t>(status));
    return status;
  }

  void make_pd_and_key() {
    prm::Mailbox<prm::MboxIn> in;
    prm::Mailbox<prm::AllocPdOut> out;
    ASSERT_EQ(run(prm::Opcode::alloc_pd, in, out), CommandStatus::ok);
    pd = static_cast<PdNumber>(out.get(prm::AllocPdOut::pd));
    MrAttributes attributes;
    attributes.pd = pd;
    attributes.base = host_address(heap.data());
    attributes.start = attributes.base.value;
    attributes.length = heap.size();
    attributes.access = Access::all;
    key = *engine.reg_mr(attributes, kUid);
  }

  prm::Mailbox<prm::CreateCqIn> cq_request() const {
    prm::Mailbox<prm::CreateCqIn> in;
    const auto context = in.at(prm::CreateCqIn::cqc);
    context.set(prm::Cqc::log_cq_size, kLogCq);
    context.set(prm::Cqc::oi, 1);
    context.set(prm::Cqc::uar_page, uar);
    context.set(prm::Cqc::dbr_umem_valid, 1);
    context.set(prm::Cqc::dbr_umem_id, umem);
    context.set(prm::Cqc::dbr_addr, kCqRecordAt);
    in.set(prm::CreateCqIn::cq_umem_valid, 1);
    in.set(prm::CreateCqIn::cq_umem_id, umem);
    in.set(prm::CreateCqIn::cq_umem_offset, kCqAt);
    return in;
  }

  prm::Mailbox<prm::CreateQpIn> qp_request() const {
    prm::Mailbox<prm::CreateQpIn> in;
    const auto context = in.at(prm::CreateQpIn::qpc);
    context.set(prm::Qpc::pd, pd);
    context.set(prm::Qpc::cqn_snd, cqn);
    context.set(prm::Qpc::cqn_rcv, cqn);
    context.set(prm::Qpc::rq_type, 3);  // none
    context.set(prm::Qpc::log_sq_size, kLogSq);
    context.set(prm::Qpc::uar_page, uar);
    context.set(prm::Qpc::user_index, 0xabcdef);
    context.set(prm::Qpc::dbr_umem_valid, 1);
    context.set(prm::Qpc::dbr_umem_id, umem);
    context.set(prm::Qpc::dbr_addr, kQpRecordAt);
    in.set(prm::CreateQpIn::wq_umem_valid, 1);
    in.set(prm::CreateQpIn::wq_umem_id, umem);
    in.set(prm::CreateQpIn::wq_umem_offset, kQueueAt);
    return in;
  }

  // A pool whose WQEs are taken in the order of memory.
  prm::Mailbox<prm::CreateRmpIn> rmp_request() const {
    prm::Mailbox<prm::CreateRmpIn> in;
    const auto context = in.at(prm::CreateRmpIn::rmp_context);
    context.set(prm::Rmpc::state, static_cast<std::uint64_t>(prm::RmpState::ready));
    const auto wq = context.at(prm::Rmpc::wq);
    wq.set(prm::Wq::wq_type, static_cast<std::uint64_t>(prm::WqType::cyclic));
    wq.set(prm::Wq::pd, pd);
    wq.set(prm::Wq::log_wq_sz, kLogRmp);
    wq.set(prm::Wq::log_wq_stride, kLogRmpStride);
    wq.set(prm::Wq::dbr_umem_valid, 1);
    wq.set(prm::Wq::dbr_umem_id, umem);
    wq.set(prm::Wq::dbr_addr, kRmpRecordAt);
    wq.set(prm::Wq::wq_umem_valid, 1);
    wq.set(prm::Wq::wq_umem_id, umem);
    wq.set(prm::Wq::wq_umem_offset, kRmpAt);
    return in;
  }

  // A shared receive queue in the place of the pool's, whose WQEs are a list. The kernel's alone.
  prm::Mailbox<CreateSrqAtIn> srq_request(XrcdNumber domain) const {
    using prm::XrcSrqc;
    prm::Mailbox<CreateSrqAtIn> in;
    const auto context = in.at(prm::CreateXrcSrqIn::xrc_srq_context_entry);
    context.set(XrcSrqc::log_xrc_srq_size, kLogRmp);
    context.set(XrcSrqc::log_rq_stride, kLogRmpStride - 4);
    context.set(XrcSrqc::xrcd, domain);
    context.set(XrcSrqc::cqn, cqn);
    context.set(XrcSrqc::user_index, 0x55);
    context.set(XrcSrqc::pd, pd);
    const std::uint64_t record = host_address(memory.data() + kRmpRecordAt).value;
    context.set(XrcSrqc::db_record_addr_h, record >> 32);
    context.set(XrcSrqc::db_record_addr_l, (record & 0xffffffff) >> 2);
    in.set(CreateSrqAtIn::wqes, host_address(memory.data() + kRmpAt).value);
    return in;
  }

  // A key of all rights to the umem.
  prm::Mailbox<prm::CreateMkeyIn> mkey_request() const {
    using prm::Mkc;
    prm::Mailbox<prm::CreateMkeyIn> in;
    in.set(prm::CreateMkeyIn::mkey_umem_valid, 1);
    in.set(prm::CreateMkeyIn::mkey_umem_id, umem);
    const auto context = in.at(prm::CreateMkeyIn::memory_key_mkey_entry);
    context.set(Mkc::access_mode_1_0, static_cast<std::uint64_t>(prm::MkeyAccessMode::mtt));
    context.set(Mkc::lr, 1);
    context.set(Mkc::lw, 1);
    context.set(Mkc::rr, 1);
    context.set(Mkc::rw, 1);
    context.set(Mkc::a, 1);
    context.set(Mkc::qpn, prm::kMkcOfAnyQp);
    context.set(Mkc::mkey_7_0, 0x77);
    context.set(Mkc::pd, pd);
    context.set(Mkc::len, 4096);
    return in;
  }

  void make_queues() {
    make_pd_and_key();
    auto cq = cq_request();
    prm::Mailbox<prm::CreateCqOut> made_cq;
    ASSERT_EQ(run(prm::Opcode::create_cq, cq, made_cq), CommandStatus::ok);
    cqn = static_cast<CqNumber>(made_cq.get(prm::CreateCqOut::cqn));
    make_qp(qp_request());
  }

  void make_qp(prm::Mailbox<prm::CreateQpIn> request) {
    prm::Mailbox<prm::CreateQpOut> made;
    ASSERT_EQ(run(prm::Opcode::create_qp, request, made), CommandStatus::ok);
    qpn = static_cast<QpNumber>(made.get(prm::CreateQpOut::qpn));
  }

  CommandStatus modify(prm::Opcode opcode, const prm::Mailbox<prm::Qpc>& context,
                       std::uint32_t mask = 0) {
    prm::Mailbox<prm::Rst2initQpIn> in;
    prm::Mailbox<prm::MboxOut> out;
    in.set(prm::Rst2initQpIn::qpn, qpn);
    in.set(prm::Rst2initQpIn::opt_param_mask, mask);
    std::ranges::copy(context.bytes(), in.at(prm::Rst2initQpIn::qpc).bytes().begin());
    return run(opcode, in, out);
  }

  void connect(const FirmwareSide& peer) {
    prm::Mailbox<prm::Qpc> context;
    context.set(prm::Qpc::rwe, 1);
    context.set(prm::Qpc::rre, 1);
    ASSERT_EQ(modify(prm::Opcode::rst2init_qp, context), CommandStatus::ok);
    context.set(prm::Qpc::mtu, 3);
    context.set(prm::Qpc::log_msg_max, 30);
    context.set(prm::Qpc::remote_qpn, peer.qpn);
    context.set(prm::Qpc::next_rcv_psn, 0x123456);
    context.set(prm::Qpc::min_rnr_nak, 12);
    context.at(prm::Qpc::primary_address_path).at(prm::Ads::rgid_rip)[15] =
        static_cast<std::uint8_t>(peer.wire->endpoint());
    ASSERT_EQ(modify(prm::Opcode::init2rtr_qp, context), CommandStatus::ok);
    context.set(prm::Qpc::next_send_psn, 0x123456);
    context.set(prm::Qpc::retry_count, 7);
    context.set(prm::Qpc::rnr_retry, 7);
    ASSERT_EQ(modify(prm::Opcode::rtr2rts_qp, context), CommandStatus::ok);
  }

  prm::Mailbox<prm::QueryQpOut> query() {
    prm::Mailbox<prm::QueryQpIn> in;
    prm::Mailbox<prm::QueryQpOut> out;
    in.set(prm::QueryQpIn::qpn, qpn);
    EXPECT_EQ(run(prm::Opcode::query_qp, in, out), CommandStatus::ok);
    return out;
  }

  void write(std::uint64_t from, const FirmwareSide& peer, std::uint64_t to, std::uint32_t bytes) {
    post(std::array{control(format::Opcode::rdma_write, 3),
                    format::to_segment(format::remote_address(
                        host_address(peer.heap.data() + to).value, Be32{peer.key})),
                    data(from, bytes)});
  }
  void send(std::uint64_t from, std::uint32_t bytes) {
    post(std::array{control(format::Opcode::send, 2), data(from, bytes)});
  }

  format::Segment control(format::Opcode opcode, std::uint8_t segments) const {
    return format::to_segment(
        format::control(opcode, 0, format::wire_index(producer), qpn, segments, 8, Be32{0}));
  }
  format::Segment data(std::uint64_t at, std::uint32_t bytes) const {
    return format::to_segment(format::data(host_address(heap.data() + at).value, Be32{key}, bytes));
  }

  // As a GPU does it: the WQE, the record, the register.
  template <std::size_t kSegments>
  void post(const std::array<format::Segment, kSegments>& segments) {
    const std::uint64_t slot = producer & ((1u << kLogSq) - 1);
    std::memcpy(memory.data() + kQueueAt + slot * format::kWqebbBytes, segments.data(),
                sizeof segments);
    producer += format::wqebbs_of(kSegments);
    const std::uint64_t value = format::doorbell_value(producer, qpn);
    if (without_record) {
      engine.doorbell(uar, format::kUarNoRecordDoorbell, value);
      return;
    }
    const Be32 record = format::doorbell_record_value(producer);
    std::memcpy(memory.data() + kQpRecordAt + offsetof(format::DoorbellRecord, snd_dbr), &record,
                sizeof record);
    engine.doorbell(uar, format::kUarDoorbellBegin, value);
  }

  format::Cqe64 cqe(std::uint64_t index) const {
    format::Cqe64 entry;
    std::memcpy(&entry, memory.data() + kCqAt + index * sizeof entry, sizeof entry);
    return entry;
  }

  RecordedEvents events;
  LastByte addresses;
  HostDma dma;
  std::unique_ptr<Wire> wire;
  Engine engine;
  Firmware firmware;
  Pages memory{0x4000}, heap{0x2000};
  UarNumber uar = 0;
  UmemNumber umem = 0;
  PdNumber pd = 0;
  MemoryKey key = 0;
  CqNumber cqn = 0;
  QpNumber qpn = 0;
  std::uint64_t producer = 0;
  bool without_record = false;  // rings as for a queue pair that has none
};

struct FirmwareRig {
  FirmwareRig() {
    one.make_queues();
    other.make_queues();
  }
  void run() {
    for (int i = 0; i < 1000; ++i) {
      now_ns += 1000;
      one.engine.step(now_ns);
      other.engine.step(now_ns);
    }
  }

  std::uint64_t now_ns = 0;
  std::shared_ptr<LoopbackFabric> fabric = LoopbackFabric::create();
  FirmwareSide one{std::move(*fabric->attach(0))}, other{std::move(*fabric->attach(1))};
};

}  // namespace gdakit::softnic::test
