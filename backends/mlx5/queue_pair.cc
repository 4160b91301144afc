#include "backends/mlx5/queue_pair.h"

#include <algorithm>
#include <cstddef>

#include "backends/mlx5/rights.h"
#include "core/base/bits.h"
#include "core/format/prm/qp.h"
#include "device/channel_views.h"

namespace gdakit::mlx5 {
namespace {

namespace prm = format::prm;

constexpr std::uint64_t kLogMostBytes = 30;    // of a message
constexpr std::uint64_t kNoRecordOutside = 1;  // what send_dbr_mode calls NO_DBR_EXT
constexpr std::uint64_t kLogLeastStride = 4;   // what log_rq_stride counts from

// With room for the extension, which comes where it is asked for.
struct QueryQpExtOut : prm::QueryQpOut {
  static constexpr std::size_t kBytes = prm::QueryQpOut::kBytes + prm::QpcExt::kBytes;
  static constexpr prm::Part<QueryQpExtOut, prm::QpcExt, 8 * prm::QueryQpOut::kBytes> extension{};
};

std::uint64_t log2_of(std::uint64_t power) { return static_cast<std::uint64_t>(log2_floor(power)); }

}  // namespace

Result<std::unique_ptr<QueuePair>> QueuePair::create(const OpenNic& nic, QueueUmems& umems,
                                                     const QueuePairOptions& options) {
  std::unique_ptr<QueuePair> pair(new QueuePair(nic, options));
  Result<std::shared_ptr<Umem>> umem = umems.of(options.memory);
  if (!umem) return umem.error();
  pair->umem_ = std::move(*umem);
  if (auto made = pair->create_cqs(); !made) return made.error();
  if (auto made = pair->create_qp(); !made) return made.error();
  if (auto started = options.initiator ? pair->start() : Result<void>(); !started) {
    return started.error();
  }
  return pair;
}

Result<void> QueuePair::create_cqs() {
  const QueueMemory& memory = options_.memory;
  Result<std::uint64_t> place = umem_->offset_of_cq(memory.cqe);
  if (!place) return place.error();
  const std::uint64_t records = umem_->offset_of(memory.doorbell_record);
  CqOptions cq{.cqes = {umem_.get(), *place},
               .record = {umem_.get(), records + offsetof(QueueRecords, send_cq)},
               .uar_page = options_.uar->page_id,
               .collapsed = true};
  if (auto made = send_cq_.create(nic_, cq); !made || memory.receive_depth == 0) return made;
  place = umem_->offset_of_cq(memory.receive_cqes);
  if (!place) return place.error();
  cq.cqes.offset = *place;
  cq.record.offset = records + offsetof(QueueRecords, receive_cq);
  cq.log_size = static_cast<std::uint32_t>(log2_of(memory.receive_depth));
  cq.collapsed = false;
  return receive_cq_.create(nic_, cq);
}

Result<void> QueuePair::create_qp() {
  prm::Mailbox<prm::CreateQpIn> in;
  prm::Mailbox<prm::CreateQpOut> out;
  const auto context = in.at(prm::CreateQpIn::qpc);
  context.set(prm::Qpc::pm_state, prm::kPathMigrated);
  context.set(prm::Qpc::pd, nic_.pdn());
  context.set(prm::Qpc::uar_page, options_.uar->page_id);
  write_receives(context);
  const QueueMemory& memory = options_.memory;
  const bool receives = memory.receive_depth != 0;
  context.set(prm::Qpc::log_sq_size, log2_of(memory.depth));
  context.set(prm::Qpc::send_dbr_mode, memory.recordless ? kNoRecordOutside : 0);
  context.set(prm::Qpc::cqn_snd, send_cq_.number());
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
  return nic_.check_qpn("CREATE_QP", qpn_);
}

// An initiator receives nothing, but says that it shares a receive queue, as all clients have it.
void QueuePair::write_receives(QpcWriter context) const {
  prm::RqType kind = prm::RqType::none;
  std::uint32_t cqn = send_cq_.number();
  if (options_.initiator) {
    kind = prm::RqType::shared;
    cqn = options_.initiator->receives->cqn();
    context.set(prm::Qpc::st, prm::kStDci);
    context.set(prm::Qpc::srqn_rmpn_xrqn, options_.initiator->receives->srqn());
  } else if (options_.memory.receive_depth != 0) {
    kind = prm::RqType::regular;
    cqn = receive_cq_.number();
    context.set(prm::Qpc::log_rq_size, log2_of(options_.memory.receive_depth));
    context.set(prm::Qpc::log_rq_stride, log2_of(kReceiveWqeBytes) - kLogLeastStride);
  }
  context.set(prm::Qpc::rq_type, static_cast<std::uint64_t>(kind));
  context.set(prm::Qpc::cqn_rcv, cqn);
}

Error QueuePair::destroyed() const {
  return Error(Code::not_found, "QP " + std::to_string(qpn_) + " of " + nic_.name() +
                                    " is destroyed, but for its CQs");
}

Result<void> QueuePair::connect(const ConnectionCard& peer) {
  if (!qp_) return destroyed();
  const Result<Way> way = find_way(nic_, peer.address, qpn_, peer.qpn);
  if (!way) return way.error();
  if (auto done = to_init(); !done) return done;
  Result<void> done = to_rtr(peer, *way);
  if (done) done = to_rts(std::min(nic_.address().log_reads, peer.address.log_reads));
  if (!done) reset();
  return done;
}

// What connect() is of RC.
Result<void> QueuePair::start() {
  if (auto done = to_init(); !done) return done;
  if (auto done = to_rtr_as_initiator(); !done) return done;
  return to_rts(options_.initiator->log_reads);
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
  for (CompletionQueue* const cq : {&receive_cq_, &send_cq_}) {
    if (auto gone = cq->destroy(nic_); !gone) return gone;
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
  if (!options_.initiator) give_all_rights<prm::Qpc>(context);
  context.set(prm::Qpc::counter_set_id, options_.counter_set);
  context.set(prm::Qpc::lag_tx_port_affinity, lag_port_);
  const auto path = context.at(prm::Qpc::primary_address_path);
  path.set(prm::Ads::vhca_port_num, nic_.port());
  path.set(prm::Ads::pkey_index, nic_.pkey_index());
  return nic_.modify(*qp_, prm::Opcode::rst2init_qp, in, out);
}

// Of a LAG, where firmware reads it there, too.
void QueuePair::name_lag_port(prm::Mailbox<prm::Init2rtrQpIn>& in) const {
  if (!nic_.capabilities().lag_port_in_rtr) return;
  in.set(prm::Init2rtrQpIn::opt_param_mask,
         static_cast<std::uint64_t>(prm::OptParam::lag_tx_port_affinity));
  in.at(prm::Init2rtrQpIn::qpc).set(prm::Qpc::lag_tx_port_affinity, lag_port_);
}

Result<void> QueuePair::to_rtr(const ConnectionCard& peer, const Way& way) {
  prm::Mailbox<prm::Init2rtrQpIn> in;
  prm::Mailbox<prm::MboxOut> out;
  in.set(prm::Init2rtrQpIn::qpn, qpn_);
  name_lag_port(in);
  const auto context = in.at(prm::Init2rtrQpIn::qpc);
  context.set(prm::Qpc::mtu, std::min(nic_.address().mtu, peer.address.mtu));
  context.set(prm::Qpc::log_msg_max, kLogMostBytes);
  context.set(prm::Qpc::remote_qpn, peer.qpn);
  context.set(prm::Qpc::next_rcv_psn, peer.first_psn);
  context.set(prm::Qpc::min_rnr_nak, kMinRnrTimer);
  context.set(prm::Qpc::log_rra_max, nic_.address().log_reads);
  write_way(nic_, way, context.at(prm::Qpc::primary_address_path));
  return nic_.modify(*qp_, prm::Opcode::init2rtr_qp, in, out);
}

Result<void> QueuePair::to_rtr_as_initiator() {
  prm::Mailbox<prm::Init2rtrQpIn> in;
  prm::Mailbox<prm::MboxOut> out;
  in.set(prm::Init2rtrQpIn::qpn, qpn_);
  name_lag_port(in);
  const auto context = in.at(prm::Init2rtrQpIn::qpc);
  context.set(prm::Qpc::mtu, options_.initiator->mtu);
  context.set(prm::Qpc::log_msg_max, kLogMostBytes);
  write_class(nic_, context.at(prm::Qpc::primary_address_path));
  return nic_.modify(*qp_, prm::Opcode::init2rtr_qp, in, out);
}

Result<void> QueuePair::to_rts(std::uint8_t log_reads) {
  prm::Mailbox<prm::Rtr2rtsQpIn> in;
  prm::Mailbox<prm::MboxOut> out;
  in.set(prm::Rtr2rtsQpIn::qpn, qpn_);
  const auto context = in.at(prm::Rtr2rtsQpIn::qpc);
  context.set(prm::Qpc::next_send_psn, options_.first_psn);
  context.set(prm::Qpc::retry_count, kTries - 1);
  context.set(prm::Qpc::rnr_retry, options_.memory.rnr_retry);
  context.set(prm::Qpc::log_sra_max, log_reads);
  context.at(prm::Qpc::primary_address_path).set(prm::Ads::ack_timeout, options_.ack_timeout);
  return nic_.modify(*qp_, prm::Opcode::rtr2rts_qp, in, out);
}

Result<QueuePairReport> QueuePair::report() const {
  if (!qp_) return destroyed();
  const bool tells_error = nic_.capabilities().tells_first_error;
  prm::Mailbox<prm::QueryQpIn> in;
  prm::Mailbox<QueryQpExtOut> out;
  in.set(prm::QueryQpIn::qpn, qpn_);
  in.set(prm::QueryQpIn::qpc_ext, tells_error ? 1 : 0);
  if (auto asked = nic_.query(*qp_, prm::Opcode::query_qp, in, out); !asked) return asked.error();
  QueuePairReport report;
  report.state = static_cast<std::uint32_t>(out.at(prm::QueryQpOut::qpc).get(prm::Qpc::state));
  if (tells_error) {
    const auto error = out.at(QueryQpExtOut::extension).at(prm::QpcExt::error_syndrome);
    report.first_error =
        format::Syndrome{static_cast<std::uint8_t>(error.get(prm::CqeErrorSyndrome::syndrome))};
  }
  return report;
}

}  // namespace gdakit::mlx5
