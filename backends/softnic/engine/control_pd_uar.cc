// The control path: protection domains and doorbell pages.
#include "backends/softnic/engine/engine.h"

namespace gdakit::softnic {

Outcome<PdNumber> Engine::alloc_pd(Uid uid) {
  const auto number = pds_.take();
  if (!number) return refusal(CommandSyndrome::alloc_pd_numbers);
  pds_.put(*number, uid, std::make_unique<Pd>());
  return *number;
}

Outcome<> Engine::dealloc_pd(PdNumber pd, Uid uid) {
  const Pd* object = pds_.find(pd, uid);
  if (object == nullptr) return refusal(CommandSyndrome::dealloc_pd_absent, pd);
  if (object->users != 0 || core_.keys.count(pd) != 0) {
    return refusal(CommandSyndrome::dealloc_pd_busy, pd);
  }
  pds_.remove(pd);
  return {};
}

Outcome<XrcdNumber> Engine::alloc_xrcd(Uid uid) {
  const auto number = xrcds_.take();
  if (!number) return refusal(CommandSyndrome::alloc_xrcd_numbers);
  xrcds_.put(*number, uid, std::make_unique<Xrcd>());
  return *number;
}

Outcome<> Engine::dealloc_xrcd(XrcdNumber domain, Uid uid) {
  const Xrcd* const object = xrcds_.find(domain, uid);
  if (object == nullptr) return refusal(CommandSyndrome::dealloc_xrcd_absent, domain);
  if (object->users != 0) return refusal(CommandSyndrome::dealloc_xrcd_busy, domain);
  xrcds_.remove(domain);
  return {};
}

Outcome<UarNumber> Engine::alloc_uar(UarType type, Uid uid) {
  const auto number = uars_.take();
  if (!number) return refusal(CommandSyndrome::alloc_uar_numbers);
  uars_.put(*number, uid, std::make_unique<UarUse>()).type = type;
  return *number;
}

Outcome<> Engine::free_uar(UarNumber uar, Uid uid) {
  const UarUse* object = uars_.find(uar, uid);
  if (object == nullptr) return refusal(CommandSyndrome::free_uar_absent, uar);
  if (object->users != 0) return refusal(CommandSyndrome::free_uar_busy, uar);
  uars_.remove(uar);
  return {};
}

}  // namespace gdakit::softnic
