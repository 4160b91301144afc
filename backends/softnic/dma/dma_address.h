// Memory of a provider as a DMA port names it.
#pragma once

#include <cstdint>

#include "backends/softnic/objects/attributes.h"
#include "core/host/memory/memory_provider.h"

namespace gdakit::softnic {

inline DmaAddress dma_address(const MemoryProvider& provider, const void* memory) {
  const auto value = reinterpret_cast<std::uint64_t>(memory);
  switch (provider.kind_of(memory)) {
    case MemoryKind::gpu: return {value | kGpuMemoryBit};
    case MemoryKind::pinned: return {value | kPinnedMemoryBit};
    case MemoryKind::host: break;
  }
  return {value};
}

}  // namespace gdakit::softnic
