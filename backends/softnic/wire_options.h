// What a job's options put around the wire of a PE's NIC.
//
//   NIC -- TraceWire (GDAKIT_TRACE) -- CaptureWire (GDAKIT_CAPTURE)
//       -- FaultyWire (GDAKIT_NIC_FAULTS) -- wire
//
// So captures and timelines show all that a NIC sends, also what gets lost later.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/softnic/objects/nic_trace.h"
#include "backends/softnic/wire/udp_address.h"
#include "backends/softnic/wire/wire.h"
#include "core/base/options.h"
#include "core/base/result.h"

namespace gdakit::softnic {

struct WireContext {
  // Where endpoints are, for the capture; null: the wire has no addresses.
  std::function<UdpAddress(Endpoint)> address = nullptr;
  NicTrace* trace = nullptr;  // outlives the wire; null: there is no timeline
  std::string name = {};      // of the capture's file and interface; empty: pe<endpoint>
};
Result<std::unique_ptr<Wire>> wrap_wire(std::unique_ptr<Wire> wire, const Options& options,
                                        const WireContext& context = {});

// What GDAKIT_TRACE asks for, of the NIC at this endpoint; null: nothing.
Result<std::unique_ptr<NicTrace>> open_trace(const Options& options, Endpoint endpoint);

}  // namespace gdakit::softnic
