// Memory of the host's own process, for emulated GPUs.
#pragma once

#include "core/host/memory/memory_provider.h"

namespace gdakit {

class HostMemoryProvider final : public MemoryProvider {
 public:
  std::uint64_t granularity() const override;
  Result<std::unique_ptr<MemoryBlock>> allocate(std::uint64_t bytes, Place place) override;
  Result<std::unique_ptr<AddressRange>> reserve(std::uint64_t bytes) override;
  Result<void> copy(void* to, const void* from, std::uint64_t bytes) override;
};

}  // namespace gdakit
