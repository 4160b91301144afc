#include "backends/mlx5/devices.h"

#include <utility>

#include "backends/mlx5/judge.h"
#include "backends/mlx5/nic_choice.h"

namespace gdakit::mlx5 {

bool built_in() { return true; }

Result<std::vector<DeviceReport>> report_devices(const HcaList& list, const GidChoice& gid) {
  const Result<const Libraries*> libraries = Libraries::of_process();
  if (!libraries) return libraries.error();
  const Result<DeviceList> present = DeviceList::get(**libraries);
  if (!present) return present.error();
  return judge_devices(*present, list, gid);
}

Result<std::vector<PlacedNic>> place_nics(std::size_t count, const HcaList& list, const HcaMap& map,
                                          const GidChoice& gid, std::vector<std::string> gpus) {
  const Result<const Libraries*> libraries = Libraries::of_process();
  if (!libraries) return libraries.error();
  const Result<DeviceList> present = DeviceList::get(**libraries);
  if (!present) return present.error();
  const std::string gpu = std::move(gpus.back());
  gpus.pop_back();
  const std::size_t local_rank = gpus.size();
  const Result<std::vector<ChosenNic>> chosen =
      choose_nics(*present, {count, list, map, gid, local_rank, gpu, std::move(gpus)});
  if (!chosen) return chosen.error();
  std::vector<PlacedNic> placed;
  for (const ChosenNic& nic : *chosen) {
    placed.push_back({nic.report.name, nic.report.port, nic.why});
  }
  return placed;
}

}  // namespace gdakit::mlx5
