// The control path: targets of DC.
#include "backends/softnic/engine/engine.h"

namespace gdakit::softnic {

Outcome<> Engine::check_dct(const DctAttributes& attributes, Uid uid) const {
  using Sy = CommandSyndrome;
  const DctAttributes& a = attributes;
  if (pds_.find(a.pd, uid) == nullptr) return refusal(Sy::create_dct_pd, a.pd);
  if (cqs_.find(a.cq, uid) == nullptr) return refusal(Sy::create_dct_cq, a.cq);
  if (srqs_.find(a.srq, uid) == nullptr) return refusal(Sy::create_dct_srq, a.srq);
  if (a.min_rnr_nak > 31) return refusal(Sy::create_dct_min_rnr_nak, 0, a.min_rnr_nak);
  if (!is_path_mtu(a.mtu, core_.psn_bytes)) return refusal(Sy::create_dct_mtu, 0, a.mtu);
  return {};
}

Outcome<DctNumber> Engine::create_dct(const DctAttributes& attributes, Uid uid) {
  const Outcome<> checked = check_dct(attributes, uid);
  if (!checked) return checked.status();
  const auto number = dcts_.take();
  if (!number) return refusal(CommandSyndrome::create_dct_numbers);
  Dct& dct = dcts_.put(*number, uid, std::make_unique<Dct>(*number, attributes));
  dct.cq = cqs_.find(attributes.cq);
  dct.srq = srqs_.find(attributes.srq);
  ++pds_.find(attributes.pd)->users;
  ++dct.cq->users;
  ++dct.srq->users;
  started_ = true;
  return *number;
}

Outcome<DctInfo> Engine::query_dct(DctNumber dct, Uid uid) const {
  const Dct* const found = dcts_.find(dct, uid);
  if (found == nullptr) return refusal(CommandSyndrome::query_dct_absent, dct);
  return DctInfo{found->state, found->key_violations, found->connections};
}

Outcome<> Engine::drain_dct(DctNumber dct, Uid uid) {
  Dct* const found = dcts_.find(dct, uid);
  if (found == nullptr) return refusal(CommandSyndrome::drain_dct_absent, dct);
  dc_targets_.drain(*found);
  return {};
}

Outcome<> Engine::arm_dct(DctNumber dct, Uid uid) {
  Dct* const found = dcts_.find(dct, uid);
  if (found == nullptr) return refusal(CommandSyndrome::arm_dct_absent, dct);
  found->armed = true;
  return {};
}

Outcome<> Engine::destroy_dct(DctNumber dct, Uid uid) {
  Dct* const found = dcts_.find(dct, uid);
  if (found == nullptr) return refusal(CommandSyndrome::destroy_dct_absent, dct);
  if (found->state != DctState::drained) return refusal(CommandSyndrome::destroy_dct_state, dct);
  dc_targets_.forget(*found);
  core_.counters += found->counters;
  --pds_.find(found->attributes.pd)->users;
  --found->cq->users;
  --found->srq->users;
  dcts_.remove(dct);
  return {};
}

std::vector<DctNumber> Engine::dcts() const {
  std::vector<DctNumber> found;
  for (DctNumber number = dcts_.begin_number(); number < dcts_.end_number(); ++number) {
    if (dcts_.find(number) != nullptr) found.push_back(number);
  }
  return found;
}

}  // namespace gdakit::softnic
