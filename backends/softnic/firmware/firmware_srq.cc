// Commands of shared receive queues that are no pools: those of XRC, and SRQ, which drivers of old
// use for all others. Their contexts have the same fields, but that SRQ's says nothing of XRC.
#include <algorithm>

#include "backends/softnic/firmware/firmware.h"
#include "backends/softnic/firmware/object_mailbox.h"
#include "backends/softnic/firmware/srq_mailbox.h"
#include "core/format/prm/pd.h"
#include "core/format/prm/srq.h"

namespace gdakit::softnic {

using namespace format;
using prm::XrcSrqc;

namespace {

std::uint64_t opcode_of(std::span<const std::uint8_t> in) {
  return prm::View<prm::MboxIn>(in).get(prm::MboxIn::opcode);
}

bool is(std::span<const std::uint8_t> in, prm::Opcode opcode) {
  return opcode_of(in) == static_cast<std::uint64_t>(opcode);
}

SrqAttributes attributes_of(prm::View<XrcSrqc> context, bool is_xrc) {
  const auto number = [&context](auto field) {
    return static_cast<std::uint32_t>(context.get(field));
  };
  SrqAttributes attributes;
  attributes.pd = number(XrcSrqc::pd);
  attributes.log_wqes = number(XrcSrqc::log_xrc_srq_size);
  attributes.log_stride = number(XrcSrqc::log_rq_stride) + 4;
  attributes.doorbell_record = {context.get(XrcSrqc::db_record_addr_h) << 32 |
                                context.get(XrcSrqc::db_record_addr_l) << 2};
  if (!is_xrc) return attributes;
  if (context.get(XrcSrqc::basic_cyclic_rcv_wqe) != 0) attributes.form = SrqForm::basic_cyclic;
  attributes.xrc = {number(XrcSrqc::xrcd), number(XrcSrqc::cqn), number(XrcSrqc::user_index)};
  return attributes;
}

}  // namespace

Status Firmware::alloc_xrcd(In in, Out out) {
  const Outcome<XrcdNumber> domain = engine_.alloc_xrcd(uid_of(in));
  if (!domain) return domain.status();
  prm::View<prm::AllocXrcdOut, std::uint8_t>(out).set(prm::AllocXrcdOut::xrcd, *domain);
  return {};
}

Status Firmware::dealloc_xrcd(In in, Out) {
  return engine_.dealloc_xrcd(object_of(in), uid_of(in)).status();
}

Outcome<SrqNumber> Firmware::make_srq(const SrqAttributes& attributes, std::uint32_t limit,
                                      Uid uid) {
  const Outcome<SrqNumber> srq = engine_.create_srq(attributes, uid);
  if (!srq) return srq;
  const Outcome<> armed = engine_.arm_srq(*srq, limit, uid);
  if (armed) return srq;
  static_cast<void>(engine_.destroy_srq(*srq, uid));
  return armed.status();
}

std::map<SrqNumber, Firmware::Made<XrcSrqc>>& Firmware::srqs_of(bool is_xrc) {
  return is_xrc ? xrc_srqs_ : srqs_;
}

// How a umem is named here is not published: memory is the kernel's to name.
Status Firmware::create_srq(In in, Out out) {
  if (in.sender == Sender::user) return refusal(CommandSyndrome::mailbox_no_umem);
  if (in.size() < CreateSrqAtIn::kBytes) {
    return refusal(CommandSyndrome::mailbox_in_length, CreateSrqAtIn::kBytes, in.size());
  }
  const prm::View<CreateSrqAtIn> request(in);
  const auto context = request.at(prm::CreateXrcSrqIn::xrc_srq_context_entry);
  if (context.get(XrcSrqc::page_offset) != 0 || context.get(XrcSrqc::wq_signature) != 0 ||
      context.get(XrcSrqc::user_index_equal_xrc_srqn) != 0) {
    return refusal(CommandSyndrome::mailbox_absent_feature);
  }
  const bool is_xrc = is(in, prm::Opcode::create_xrc_srq);
  SrqAttributes attributes = attributes_of(context, is_xrc);
  attributes.wqes = {request.get(CreateSrqAtIn::wqes)};
  const auto limit = static_cast<std::uint32_t>(context.get(XrcSrqc::lwm));
  const Outcome<SrqNumber> srq = make_srq(attributes, limit, uid_of(in));
  if (!srq) return srq.status();
  std::ranges::copy(context.bytes(), srqs_of(is_xrc)[*srq].context.bytes().begin());
  prm::View<ObjectOut, std::uint8_t>(out).set(ObjectOut::number, *srq);
  return {};
}

Status Firmware::query_srq(In in, Out out) {
  const SrqNumber srq = object_of(in);
  const auto& made = srqs_of(is(in, prm::Opcode::query_xrc_srq));
  const auto found = made.find(srq);
  if (found == made.end()) return refusal(CommandSyndrome::query_srq_absent, srq);
  const Outcome<SrqInfo> info = engine_.query_srq(srq, uid_of(in));
  if (!info) return info.status();
  const auto context = prm::View<prm::QueryXrcSrqOut, std::uint8_t>(out).at(
      prm::QueryXrcSrqOut::xrc_srq_context_entry);
  std::ranges::copy(found->second.context.bytes(), context.bytes().begin());
  const auto state = info->error ? prm::SrqState::error : prm::SrqState::good;
  context.set(XrcSrqc::state, static_cast<std::uint64_t>(state));
  context.set(XrcSrqc::lwm, info->limit);
  context.set(XrcSrqc::wqe_cnt, static_cast<std::uint16_t>(info->posted - info->taken));
  return {};
}

Status Firmware::arm_srq(In in, Out) {
  const prm::View<prm::ArmXrcSrqIn> request(in);
  const SrqNumber srq = object_of(in);
  const std::uint64_t of = request.get(prm::MboxIn::op_mod);
  if (of != prm::kArmSrq) return refusal(CommandSyndrome::mailbox_arm_mode, srq, of);
  if (!srqs_of(is(in, prm::Opcode::arm_xrc_srq)).contains(srq)) {
    return refusal(CommandSyndrome::arm_srq_absent, srq);
  }
  const auto limit = static_cast<std::uint32_t>(request.get(prm::ArmXrcSrqIn::lwm));
  return engine_.arm_srq(srq, limit, uid_of(in)).status();
}

Status Firmware::destroy_srq(In in, Out) {
  const SrqNumber srq = object_of(in);
  auto& made = srqs_of(is(in, prm::Opcode::destroy_xrc_srq));
  if (!made.contains(srq)) return refusal(CommandSyndrome::destroy_srq_absent, srq);
  const Outcome<> destroyed = engine_.destroy_srq(srq, uid_of(in));
  if (destroyed) forget(made, srq);
  return destroyed.status();
}

}  // namespace gdakit::softnic
