// The steps of `gdakit check`, in the order in which a node comes up. None looks at what another
// one found, so that one failure hides no other.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/check/step.h"
#include "tools/check/surroundings.h"

namespace gdakit::tools::check {

struct Step {
  const char* name;   // for --only and in JSON
  const char* title;  // a few words
  StepReport (*look)(const Surroundings&);
  bool asks_gpus = false;
};

// All but those of a job.
std::span<const Step> steps();
inline constexpr std::string_view kPairs = "pairs";
inline constexpr std::string_view kAgreement = "agreement";
const char* step_title(std::string_view name);
// The names of all steps, also those of a job.
std::vector<std::string> step_names();

// Those named, or all.
std::vector<StepReport> run_steps(const Surroundings& surroundings,
                                  const std::vector<std::string>& only);

StepReport look_at_modules(const Surroundings& surroundings);
StepReport look_at_nodes(const Surroundings& surroundings);
StepReport look_at_libraries(const Surroundings& surroundings);
StepReport look_at_limits(const Surroundings& surroundings);
StepReport look_at_devices(const Surroundings& surroundings);
StepReport look_at_ports(const Surroundings& surroundings);
StepReport look_at_gids(const Surroundings& surroundings);
StepReport look_at_gpu_memory(const Surroundings& surroundings);
StepReport look_at_gpu_doorbell(const Surroundings& surroundings);
StepReport look_at_gpu_objects(const Surroundings& surroundings);
StepReport look_at_atomics(const Surroundings& surroundings);
StepReport look_at_pcie(const Surroundings& surroundings);
StepReport look_at_put(const Surroundings& surroundings);
StepReport look_at_gpu_put(const Surroundings& surroundings);
StepReport look_at_qos(const Surroundings& surroundings);

}  // namespace gdakit::tools::check
