#include "core/host/nic_keys.h"

#include <string>

namespace gdakit {

Result<NicKeys> NicKeys::create(Backend& backend, void* base, std::uint64_t bytes, MemoryUse use) {
  const std::uint32_t nics = backend.limits().nics;
  NicKeys made;
  for (std::uint32_t nic = 0; nic < nics; ++nic) {
    const Result<MemoryKeys> keys = backend.nic(nic).register_memory(base, bytes, use);
    if (keys) {
      made.keys_.push_back(*keys);
      continue;
    }
    static_cast<void>(made.deregister(backend));
    return nics == 1 ? keys.error() : keys.error().within("NIC " + std::to_string(nic));
  }
  return made;
}

Result<void> NicKeys::deregister(Backend& backend) const {
  Result<void> first;
  for (std::uint32_t nic = 0; nic < nics(); ++nic) {
    const Result<void> gone = backend.nic(nic).deregister_memory(keys_[nic]);
    if (first && !gone)
      first = nics() == 1 ? gone : gone.error().within("NIC " + std::to_string(nic));
  }
  return first;
}

}  // namespace gdakit
