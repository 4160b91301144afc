// What a job's options put around the wire of a PE's NIC.
//
//   NIC -- CaptureWire (GDAKIT_CAPTURE) -- FaultyWire (GDAKIT_NIC_FAULTS) -- wire
//
// So a capture shows all that a NIC sends, also what gets lost later.
#pragma once

#include <functional>
#include <memory>

#include "backends/softnic/wire/udp_address.h"
#include "backends/softnic/wire/wire.h"
#include "core/base/options.h"
#include "core/base/result.h"

namespace gdakit::softnic {

// `address` says where endpoints are, for the capture; null: the wire has no addresses.
Result<std::unique_ptr<Wire>> wrap_wire(std::unique_ptr<Wire> wire, const Options& options,
                                        std::function<UdpAddress(Endpoint)> address = nullptr);

}  // namespace gdakit::softnic
