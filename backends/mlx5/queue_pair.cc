#include "backends/mlx5/queue_pair.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "backends/mlx5/gids.h"
#include "core/base/bits.h"
#include "core/format/cq_doorbell.h"
#include "core/format/cqe.h"
#include "core/format/doorbell.h"
#include "core/format/prm/cq.h"
#include "core/format/prm/qp.h"
#include "device/channel_views.h"

namespace gdakit::mlx5 {
namespace {

namespace prm = format::prm;

constexpr std::uint64_t kLogMostBytes = 30;  // of a message
constexpr std::uint64_t kAtomicsOf64Bits = 3;
constexpr std::uint64_t kMinRnrTimer = 12;  // 0.64 ms
constexpr std::uint32_t kFirstSourcePort = 0xc000;
constexpr std::uint64_t kHopLimit = 64;
constexpr int kEcnBits = 2;  // of a traffic class, behind DSCP
constexpr std::uint64_t kCqRecordBytes = sizeof(format::CqDoorbellRecord);
constexpr std::uint64_t kLogLeastStride = 4;  // what log_rq_stride counts from

std::uint64_t log2_of(std::uint64_t power) { return static_cast<std::uint64_t>(log2_floor(power)); }

// The destination's MAC address, which a RoCE queue pair made by commands has to be given: the
// kernel finds it for an address handle.
Result<std::array<std::uint8_t, 6>> mac_of(const OpenNic& nic, const PortAddress& peer) {
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.port_num = nic.port();
  std::ranges::copy(peer.gid, attributes.grh.dgid.raw);
  attributes.grh.sgid_index = nic.gid_index();
  attributes.grh.hop_limit = kHopLimit;
  ibv_ah* const handle = nic.libraries().create_ah(nic.pd(), &attributes);
  if (handle == nullptr) {
    const Error why = nic.failure("ibv_create_ah", errno);
    return Error(why.code(),
                 why.message() + "; from GID " + text_of(nic.address().gid) + " (index " +
                     std::to_string(nic.gid_index()) + ") to " + text_of(peer.gid) +
                     ": `ping` shows whether there is a way, `show_gids` whether the GID has moved",
                 why.system_code());
  }
  mlx5dv_ah inside{};
  mlx5dv_obj objects{};
  objects.ah.in = handle;
  objects.ah.out = &inside;
  const int code = nic.libraries().init_obj(&objects, MLX5DV_OBJ_AH);
  std::array<std::uint8_t, 6> mac{};
  if (code == 0) std::ranges::copy(inside.av->rmac, mac.begin());
  nic.libraries().destroy_ah(handle);
  if (code != 0) return nic.failure("mlx5dv_init_obj of the address handle", code);
  return mac;
}

// A port for each pair of queue pairs, so that networks spread their packets over all ways.
std::uint64_t source_port(std::uint32_t qpn, std::uint32_t peer_qpn) {
  const std::uint32_t hash = (qpn ^ peer_qpn) * 0x9e3779b1u;
  return kFirstSourcePort | hash >> 18;
}

// Whether InfiniBand's packets between the two need a global routing header.
bool needs_grh(const PortAddress& one, const PortAddress& other) {
  constexpr std::size_t kPrefixBytes = 8;
  return one.needs_grh != 0 || other.needs_grh != 0 ||
         !std::equal(one.gid.begin(), one.gid.begin() + kPrefixBytes, other.gid.begin());
}

std::uint64_t big_endian(const std::uint8_t* bytes, std::size_t count) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8 | bytes[i];
  return value;
}

}  // namespace

Result<std::unique_ptr<QueuePair>> QueuePair::create(const OpenNic& nic, QueueUmems& umems,
                                                     const QueuePairOptions& options) {
  const QueueMemory& parts = options.memory;
  const bool receives = parts.receive_depth != 0;
  std::unique_ptr<QueuePair> pair(new QueuePair(nic, options));
  Result<std::shared_ptr<Umem>> umem = umems.of(parts);
  if (!umem) return umem.error();
  pair->umem_ = std::move(*umem);
  if (auto made = pair->create_cq(pair->send_cq_, parts.cqe, /*log_size=*/0, /*collapsed=*/true,
                                  options.cq_record_offset);
      !made) {
    return made.error();
  }
  if (receives) {
    auto made = pair->create_cq(pair->receive_cq_, parts.receive_cqes,
                                static_cast<std::uint32_t>(log2_of(parts.receive_depth)),
                                /*collapsed=*/false, options.cq_record_offset + kCqRecordBytes);
    if (!made) return made.error();
  }
  if (auto made = pair->create_qp(); !made) return made.error();
  return pair;
}

Result<void> QueuePair::create_cq(Cq& cq, const void* cqes, std::uint32_t log_size, bool collapsed,
                                  std::uint64_t record_offset) {
  prm::Mailbox<prm::CreateCqIn> in;
  prm::Mailbox<prm::CreateCqOut> out;
  const auto context = in.at(prm::CreateCqIn::cqc);
  context.set(prm::Cqc::cc, collapsed ? 1 : 0);
  context.set(prm::Cqc::oi, 1);
  context.set(prm::Cqc::log_cq_size, log_size);
  context.set(prm::Cqc::uar_page, options_.uar->page_id);
  context.set(prm::Cqc::c_eqn, nic_.eqn());
  context.set(prm::Cqc::dbr_umem_valid, 1);
  context.set(prm::Cqc::dbr_umem_id, options_.cq_records->id());
  context.set(prm::Cqc::dbr_addr, record_offset);
  in.set(prm::CreateCqIn::cq_umem_valid, 1);
  in.set(prm::CreateCqIn::cq_umem_id, umem_->id());
  in.set(prm::CreateCqIn::cq_umem_offset, umem_->offset_of(cqes));
  Result<DevxObject> made = nic_.create(prm::Opcode::create_cq, in, out);
  if (!made) return made.error();
  cq.object.emplace(std::move(*made));
  cq.number = static_cast<std::uint32_t>(out.get(prm::CreateCqOut::cqn));
  return {};
}

Result<void> QueuePair::create_qp() {
  prm::Mailbox<prm::CreateQpIn> in;
  prm::Mailbox<prm::CreateQpOut> out;
  const auto context = in.at(prm::CreateQpIn::qpc);
  context.set(prm::Qpc::pm_state, prm::kPathMigrated);
  context.set(prm::Qpc::pd, nic_.pdn());
  context.set(prm::Qpc::uar_page, options_.uar->page_id);
  const QueueMemory& memory = options_.memory;
  const bool receives = memory.receive_depth != 0;
  context.set(prm::Qpc::rq_type,
              static_cast<std::uint64_t>(receives ? prm::RqType::regular : prm::RqType::none));
  if (receives) {
    context.set(prm::Qpc::log_rq_size, log2_of(memory.receive_depth));
    context.set(prm::Qpc::log_rq_stride, log2_of(kReceiveWqeBytes) - kLogLeastStride);
  }
  context.set(prm::Qpc::log_sq_size, log2_of(memory.depth));
  context.set(prm::Qpc::cqn_snd, send_cq_.number);
  context.set(prm::Qpc::cqn_rcv, receives ? receive_cq_.number : send_cq_.number);
  context.set(prm::Qpc::dbr_umem_valid, 1);
  context.set(prm::Qpc::dbr_umem_id, umem_->id());
  context.set(prm::Qpc::dbr_addr, umem_->offset_of(memory.doorbell_record));
  in.set(prm::CreateQpIn::wq_umem_valid, 1);
  in.set(prm::CreateQpIn::wq_umem_id, umem_->id());
  in.set(prm::CreateQpIn::wq_umem_offset,
         umem_->offset_of(receives ? memory.receive_slots : memory.slots));
  Result<DevxObject> qp = nic_.create(prm::Opcode::create_qp, in, out);
  if (!qp) return qp.error();
  qp_.emplace(std::move(*qp));
  qpn_ = static_cast<std::uint32_t>(out.get(prm::CreateQpOut::qpn));
  return {};
}

Error QueuePair::destroyed() const {
  return Error(Code::unavailable, "QP " + std::to_string(qpn_) + " of " + nic_.name() +
                                      " is destroyed, but for its CQs");
}

Result<void> QueuePair::connect(const ConnectionCard& peer) {
  if (!qp_) return destroyed();
  Mac mac{};
  if (nic_.address().link_layer == IBV_LINK_LAYER_ETHERNET) {
    const auto found = mac_of(nic_, peer.address);
    if (!found) return found.error();
    mac = *found;
  }
  if (auto done = to_init(); !done) return done;
  Result<void> done = to_rtr(peer, mac);
  if (done) done = to_rts(peer);
  if (!done) reset();
  return done;
}

// After a connect that has failed.
void QueuePair::reset() {
  prm::Mailbox<prm::Qp2rstIn> in;
  prm::Mailbox<prm::MboxOut> out;
  in.set(prm::Qp2rstIn::qpn, qpn_);
  static_cast<void>(nic_.modify(*qp_, prm::Opcode::qp_2rst, in, out));
}

Result<void> QueuePair::destroy() {
  if (qp_) {
    if (const int code = qp_->destroy(); code != 0) return nic_.failure("DESTROY_QP", code);
    qp_.reset();
  }
  for (Cq* const cq : {&receive_cq_, &send_cq_}) {
    if (!cq->object) continue;
    if (const int code = cq->object->destroy(); code != 0) return nic_.failure("DESTROY_CQ", code);
    cq->object.reset();
  }
  if (umem_.use_count() == 1) {  // else other queues lie there
    if (const int code = umem_->give_up(); code != 0) {
      return nic_.failure("mlx5dv_devx_umem_dereg", code);
    }
  }
  umem_.reset();
  return {};
}

Result<void> QueuePair::to_init() {
  prm::Mailbox<prm::Rst2initQpIn> in;
  prm::Mailbox<prm::MboxOut> out;
  in.set(prm::Rst2initQpIn::qpn, qpn_);
  const auto context = in.at(prm::Rst2initQpIn::qpc);
  context.set(prm::Qpc::pm_state, prm::kPathMigrated);
  context.set(prm::Qpc::rre, 1);
  context.set(prm::Qpc::rwe, 1);
  context.set(prm::Qpc::rae, 1);
  context.set(prm::Qpc::atomic_mode, kAtomicsOf64Bits);
  context.set(prm::Qpc::counter_set_id, options_.counter_set);
  context.at(prm::Qpc::primary_address_path).set(prm::Ads::vhca_port_num, nic_.port());
  return nic_.modify(*qp_, prm::Opcode::rst2init_qp, in, out);
}

Result<void> QueuePair::to_rtr(const ConnectionCard& peer, const Mac& mac) {
  prm::Mailbox<prm::Init2rtrQpIn> in;
  prm::Mailbox<prm::MboxOut> out;
  in.set(prm::Init2rtrQpIn::qpn, qpn_);
  const auto context = in.at(prm::Init2rtrQpIn::qpc);
  const PortAddress& mine = nic_.address();
  context.set(prm::Qpc::mtu, std::min(mine.mtu, peer.address.mtu));
  context.set(prm::Qpc::log_msg_max, kLogMostBytes);
  context.set(prm::Qpc::remote_qpn, peer.qpn);
  context.set(prm::Qpc::next_rcv_psn, peer.first_psn);
  context.set(prm::Qpc::min_rnr_nak, kMinRnrTimer);
  context.set(prm::Qpc::log_rra_max, mine.log_reads);
  const auto path = context.at(prm::Qpc::primary_address_path);
  path.set(prm::Ads::vhca_port_num, nic_.port());
  const bool is_infiniband = mine.link_layer == IBV_LINK_LAYER_INFINIBAND;
  if (is_infiniband) {
    path.set(prm::Ads::sl, nic_.service_level());
    path.set(prm::Ads::rlid, peer.address.lid);
    path.set(prm::Ads::grh, needs_grh(mine, peer.address) ? 1 : 0);
  } else {
    path.set(prm::Ads::eth_prio, nic_.service_level());
    path.set(prm::Ads::rmac_47_32, big_endian(mac.data(), 2));
    path.set(prm::Ads::rmac_31_0, big_endian(mac.data() + 2, 4));
    if (mine.gid_type == IBV_GID_TYPE_ROCE_V2) {
      path.set(prm::Ads::udp_sport, source_port(qpn_, peer.qpn));
      path.set(prm::Ads::dscp, nic_.traffic_class() >> kEcnBits);
    }
  }
  if (!is_infiniband || needs_grh(mine, peer.address)) {
    path.set(prm::Ads::src_addr_index, nic_.gid_index());
    path.set(prm::Ads::hop_limit, kHopLimit);
    path.set(prm::Ads::tclass, nic_.traffic_class());
    std::ranges::copy(peer.address.gid, path.at(prm::Ads::rgid_rip).begin());
  }
  return nic_.modify(*qp_, prm::Opcode::init2rtr_qp, in, out);
}

Result<void> QueuePair::to_rts(const ConnectionCard& peer) {
  prm::Mailbox<prm::Rtr2rtsQpIn> in;
  prm::Mailbox<prm::MboxOut> out;
  in.set(prm::Rtr2rtsQpIn::qpn, qpn_);
  const auto context = in.at(prm::Rtr2rtsQpIn::qpc);
  context.set(prm::Qpc::next_send_psn, options_.first_psn);
  context.set(prm::Qpc::retry_count, kTries - 1);
  context.set(prm::Qpc::rnr_retry, options_.memory.rnr_retry);
  context.set(prm::Qpc::log_sra_max, std::min(nic_.address().log_reads, peer.address.log_reads));
  context.at(prm::Qpc::primary_address_path).set(prm::Ads::ack_timeout, options_.ack_timeout);
  return nic_.modify(*qp_, prm::Opcode::rtr2rts_qp, in, out);
}

Result<std::uint32_t> QueuePair::state() const {
  if (!qp_) return destroyed();
  prm::Mailbox<prm::QueryQpIn> in;
  prm::Mailbox<prm::QueryQpOut> out;
  in.set(prm::QueryQpIn::qpn, qpn_);
  if (auto asked = nic_.query(*qp_, prm::Opcode::query_qp, in, out); !asked) return asked.error();
  return static_cast<std::uint32_t>(out.at(prm::QueryQpOut::qpc).get(prm::Qpc::state));
}

}  // namespace gdakit::mlx5
