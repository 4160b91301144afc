#include "backends/mlx5/devices.h"

#include "backends/mlx5/judge.h"

namespace gdakit::mlx5 {

bool built_in() { return true; }

Result<std::vector<DeviceReport>> report_devices(const HcaList& list) {
  const Result<const Libraries*> libraries = Libraries::of_process();
  if (!libraries) return libraries.error();
  const Result<DeviceList> present = DeviceList::get(**libraries);
  if (!present) return present.error();
  return judge_devices(*present, list);
}

}  // namespace gdakit::mlx5
