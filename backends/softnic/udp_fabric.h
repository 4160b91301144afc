// The wires of a job whose NICs are reached over UDP.
#pragma once

#include <memory>

#include "backends/softnic/wire/udp_wire.h"
#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"

namespace gdakit::softnic {

// Whether the PEs' NICs meet over UDP. An error, on every PE, if some PEs have GDAKIT_NIC_ADDRESS
// and others have none, or if GDAKIT_NIC_TAGS or GDAKIT_NIC_CONGESTION are not the same on all: it
// names the first PE that differs from PE 0. Collective, one round.
Result<bool> goes_over_udp(const Options& options, Bootstrap& bootstrap);

// This PE's wire, connected to those of all others, with the longest MTU that the ways between all
// of them carry. Collective, after goes_over_udp().
Result<std::unique_ptr<UdpWire>> open_udp_wire(const Options& options, Bootstrap& bootstrap);

}  // namespace gdakit::softnic
