// The control path: shared receive queues.
#include <bit>

#include "backends/softnic/engine/engine.h"
#include "core/format/srq.h"
#include "core/format/wqe.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kMaxLogWqes = 15;
constexpr std::uint32_t kMaxLogStride = std::bit_width(kMaxReceiveStride) - 1;

constexpr std::uint32_t least_log_stride(SrqForm form) {
  return form == SrqForm::basic_cyclic ? 4 : 5;
}

Outcome<> check_srq(const SrqAttributes& attributes) {
  using Sy = CommandSyndrome;
  const SrqAttributes& a = attributes;
  if (a.form > SrqForm::basic_cyclic) {
    return refusal(Sy::create_srq_form, 0, static_cast<std::uint64_t>(a.form));
  }
  if (a.log_wqes > kMaxLogWqes) return refusal(Sy::create_srq_size, 0, a.log_wqes);
  if (a.log_stride < least_log_stride(a.form) || a.log_stride > kMaxLogStride) {
    return refusal(Sy::create_srq_stride, 0, a.log_stride);
  }
  if (a.wqes.value == 0 || a.wqes.value % format::kSegmentBytes != 0) {
    return refusal(Sy::create_srq_wqes);
  }
  const std::uint64_t record = a.doorbell_record.value;
  if (record == 0 || record % sizeof(format::SrqDoorbellRecord) != 0) {
    return refusal(Sy::create_srq_record);
  }
  return {};
}

}  // namespace

Outcome<> Engine::check_xrc_srq(const XrcSrqAttributes& attributes, Uid uid) const {
  if (xrcds_.find(attributes.domain) == nullptr) {
    return refusal(CommandSyndrome::create_srq_xrc_domain, attributes.domain);
  }
  if (cqs_.find(attributes.cq, uid) == nullptr) {
    return refusal(CommandSyndrome::create_srq_xrc_cq, attributes.cq);
  }
  return {};
}

Outcome<SrqNumber> Engine::create_srq(const SrqAttributes& attributes, Uid uid) {
  Outcome<> checked = check_srq(attributes);
  if (checked && attributes.xrc) checked = check_xrc_srq(*attributes.xrc, uid);
  if (!checked) return checked.status();
  Pd* const pd = pds_.find(attributes.pd, uid);
  if (pd == nullptr) return refusal(CommandSyndrome::create_srq_pd, attributes.pd);
  const auto number = srqs_.take();
  if (!number) return refusal(CommandSyndrome::create_srq_numbers);
  Cq* const cq = attributes.xrc ? cqs_.find(attributes.xrc->cq) : nullptr;
  const Srq& srq = srqs_.put(*number, uid, std::make_unique<Srq>(*number, attributes, cq));
  ++pd->users;
  if (attributes.xrc) {
    ++cq->users;
    ++xrcds_.find(attributes.xrc->domain)->users;
  }
  for (const MemoryRange& range : srq.memory()) core_.port.attach(range.base, range.length);
  return *number;
}

Outcome<> Engine::arm_srq(SrqNumber srq, std::uint32_t limit, Uid uid) {
  Srq* const object = srqs_.find(srq, uid);
  if (object == nullptr) return refusal(CommandSyndrome::arm_srq_absent, srq);
  if (limit > object->depth()) return refusal(CommandSyndrome::arm_srq_limit, srq, limit);
  object->arm(core_, limit);
  return {};
}

Outcome<SrqInfo> Engine::query_srq(SrqNumber srq, Uid uid) const {
  const Srq* const object = srqs_.find(srq, uid);
  if (object == nullptr) return refusal(CommandSyndrome::query_srq_absent, srq);
  return object->info();
}

// Targets may be asked for it until now, and have its receive WQEs.
void Engine::forget_srq(const Srq& srq) {
  --srq.cq()->users;
  --xrcds_.find(srq.xrc()->domain)->users;
  for (const QpNumber qpn :
       qps_where([](const Qp& qp) { return qp.common.attributes.is_xrc_target(); })) {
    Responder::forget(qps_.find(qpn)->receive, srq);
  }
  removals_.forget(srq);
}

Outcome<> Engine::destroy_srq(SrqNumber srq, Uid uid) {
  Srq* const object = srqs_.find(srq, uid);
  if (object == nullptr) return refusal(CommandSyndrome::destroy_srq_absent, srq);
  if (object->users != 0) return refusal(CommandSyndrome::destroy_srq_busy, srq);
  if (core_.side_work.holds(*object)) core_.side_work.remove(*object);
  --pds_.find(object->pd())->users;
  if (object->xrc()) forget_srq(*object);
  remove({.memory = object->memory(), .srq = srqs_.remove(srq)});
  return {};
}

}  // namespace gdakit::softnic
