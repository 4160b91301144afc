#include "tools/gpus.h"

#include <algorithm>
#include <map>

namespace gdakit::tools {
namespace {

struct Busiest {
  std::uint32_t gpu = 0;
  int pes = 0;
};

// The GPU that has most PEs of the job.
Busiest busiest(const std::vector<std::uint32_t>& gpus, int size) {
  if (gpus.empty()) return {};
  std::map<std::uint32_t, int> pes;
  for (int pe = 0; pe < size; ++pe) ++pes[gpus[static_cast<std::size_t>(pe) % gpus.size()]];
  const auto most = std::ranges::max_element(
      pes, [](const auto& a, const auto& b) { return a.second < b.second; });
  return {most->first, most->second};
}

}  // namespace

Result<std::vector<std::uint32_t>> parse_gpus(const std::string& text, const GpuReport& report) {
  std::vector<std::uint32_t> gpus;
  if (text == "all") {
    if (report.gpus.empty()) return Error(Code::unavailable, "--gpus all: " + report.sentence);
    for (const GpuInfo& gpu : report.gpus) gpus.push_back(static_cast<std::uint32_t>(gpu.ordinal));
    return gpus;
  }
  Result<ParsedOptions> parsed = parse_options({{"GDAKIT_GPUS", text}});
  if (!parsed || parsed->options.gpus.empty()) {
    return Error(Code::invalid_argument, "--gpus " + text +
                                             " is not possible; it takes all, or CUDA device "
                                             "numbers separated by commas");
  }
  for (const std::uint32_t gpu : parsed->options.gpus) {
    const auto known = [gpu](const GpuInfo& info) {
      return static_cast<std::uint32_t>(info.ordinal) == gpu;
    };
    if (report.gpus.empty() || std::ranges::any_of(report.gpus, known)) continue;
    return Error(Code::unavailable, "--gpus " + text + ": there is no GPU " + std::to_string(gpu) +
                                        "; this host shows " + std::to_string(report.gpus.size()));
  }
  return parsed->options.gpus;
}

GpusTaken gpus_taken(const Options& options, const GpuReport& report) {
  if (options.device == DeviceChoice::cpu) return {};
  GpusTaken taken{options.gpus, options.device == DeviceChoice::gpu || !options.gpus.empty()};
  if (!taken.gpus.empty()) return taken;
  for (const GpuInfo& gpu : report.gpus) {
    taken.gpus.push_back(static_cast<std::uint32_t>(gpu.ordinal));
  }
  return taken;
}

std::vector<std::string> buses_of_pes(const Options& options, const std::vector<GpuInfo>& present) {
  std::vector<std::string> buses;
  for (const GpuInfo& gpu : present) {
    if (options.gpus.empty()) buses.push_back(gpu.bus);
  }
  for (const std::uint32_t ordinal : options.gpus) {
    for (const GpuInfo& gpu : present) {
      if (gpu.ordinal == static_cast<int>(ordinal)) buses.push_back(gpu.bus);
    }
  }
  if (buses.empty()) buses.emplace_back();
  return buses;
}

std::string gpus_text(const std::vector<std::uint32_t>& gpus) {
  std::string text;
  for (const std::uint32_t gpu : gpus) text += (text.empty() ? "" : ",") + std::to_string(gpu);
  return text;
}

int most_on_one(const std::vector<std::uint32_t>& gpus, int size) {
  return busiest(gpus, size).pes;
}

std::string sharing_text(const std::vector<std::uint32_t>& gpus, int size) {
  const Busiest most = busiest(gpus, size);
  if (most.pes < 2) return "";
  return std::to_string(most.pes) + " PEs share GPU " + std::to_string(most.gpu);
}

}  // namespace gdakit::tools
