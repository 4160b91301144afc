// Judges devices of libibverbs: whether gdakit can use them, and by which port.
#pragma once

#include "backends/mlx5/devices.h"
#include "backends/mlx5/libraries.h"

namespace gdakit::mlx5 {

// Every device of this host. Errors: as those of report_devices.
Result<std::vector<DeviceReport>> judge_devices(const Libraries& libraries, const HcaList& list);

DeviceReport judge_device(const Libraries& libraries, ibv_device* device, const HcaList& list);

}  // namespace gdakit::mlx5
