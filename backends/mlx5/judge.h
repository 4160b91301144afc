// Judges one device of libibverbs: whether gdakit can use it, and by which port.
#pragma once

#include "backends/mlx5/devices.h"
#include "backends/mlx5/libraries.h"

namespace gdakit::mlx5 {

DeviceReport judge_device(const Libraries& libraries, ibv_device* device, const HcaList& list);

}  // namespace gdakit::mlx5
