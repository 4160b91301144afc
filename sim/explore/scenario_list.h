// The scenarios that `gdakit explore` knows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "sim/choice/subject.h"

namespace gdakit::sim {

// Which GPU's ordering rules a scenario's world has at its default knobs.
enum class GpuModel : std::uint8_t {
  ampere,  // inbound writes of a NIC are ordered by a flush only
  hopper,  // they are ordered for the GPU that owns the memory
};

struct SubjectOptions {
  GpuModel gpu = GpuModel::hopper;
  bool any_placement = false;  // puts are placed in any order (knob placement)
  std::string without = {};    // leave this order of device/order.h out; "": the protocol as it is
};

struct ScenarioEntry {
  const char* name;      // as typed on the command line: "put-quiet"
  const char* sentence;  // what it runs, and what must hold
  std::unique_ptr<Subject> (*make)(const SubjectOptions& options);
};

// All of them, in the order in which they are listed. Names are unique.
std::span<const ScenarioEntry> scenario_list();

}  // namespace gdakit::sim
