#include "backends/mlx5/nic_choice.h"

#include <algorithm>
#include <vector>

#include "backends/mlx5/judge.h"
#include "backends/mlx5/pci_distance.h"

namespace gdakit::mlx5 {
namespace {

Error none_usable(const std::vector<DeviceReport>& reports) {
  std::string reasons;
  for (const DeviceReport& report : reports) {
    reasons += (reasons.empty() ? "" : "; ") + report.name + ": " + report.sentence;
  }
  return Error(Code::unavailable, "no RDMA NIC can be used: " + reasons);
}

// What the map says must be; that another NIC is near is no comfort.
Result<ChosenNic> take_mapped(const DeviceList& present, const NicWish& wish) {
  const HcaList entry = wish.map.of(wish.local_rank);
  const std::string who = "GDAKIT_HCA_MAP gives the PE of local rank " +
                          std::to_string(wish.local_rank) + " the NIC " + entry.text();
  std::string names;
  for (ibv_device* const device : present.devices()) {
    const std::string name = present.libraries().get_device_name(device);
    names += (names.empty() ? "" : ", ") + name;
    if (!entry.unknown({name}).empty()) continue;
    const DeviceReport report = judge_device(present.libraries(), device, entry, "GDAKIT_HCA_MAP");
    if (report.usable()) return ChosenNic{device, report, "by GDAKIT_HCA_MAP"};
    return Error(Code::unavailable, who + ", which cannot be used: " + report.sentence);
  }
  return Error(Code::not_found, who + ", where this host has " + (names.empty() ? "none" : names));
}

// The usable NICs that are nearest to a GPU.
struct Nearest {
  std::vector<std::size_t> nics;  // by their places in the list
  Distance distance;
};
Nearest nearest_to(const std::string& gpu, const DeviceList& present,
                   const std::vector<DeviceReport>& reports, const std::filesystem::path& system) {
  Nearest nearest;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    if (!reports[i].usable()) continue;
    const auto folder = std::filesystem::path(present.devices()[i]->ibdev_path) / "device";
    const Distance distance = distance_between(folder, gpu, system);
    if (!nearest.nics.empty() && distance > nearest.distance) continue;
    if (!nearest.nics.empty() && distance < nearest.distance) nearest.nics.clear();
    nearest.distance = distance;
    nearest.nics.push_back(i);
  }
  return nearest;
}

std::string reason(const Nearest& nearest, std::size_t turn, const std::string& gpu) {
  std::string text;
  if (!gpu.empty()) text = words_of(nearest.distance.apart) + (" GPU " + gpu);
  if (nearest.nics.size() == 1) return text.empty() ? "the only one" : text;
  return text + (text.empty() ? "" : ", ") + "number " +
         std::to_string(turn % nearest.nics.size() + 1) + " of " +
         std::to_string(nearest.nics.size()) + " that are as near";
}

}  // namespace

Result<ChosenNic> choose_nic(const DeviceList& present, const NicWish& wish) {
  if (!wish.map.empty()) return take_mapped(present, wish);
  const Result<std::vector<DeviceReport>> reports = judge_devices(present, wish.list);
  if (!reports) return reports.error();
  const Nearest nearest = nearest_to(wish.gpu, present, *reports, wish.system);
  if (nearest.nics.empty()) return none_usable(*reports);
  const auto turn =
      static_cast<std::size_t>(std::ranges::count_if(wish.gpus_before, [&](const std::string& gpu) {
        return nearest_to(gpu, present, *reports, wish.system).nics == nearest.nics;
      }));
  const std::size_t taken = nearest.nics[turn % nearest.nics.size()];
  return ChosenNic{present.devices()[taken], (*reports)[taken], reason(nearest, turn, wish.gpu)};
}

}  // namespace gdakit::mlx5
