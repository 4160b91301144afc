// What the NIC of a PE is made of: how it reaches the PE's memory, and how its engine is set.
#pragma once

#include <memory>
#include <optional>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/engine/nic.h"
#include "backends/softnic/wire/port_share.h"
#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/memory/memory_provider.h"

namespace gdakit::softnic {

class GpuOrderDomain;

struct NicParts {
  NicOptions options;
  std::unique_ptr<DmaPort> port;
};

// `domain`: of the NICs that read each other's GPU memory; may be null. `port`: what it has of a
// UDP port, if it has one: its packets may be lost, and strangers may send to it.
Result<NicParts> make_nic_parts(const Options& options, const MemoryProvider& memory,
                                const std::shared_ptr<GpuOrderDomain>& domain,
                                const std::optional<PortShare>& port);

}  // namespace gdakit::softnic
