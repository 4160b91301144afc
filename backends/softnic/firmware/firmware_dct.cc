// Commands of targets of DC.
#include <algorithm>

#include "backends/softnic/firmware/firmware.h"
#include "backends/softnic/firmware/object_mailbox.h"
#include "core/format/prm/dct.h"

namespace gdakit::softnic {

using namespace format;

namespace {

Access access_of(prm::View<prm::Dctc> context) {
  Access access = Access::none;
  if (context.get(prm::Dctc::rre) != 0) access = access | Access::remote_read;
  if (context.get(prm::Dctc::rwe) != 0) access = access | Access::remote_write;
  if (context.get(prm::Dctc::rae) != 0) access = access | Access::remote_atomic;
  return access;
}

DctAttributes attributes_of(prm::View<prm::Dctc> context) {
  using prm::Dctc;
  const auto number = [&context](auto field) {
    return static_cast<std::uint32_t>(context.get(field));
  };
  const std::uint32_t mtu = number(Dctc::mtu);
  DctAttributes attributes;
  attributes.pd = number(Dctc::pd);
  attributes.cq = number(Dctc::cqn);
  attributes.srq = number(Dctc::srqn_xrqn);
  attributes.user_index = number(Dctc::user_index);
  attributes.access_key = context.get(Dctc::dc_access_key);
  attributes.access = access_of(context);
  attributes.min_rnr_nak = static_cast<std::uint8_t>(number(Dctc::min_rnr_nak));
  attributes.traffic_class = static_cast<std::uint8_t>(number(Dctc::tclass));
  attributes.mtu = mtu == 0 ? 0 : 128u << mtu;
  return attributes;
}

}  // namespace

Status Firmware::create_dct(In in, Out out) {
  const auto context = prm::View<prm::CreateDctIn>(in).at(prm::CreateDctIn::dct_context_entry);
  // It makes a target of a shared receive queue with tag matching.
  if (context.get(prm::Dctc::offload_type) != 0) {
    return refusal(CommandSyndrome::mailbox_absent_feature);
  }
  const Outcome<DctNumber> dct = engine_.create_dct(attributes_of(context), uid_of(in));
  if (!dct) return dct.status();
  std::ranges::copy(context.bytes(), dcts_[*dct].bytes().begin());
  prm::View<prm::CreateDctOut, std::uint8_t>(out).set(prm::CreateDctOut::dctn, *dct);
  return {};
}

Status Firmware::query_dct(In in, Out out) {
  const DctNumber dct = object_of(in);
  const Outcome<DctInfo> info = engine_.query_dct(dct, uid_of(in));
  if (!info) return info.status();
  const auto context =
      prm::View<prm::QueryDctOut, std::uint8_t>(out).at(prm::QueryDctOut::dct_context_entry);
  std::ranges::copy(dcts_[dct].bytes(), context.bytes().begin());
  context.set(prm::Dctc::state, static_cast<std::uint64_t>(info->state));
  context.set(prm::Dctc::dc_access_key_violation_count, info->key_violations);
  return {};
}

Status Firmware::drain_dct(In in, Out) {
  return engine_.drain_dct(object_of(in), uid_of(in)).status();
}

Status Firmware::arm_dct(In in, Out) { return engine_.arm_dct(object_of(in), uid_of(in)).status(); }

Status Firmware::destroy_dct(In in, Out) {
  const DctNumber dct = object_of(in);
  const Outcome<> destroyed = engine_.destroy_dct(dct, uid_of(in));
  if (destroyed) dcts_.erase(dct);
  return destroyed.status();
}

}  // namespace gdakit::softnic
