#include "backends/softnic/firmware/umems.h"

namespace gdakit::softnic {

UmemNumber Umems::add(const MemoryRange& memory, Uid uid) {
  umems_[next_] = std::make_shared<const Umem>(Umem{memory, uid});
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

Outcome<DmaAddress> Umems::find(UmemNumber number, std::uint64_t offset, std::uint64_t bytes,
                                Uid uid, UmemUses& uses) const {
  const auto umem = umems_.find(number);
  if (umem == umems_.end() || umem->second->uid != uid) {
    return refusal(CommandSyndrome::mailbox_umem_absent, number);
  }
  const MemoryRange& memory = umem->second->memory;
  if (offset > memory.length || bytes > memory.length - offset) {
    return refusal(CommandSyndrome::mailbox_umem_range, number, offset);
  }
  uses.push_back(umem->second);
  return memory.base + offset;
}

}  // namespace gdakit::softnic
