// Judges devices of libibverbs: whether gdakit can use them, and by which port.
#pragma once

#include "backends/mlx5/device_list.h"
#include "backends/mlx5/devices.h"

namespace gdakit::mlx5 {

// Each device of the list, in its order. Errors: there is none (unavailable); a name that no device
// has (not_found).
Result<std::vector<DeviceReport>> judge_devices(const DeviceList& present, const HcaList& list);

// `variable` is where the list is from.
DeviceReport judge_device(const Libraries& libraries, ibv_device* device, const HcaList& list,
                          const char* variable = "GDAKIT_HCA_LIST");

}  // namespace gdakit::mlx5
