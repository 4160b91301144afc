#include "backends/mlx5/devices.h"

#include "backends/mlx5/judge.h"

namespace gdakit::mlx5 {

bool built_in() { return true; }

Result<std::vector<DeviceReport>> report_devices(const HcaList& list) {
  const Result<const Libraries*> libraries = Libraries::of_process();
  if (!libraries) return libraries.error();
  return judge_devices(**libraries, list);
}

}  // namespace gdakit::mlx5
