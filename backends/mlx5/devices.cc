#include "backends/mlx5/devices.h"

#include <utility>

#include "backends/mlx5/judge.h"
#include "backends/mlx5/nic_choice.h"

namespace gdakit::mlx5 {

bool built_in() { return true; }

Result<std::vector<DeviceReport>> report_devices(const HcaList& list) {
  const Result<const Libraries*> libraries = Libraries::of_process();
  if (!libraries) return libraries.error();
  const Result<DeviceList> present = DeviceList::get(**libraries);
  if (!present) return present.error();
  return judge_devices(*present, list);
}

Result<PlacedNic> place_nic(const HcaList& list, const HcaMap& map, std::vector<std::string> gpus) {
  const Result<const Libraries*> libraries = Libraries::of_process();
  if (!libraries) return libraries.error();
  const Result<DeviceList> present = DeviceList::get(**libraries);
  if (!present) return present.error();
  const std::string gpu = std::move(gpus.back());
  gpus.pop_back();
  const std::size_t local_rank = gpus.size();
  const Result<ChosenNic> chosen =
      choose_nic(*present, {list, map, local_rank, gpu, std::move(gpus)});
  if (!chosen) return chosen.error();
  return PlacedNic{chosen->report.name, chosen->report.port, chosen->why};
}

}  // namespace gdakit::mlx5
