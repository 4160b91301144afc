// NicKeys: the keys of a piece of memory, with each NIC of a PE.
#pragma once

#include <cstdint>
#include <vector>

#include "core/host/backend.h"

namespace gdakit {

class NicKeys {
 public:
  // Of nothing, with no NIC.
  NicKeys() = default;
  // Registers the memory with every NIC of `backend`; with none of them on an error, which is that
  // of the NIC that refused, and names its place among several.
  static Result<NicKeys> create(Backend& backend, void* base, std::uint64_t bytes, MemoryUse use);

  std::uint32_t nics() const { return static_cast<std::uint32_t>(keys_.size()); }
  Be32 lkey(std::uint32_t nic) const { return keys_[nic].lkey; }
  Be32 rkey(std::uint32_t nic) const { return keys_[nic].rkey; }

  // Takes them from every NIC, and tells the first error, as Backend::deregister_memory does.
  // `backend` is the one that gave them.
  Result<void> deregister(Backend& backend) const;

 private:
  std::vector<MemoryKeys> keys_;  // [nic]
};

}  // namespace gdakit
