// What the NIC of a PE is made of: how it reaches the PE's memory, and how its engine is set.
#pragma once

#include <memory>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/engine/nic.h"
#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/memory/memory_provider.h"

namespace gdakit::softnic {

class GpuOrderDomain;

struct NicParts {
  NicOptions options;
  std::unique_ptr<DmaPort> port;
};

// `domain`: of the NICs that read each other's GPU memory; may be null. `between_hosts`: its
// packets may be lost, and strangers may send to it.
Result<NicParts> make_nic_parts(const Options& options, const MemoryProvider& memory,
                                const std::shared_ptr<GpuOrderDomain>& domain, bool between_hosts);

}  // namespace gdakit::softnic
