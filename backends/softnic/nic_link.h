// How the NIC of a PE reaches those of the others of its job, and who reaches whom by which wire:
//
//   Meeting::in_memory   memory, of one host's processes or of one process's threads
//   Meeting::over_udp    UDP
//   Meeting::by_place    memory between processes of one host, and UDP between hosts
//
// Processes are of one host if they have its name and boot, one user, and the same namespaces of
// processes and network, and each of them can open what the first has made; else they meet over UDP
// like others.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "backends/softnic/memory/heap_sharing.h"
#include "backends/softnic/wire/port_share.h"
#include "backends/softnic/wire/udp_address.h"
#include "backends/softnic/wire/wire.h"
#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"
#include "core/host/memory/memory_provider.h"

namespace gdakit::softnic {

class GpuOrderDomain;

struct NicLink {
  std::unique_ptr<Wire> wire;
  // Of every PE, if some are reached over UDP; else null.
  std::function<UdpAddress(Endpoint)> address = nullptr;
  std::optional<PortShare> port = {};  // likewise, what this NIC has of its port
  std::unique_ptr<HeapSharing> sharing = nullptr;
  std::shared_ptr<GpuOrderDomain> domain = nullptr;  // of NICs that read each other's memory
  std::uint32_t nics_of_process = 1;                 // of this job, this one included
};

// The longest payload by reference of one packet: on a GPU each packet is a copy of its own, which
// must be large to be fast.
std::uint32_t reference_mtu(const MemoryProvider& memory);

// Of PEs that are processes. Collective; nobody sends before all can receive. `bootstrap` and
// `memory` outlive the link. Errors: PEs that do not see each other; PEs whose options differ; what
// udp_fabric.h says.
Result<NicLink> link_in_memory(const Options& options, Bootstrap& bootstrap,
                               MemoryProvider& memory);
Result<NicLink> link_over_udp(const Options& options, Bootstrap& bootstrap);
Result<NicLink> link_by_place(const Options& options, Bootstrap& bootstrap, MemoryProvider& memory);

}  // namespace gdakit::softnic
