#include "backends/mlx5/nic_choice.h"

#include <algorithm>
#include <vector>

#include "backends/mlx5/judge.h"
#include "backends/mlx5/pci_distance.h"

namespace gdakit::mlx5 {
namespace {

struct Candidate {
  ChosenNic nic;
  Distance distance;
};

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
    const DeviceReport report = judge_device(present.libraries(), device, entry);
    if (report.usable()) return ChosenNic{device, report, "by GDAKIT_HCA_MAP"};
    return Error(Code::unavailable, who + ", which cannot be used: " + report.sentence);
  }
  return Error(Code::not_found, who + ", where this host has " + (names.empty() ? "none" : names));
}

Candidate candidate(ibv_device* device, const DeviceReport& report, const NicWish& wish) {
  const auto folder = std::filesystem::path(device->ibdev_path) / "device";
  return {{device, report, {}}, distance_between(folder, wish.gpu, wish.system)};
}

std::string reason(const Candidate& taken, std::size_t as_near, const NicWish& wish) {
  std::string text =
      wish.gpu.empty() ? "" : distance_name(taken.distance) + (" with GPU " + wish.gpu) + ", ";
  if (as_near > 1) text += "one of " + std::to_string(as_near) + " as near, ";
  return text + "for local rank " + std::to_string(wish.local_rank);
}

}  // namespace

Result<ChosenNic> choose_nic(const DeviceList& present, const NicWish& wish) {
  if (!wish.map.empty()) return take_mapped(present, wish);
  const Result<std::vector<DeviceReport>> reports = judge_devices(present, wish.list);
  if (!reports) return reports.error();
  std::vector<Candidate> nearest;
  for (std::size_t i = 0; i < reports->size(); ++i) {
    if (!(*reports)[i].usable()) continue;
    Candidate found = candidate(present.devices()[i], (*reports)[i], wish);
    if (!nearest.empty() && found.distance > nearest.front().distance) continue;
    if (!nearest.empty() && found.distance < nearest.front().distance) nearest.clear();
    nearest.push_back(std::move(found));
  }
  if (nearest.empty()) return none_usable(*reports);
  Candidate& taken = nearest[wish.local_rank % nearest.size()];
  taken.nic.why = reason(taken, nearest.size(), wish);
  return std::move(taken.nic);
}

}  // namespace gdakit::mlx5
