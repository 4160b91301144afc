// Commands of queue pairs.
#include <algorithm>
#include <utility>

#include "backends/softnic/firmware/firmware.h"
#include "backends/softnic/firmware/object_mailbox.h"
#include "backends/softnic/firmware/qp_context.h"
#include "backends/softnic/queues/no_send_queue.h"
#include "core/format/doorbell.h"
#include "core/format/prm/qp.h"
#include "core/format/wqe.h"

namespace gdakit::softnic {

using namespace format;

namespace {

// Of XRC the end without a send queue is the target. Of XRC and DC drivers say that a queue pair
// shares a receive queue, which says nothing.
Status read_receives(prm::View<prm::Qpc> context, QpAttributes& attributes) {
  using prm::Qpc;
  const auto number = [&context](auto field) {
    return static_cast<std::uint32_t>(context.get(field));
  };
  const bool receives = attributes.service < ServiceType::xrc;
  if (attributes.service == ServiceType::xrc && context.get(Qpc::no_sq) != 0) {
    attributes.xrc_domain = number(Qpc::xrcd);
    if (attributes.xrc_domain == 0) return refusal(CommandSyndrome::create_qp_xrc_domain, 0);
  }
  switch (static_cast<prm::RqType>(context.get(Qpc::rq_type))) {
    case prm::RqType::none: return {};
    case prm::RqType::shared:
      if (receives) attributes.srq = number(Qpc::srqn_rmpn_xrqn);
      return {};
    case prm::RqType::regular:
      attributes.has_receive_queue = true;
      attributes.log_receive_wqes = number(Qpc::log_rq_size);
      attributes.log_receive_stride = number(Qpc::log_rq_stride) + 4;
      return {};
  }
  return refusal(CommandSyndrome::mailbox_rq_type, 0, context.get(Qpc::rq_type));
}

// WQEs that wait for others', and let others go on (CORE-Direct), there are none of.
bool asks_for_what_is_absent(prm::View<prm::Qpc> context) {
  using prm::Qpc;
  return context.get(Qpc::page_offset) != 0 || context.get(Qpc::wq_signature) != 0 ||
         context.get(Qpc::cd_master) != 0 || context.get(Qpc::cd_slave_send) != 0 ||
         context.get(Qpc::cd_slave_receive) != 0;
}

// All but where queues and record lie.
Status read_attributes(prm::View<prm::Qpc> context, QpAttributes& attributes) {
  using prm::Qpc;
  const auto number = [&context](auto field) {
    return static_cast<std::uint32_t>(context.get(field));
  };
  if (asks_for_what_is_absent(context)) return refusal(CommandSyndrome::mailbox_absent_feature);
  attributes.service = service_of(context);
  attributes.pd = number(Qpc::pd);
  attributes.send_cq = number(Qpc::cqn_snd);
  attributes.receive_cq = number(Qpc::cqn_rcv);
  attributes.uar = number(Qpc::uar_page);
  // Without a send queue its size means nothing, and what stands in for one has one WQEBB.
  if (number(Qpc::no_sq) == 0) attributes.log_send_wqebbs = number(Qpc::log_sq_size);
  attributes.no_send_record = number(Qpc::send_dbr_mode) != 0;
  attributes.user_index = number(Qpc::user_index);
  return read_receives(context, attributes);
}

}  // namespace

// The receive queue lies before the send queue.
Status Firmware::find_queues(In in, QpAttributes& attributes, UmemUses& uses) const {
  using prm::CreateQpIn;
  using prm::Qpc;
  const prm::View<CreateQpIn> request(in);
  const prm::View<Qpc> context = request.at(CreateQpIn::qpc);
  const std::uint64_t rq_bytes =
      attributes.has_receive_queue
          ? std::uint64_t{1} << (attributes.log_receive_wqes + attributes.log_receive_stride)
          : 0;
  const bool has_sq = context.get(Qpc::no_sq) == 0;
  const std::uint64_t sq_bytes =
      has_sq ? std::uint64_t{kWqebbBytes} << attributes.log_send_wqebbs : 0;
  attributes.send_queue = no_send_queue();
  if (rq_bytes + sq_bytes != 0) {
    const auto queues =
        find_memory(request.get(CreateQpIn::wq_umem_valid) != 0,
                    {.umem = static_cast<UmemNumber>(request.get(CreateQpIn::wq_umem_id)),
                     .offset = request.get(CreateQpIn::wq_umem_offset),
                     .bytes = rq_bytes + sq_bytes},
                    in, uses);
    if (!queues) return queues.status();
    if (rq_bytes != 0) attributes.receive_queue = *queues;
    if (has_sq) attributes.send_queue = *queues + rq_bytes;
  }
  const auto record = find_memory(context.get(Qpc::dbr_umem_valid) != 0,
                                  {.umem = static_cast<UmemNumber>(context.get(Qpc::dbr_umem_id)),
                                   .offset = context.get(Qpc::dbr_addr),
                                   .bytes = sizeof(DoorbellRecord)},
                                  in, uses);
  if (!record) return record.status();
  attributes.doorbell_record = *record;
  return {};
}

Status Firmware::create_qp(In in, Out out) {
  const prm::View<prm::Qpc> context = prm::View<prm::CreateQpIn>(in).at(prm::CreateQpIn::qpc);
  QpAttributes attributes;
  if (const Status read = read_attributes(context, attributes); !read.ok()) return read;
  UmemUses uses;
  if (!attributes.is_xrc_target()) {
    if (const Status found = find_queues(in, attributes, uses); !found.ok()) return found;
  }
  const Uid uid = uid_of(in);
  const auto counters = static_cast<CounterSet>(context.get(prm::Qpc::counter_set_id));
  if (const Outcome<> found = counter_sets_.find(counters, uid); !found) return found.status();
  const Outcome<QpNumber> qp = engine_.create_qp(attributes, uid);
  if (!qp) return qp.status();
  join_counter_set(counters, *qp, uid);
  Made<prm::Qpc>& made = qps_[*qp];
  std::ranges::copy(context.bytes(), made.context.bytes().begin());
  made.context.at(prm::Qpc::primary_address_path).set(prm::Ads::vhca_port_num, 0);
  made.umems = std::move(uses);
  prm::View<prm::CreateQpOut, std::uint8_t>(out).set(prm::CreateQpOut::qpn, *qp);
  return {};
}

namespace {

// The first error, where a client asks for it and has room for it.
void tell_first_error(std::span<const std::uint8_t> in, const QpError& error,
                      std::span<std::uint8_t> out) {
  const bool asked = prm::View<prm::QueryQpIn>(in).get(prm::QueryQpIn::qpc_ext) != 0;
  if (!asked || out.size() < prm::QueryQpOut::kBytes + prm::QpcExt::kBytes) return;
  const prm::View<prm::QpcExt, std::uint8_t> more(out.subspan(prm::QueryQpOut::kBytes));
  const auto told = more.at(prm::QpcExt::error_syndrome);
  told.set(prm::CqeErrorSyndrome::syndrome, static_cast<std::uint64_t>(error.syndrome));
  told.set(prm::CqeErrorSyndrome::vendor_error_syndrome, error.vendor_syndrome);
}

}  // namespace

Status Firmware::query_qp(In in, Out out) {
  using prm::Qpc;
  const QpNumber qpn = object_of(in);
  const Outcome<QpInfo> info = engine_.query_qp(qpn, uid_of(in));
  if (!info) return info.status();
  const auto context = prm::View<prm::QueryQpOut, std::uint8_t>(out).at(prm::QueryQpOut::qpc);
  std::ranges::copy(qps_[qpn].context.bytes(), context.bytes().begin());
  const auto state = info->state == QpState::sqd && info->sq_draining
                         ? prm::kSqDraining
                         : static_cast<std::uint64_t>(info->state);
  context.set(Qpc::state, state);
  context.set(Qpc::next_send_psn, info->next_send_psn);
  context.set(Qpc::next_rcv_psn, info->next_receive_psn);
  context.set(Qpc::last_acked_psn, info->last_acked_psn);
  context.set(Qpc::rmsn, info->rmsn);
  context.set(Qpc::hw_sq_wqebb_counter, info->send_started & 0xffff);
  context.set(Qpc::sw_sq_wqebb_counter, info->send_producer & 0xffff);
  context.set(Qpc::hw_rq_counter, info->receive_taken & 0xffffffff);
  context.set(Qpc::sw_rq_counter, info->receive_posted & 0xffffffff);
  tell_first_error(in, info->first_error, out);
  return {};
}

Status Firmware::destroy_qp(In in, Out) {
  const QpNumber qpn = object_of(in);
  const Outcome<QueueCounters> counted = engine_.query_counters(qpn, uid_of(in));
  const Outcome<> destroyed = engine_.destroy_qp(qpn, uid_of(in));
  if (!destroyed) return destroyed.status();
  counter_sets_.leave(qpn, *counted);
  forget(qps_, qpn);
  return {};
}

}  // namespace gdakit::softnic
