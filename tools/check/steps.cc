#include "tools/check/steps.h"

#include <algorithm>
#include <array>

namespace gdakit::tools::check {
namespace {

constexpr std::array kSteps{
    Step{"modules", "kernel modules", look_at_modules},
    Step{"nodes", "device nodes", look_at_nodes},
    Step{"libraries", "libibverbs and libmlx5", look_at_libraries},
    Step{"limits", "locked memory, cgroups", look_at_limits},
    Step{"device", "DEVX and doorbell pages", look_at_devices},
    Step{"port", "state, link layer, MTU", look_at_ports},
    Step{"gid", "addresses of the ports", look_at_gids},
    Step{"gpu-memory", "the NIC reaches a GPU's memory", look_at_gpu_memory, true},
    Step{"gpu-doorbell", "a GPU reaches the doorbell", look_at_gpu_doorbell, true},
    Step{"gpu-objects", "queues in a GPU's memory", look_at_gpu_objects, true},
    Step{"atomics", "what signals and counters use", look_at_atomics},
    Step{"pcie", "ACS, IOMMU, links, distances", look_at_pcie},
    Step{"put", "a put of the CPU to itself", look_at_put},
    Step{"gpu-put", "a put of a GPU to itself", look_at_gpu_put, true},
    Step{"qos", "traffic class, sharing of NICs", look_at_qos},
};

}  // namespace

std::span<const Step> steps() { return kSteps; }

const char* step_title(std::string_view name) {
  if (name == kPairs) return "puts between all NICs of a job";
  if (name == kAgreement) return "what PEs should have alike";
  const auto found =
      std::ranges::find_if(kSteps, [&](const Step& step) { return step.name == name; });
  return found == kSteps.end() ? "" : found->title;
}

std::vector<std::string> step_names() {
  std::vector<std::string> names;
  for (const Step& step : kSteps) names.emplace_back(step.name);
  names.emplace_back(kPairs);
  names.emplace_back(kAgreement);
  return names;
}

std::vector<StepReport> run_steps(const Surroundings& surroundings,
                                  const std::vector<std::string>& only) {
  std::vector<StepReport> reports;
  for (const Step& step : kSteps) {
    if (!only.empty() && std::ranges::find(only, step.name) == only.end()) continue;
    StepReport report = step.look(surroundings);
    report.step = step.name;
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace gdakit::tools::check
