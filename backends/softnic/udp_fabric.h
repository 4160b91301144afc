// The wires of a job whose NICs are reached over UDP.
#pragma once

#include <memory>

#include "backends/softnic/wire/udp_wire.h"
#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"

namespace gdakit::softnic {

// Whether all PEs have GDAKIT_NIC_ADDRESS, or none; an error that names one of each kind if they do
// not agree. Collective.
Result<bool> goes_over_udp(const Options& options, Bootstrap& bootstrap);

// This PE's wire, connected to those of all others, with the longest MTU that the ways between all
// of them carry. Collective.
Result<std::unique_ptr<UdpWire>> open_udp_wire(const Options& options, Bootstrap& bootstrap);

}  // namespace gdakit::softnic
