// Commands of completion queues.
#include <algorithm>
#include <utility>

#include "backends/softnic/firmware/firmware.h"
#include "backends/softnic/firmware/object_mailbox.h"
#include "core/format/cq_doorbell.h"
#include "core/format/prm/cq.h"

namespace gdakit::softnic {

using namespace format;

namespace {

CqModeration moderation_of(prm::View<prm::Cqc> context) {
  return {.period_us = static_cast<std::uint16_t>(context.get(prm::Cqc::cq_period)),
          .max_count = static_cast<std::uint16_t>(context.get(prm::Cqc::cq_max_count))};
}

}  // namespace

Status Firmware::create_cq(In in, Out out) {
  using prm::Cqc;
  using prm::CreateCqIn;
  const prm::View<CreateCqIn> request(in);
  const prm::View<Cqc> context = request.at(CreateCqIn::cqc);
  CqAttributes attributes;
  attributes.log_entries = static_cast<std::uint32_t>(context.get(Cqc::log_cq_size));
  attributes.collapsed = context.get(Cqc::cc) != 0;
  attributes.overrun_ignore = context.get(Cqc::oi) != 0;
  attributes.uar = static_cast<UarNumber>(context.get(Cqc::uar_page));
  const std::uint64_t cqe_size = context.get(Cqc::cqe_sz);
  if (context.get(Cqc::page_offset) != 0) {
    return refusal(CommandSyndrome::mailbox_absent_feature);
  }
  if (cqe_size > static_cast<std::uint64_t>(CqeSize::bytes_128)) {
    return refusal(CommandSyndrome::mailbox_cqe_size, 0, cqe_size);
  }
  attributes.cqe_size = static_cast<CqeSize>(cqe_size);
  attributes.moderation = moderation_of(context);
  const std::uint64_t slots = attributes.collapsed ? 1 : std::uint64_t{1} << attributes.log_entries;
  UmemUses uses;
  const auto entries =
      find_memory(request.get(CreateCqIn::cq_umem_valid) != 0,
                  {.umem = static_cast<UmemNumber>(request.get(CreateCqIn::cq_umem_id)),
                   .offset = request.get(CreateCqIn::cq_umem_offset),
                   .bytes = slots * entry_bytes(attributes.cqe_size),
                   .written = true},
                  in, uses);
  if (!entries) return entries.status();
  attributes.entries = *entries;
  const auto record = find_memory(context.get(Cqc::dbr_umem_valid) != 0,
                                  {.umem = static_cast<UmemNumber>(context.get(Cqc::dbr_umem_id)),
                                   .offset = context.get(Cqc::dbr_addr),
                                   .bytes = sizeof(CqDoorbellRecord),
                                   .written = true},
                                  in, uses);
  if (!record) return record.status();
  attributes.doorbell_record = *record;
  const Outcome<CqNumber> cq = engine_.create_cq(attributes, uid_of(in));
  if (!cq) return cq.status();
  Made<Cqc>& made = cqs_[*cq];
  std::ranges::copy(context.bytes(), made.context.bytes().begin());
  made.umems = std::move(uses);
  prm::View<prm::CreateCqOut, std::uint8_t>(out).set(prm::CreateCqOut::cqn, *cq);
  return {};
}

Status Firmware::query_cq(In in, Out out) {
  using prm::Cqc;
  const CqNumber cq = object_of(in);
  const Outcome<CqInfo> info = engine_.query_cq(cq, uid_of(in));
  if (!info) return info.status();
  const auto context =
      prm::View<prm::QueryCqOut, std::uint8_t>(out).at(prm::QueryCqOut::cq_context);
  std::ranges::copy(cqs_[cq].context.bytes(), context.bytes().begin());
  context.set(Cqc::status, static_cast<std::uint64_t>(info->status));
  context.set(Cqc::st, static_cast<std::uint64_t>(info->armed));
  context.set(Cqc::producer_counter, info->producer_counter);
  context.set(Cqc::consumer_counter, info->consumer_counter);
  context.set(Cqc::last_notified_index, info->last_notified_index);
  context.set(Cqc::last_solicit_index, info->last_solicit_index);
  return {};
}

// Of its moderation; that of its place is the engine's call.
Status Firmware::modify_cq(In in, Out) {
  using prm::Cqc;
  using prm::ModifyCqIn;
  const prm::View<ModifyCqIn> request(in);
  const CqNumber cq = object_of(in);
  const auto made = cqs_.find(cq);
  if (made == cqs_.end()) return refusal(CommandSyndrome::moderate_cq_absent, cq);
  const std::uint64_t fields = request.get(ModifyCqIn::modify_field_select_resize_field_select);
  const bool known = (fields & ~(prm::kCqPeriodField | prm::kCqMaxCountField)) == 0;
  if (request.get(ModifyCqIn::op_mod) != 0 || fields == 0 || !known) {
    return refusal(CommandSyndrome::mailbox_cq_change, cq, fields);
  }
  const auto given = request.at(ModifyCqIn::cq_context);
  prm::Mailbox<Cqc> next = made->second.context;
  if ((fields & prm::kCqPeriodField) != 0) next.set(Cqc::cq_period, given.get(Cqc::cq_period));
  if ((fields & prm::kCqMaxCountField) != 0) {
    next.set(Cqc::cq_max_count, given.get(Cqc::cq_max_count));
  }
  const CqModeration by = moderation_of(prm::View<Cqc>(next.bytes()));
  const Outcome<> moderated = engine_.moderate_cq(cq, by, uid_of(in));
  if (moderated) made->second.context = next;
  return moderated.status();
}

void Firmware::cq_has_moved(CqNumber cq, const CqResize& to) {
  const auto made = cqs_.find(cq);
  if (made == cqs_.end()) return;
  made->second.context.set(prm::Cqc::log_cq_size, to.log_entries);
  made->second.context.set(prm::Cqc::cqe_sz, static_cast<std::uint64_t>(to.cqe_size));
}

Status Firmware::destroy_cq(In in, Out) {
  const CqNumber cq = object_of(in);
  const Outcome<> destroyed = engine_.destroy_cq(cq, uid_of(in));
  if (destroyed) forget(cqs_, cq);
  return destroyed.status();
}

}  // namespace gdakit::softnic
