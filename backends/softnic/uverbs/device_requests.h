// What a device answers to those who ask it through its fabric (fabric_control.h):
//
//   state             "device=mlx5_0 port=up qps=2 packets_sent=12 packets_received=9 faults="
//   counters          its counters, in Prometheus' text format (pe_counters.h); the PE is its place
//   port up|down      the port goes up or down
//   faults TEXT       packets meet these faults (faults.h) instead of those before; without TEXT
//   none
#pragma once

#include <string>

#include "core/base/result.h"

namespace gdakit::softnic::uverbs {

class Device;

// From any thread. Errors name what may be asked.
Result<std::string> answer_request(Device& device, const std::string& request);

}  // namespace gdakit::softnic::uverbs
