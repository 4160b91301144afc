// Commands of receive memory pools: the engine's shared receive queues.
#include <algorithm>
#include <utility>

#include "backends/softnic/firmware/firmware.h"
#include "backends/softnic/firmware/object_mailbox.h"
#include "core/format/prm/rmp.h"
#include "core/format/srq.h"

namespace gdakit::softnic {

using namespace format;

namespace {

Outcome<SrqForm> form_of(prm::View<prm::Rmpc> context) {
  const std::uint64_t type = context.at(prm::Rmpc::wq).get(prm::Wq::wq_type);
  if (type == static_cast<std::uint64_t>(prm::WqType::list)) return SrqForm::list;
  if (type != static_cast<std::uint64_t>(prm::WqType::cyclic)) {
    return refusal(CommandSyndrome::mailbox_wq_type, 0, type);
  }
  const bool basic = context.get(prm::Rmpc::basic_cyclic_rcv_wqe) != 0;
  return basic ? SrqForm::basic_cyclic : SrqForm::cyclic;
}

}  // namespace

Status Firmware::create_rmp(In in, Out out) {
  using prm::Wq;
  const auto context = prm::View<prm::CreateRmpIn>(in).at(prm::CreateRmpIn::rmp_context);
  const auto wq = context.at(prm::Rmpc::wq);
  if (wq.get(Wq::page_offset) != 0 || wq.get(Wq::wq_signature) != 0) {
    return refusal(CommandSyndrome::mailbox_absent_feature);
  }
  const Outcome<SrqForm> form = form_of(context);
  if (!form) return form.status();
  SrqAttributes attributes;
  attributes.pd = static_cast<PdNumber>(wq.get(Wq::pd));
  attributes.form = *form;
  attributes.log_wqes = static_cast<std::uint32_t>(wq.get(Wq::log_wq_sz));
  attributes.log_stride = static_cast<std::uint32_t>(wq.get(Wq::log_wq_stride));
  UmemUses uses;
  const auto wqes =
      find_memory(wq.get(Wq::wq_umem_valid) != 0,
                  {.umem = static_cast<UmemNumber>(wq.get(Wq::wq_umem_id)),
                   .offset = wq.get(Wq::wq_umem_offset),
                   .bytes = std::uint64_t{1} << (attributes.log_wqes + attributes.log_stride)},
                  in, uses);
  if (!wqes) return wqes.status();
  attributes.wqes = *wqes;
  const auto record = find_memory(wq.get(Wq::dbr_umem_valid) != 0,
                                  {.umem = static_cast<UmemNumber>(wq.get(Wq::dbr_umem_id)),
                                   .offset = wq.get(Wq::dbr_addr),
                                   .bytes = sizeof(SrqDoorbellRecord)},
                                  in, uses);
  if (!record) return record.status();
  attributes.doorbell_record = *record;
  const auto limit = static_cast<std::uint32_t>(wq.get(Wq::lwm));
  const Outcome<SrqNumber> srq = make_srq(attributes, limit, uid_of(in));
  if (!srq) return srq.status();
  Made<prm::Rmpc>& made = rmps_[*srq];
  std::ranges::copy(context.bytes(), made.context.bytes().begin());
  made.umems = std::move(uses);
  prm::View<prm::CreateRmpOut, std::uint8_t>(out).set(prm::CreateRmpOut::rmpn, *srq);
  return {};
}

Status Firmware::modify_rmp(In in, Out) {
  const prm::View<prm::ModifyRmpIn> request(in);
  const auto rmp = static_cast<SrqNumber>(request.get(prm::ModifyRmpIn::rmpn));
  const auto mask = request.at(prm::ModifyRmpIn::bitmask);
  const bool limit_alone =
      mask.back() == prm::kRmpBitmaskLwm &&
      std::ranges::all_of(mask.first(mask.size() - 1), [](auto byte) { return byte == 0; });
  if (!limit_alone) return refusal(CommandSyndrome::mailbox_rmp_change, rmp, mask.back());
  if (!rmps_.contains(rmp)) return refusal(CommandSyndrome::arm_srq_absent, rmp);
  const auto wq = request.at(prm::ModifyRmpIn::ctx).at(prm::Rmpc::wq);
  return engine_.arm_srq(rmp, static_cast<std::uint32_t>(wq.get(prm::Wq::lwm)), uid_of(in))
      .status();
}

Status Firmware::query_rmp(In in, Out out) {
  const SrqNumber rmp = object_of(in);
  const auto found = rmps_.find(rmp);
  if (found == rmps_.end()) return refusal(CommandSyndrome::query_srq_absent, rmp);
  const Outcome<SrqInfo> info = engine_.query_srq(rmp, uid_of(in));
  if (!info) return info.status();
  const auto context =
      prm::View<prm::QueryRmpOut, std::uint8_t>(out).at(prm::QueryRmpOut::rmp_context);
  std::ranges::copy(found->second.context.bytes(), context.bytes().begin());
  const auto state = info->error ? prm::RmpState::error : prm::RmpState::ready;
  context.set(prm::Rmpc::state, static_cast<std::uint64_t>(state));
  const auto wq = context.at(prm::Rmpc::wq);
  wq.set(prm::Wq::lwm, info->limit);
  wq.set(prm::Wq::hw_counter, info->taken);
  wq.set(prm::Wq::sw_counter, info->posted);
  return {};
}

Status Firmware::destroy_rmp(In in, Out) {
  const SrqNumber rmp = object_of(in);
  if (!rmps_.contains(rmp)) return refusal(CommandSyndrome::destroy_srq_absent, rmp);
  const Outcome<> destroyed = engine_.destroy_srq(rmp, uid_of(in));
  if (destroyed) forget(rmps_, rmp);
  return destroyed.status();
}

}  // namespace gdakit::softnic
