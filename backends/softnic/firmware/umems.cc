#include "backends/softnic/firmware/umems.h"

namespace gdakit::softnic {

UmemNumber Umems::add(const Umem& umem) {
  umems_[next_] = std::make_shared<const Umem>(umem);
  return next_++;
}

Outcome<> Umems::remove(UmemNumber number, Uid uid) {
  const auto umem = umems_.find(number);
  if (umem == umems_.end() || umem->second->uid != uid) {
    return refusal(CommandSyndrome::mailbox_umem_absent, number);
  }
  if (umem->second.use_count() > 1) return refusal(CommandSyndrome::mailbox_umem_busy, number);
  umems_.erase(umem);
  return {};
}

Outcome<DmaAddress> Umems::find(const UmemPart& part, Uid uid, UmemUses& uses) const {
  const auto umem = umems_.find(part.umem);
  if (umem == umems_.end() || umem->second->uid != uid) {
    return refusal(CommandSyndrome::mailbox_umem_absent, part.umem);
  }
  if (!umem->second->holds(part.offset, part.bytes)) {
    return refusal(CommandSyndrome::mailbox_umem_range, part.umem, part.offset);
  }
  if (part.written && !umem->second->writable) {
    return refusal(CommandSyndrome::mailbox_umem_read_only, part.umem);
  }
  uses.push_back(umem->second);
  return umem->second->memory.base + part.offset;
}

}  // namespace gdakit::softnic
