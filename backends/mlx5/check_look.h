// The same looks by libraries that the caller gives, for tests that play them.
#pragma once

#include "backends/mlx5/check.h"
#include "backends/mlx5/device_list.h"
#include "backends/mlx5/devices.h"

namespace gdakit::mlx5 {

NicLook look_at_nic(const Libraries& libraries, ibv_device* device, const HcaList& list);

Result<std::unique_ptr<PutEnd>> open_put_end(const Libraries& libraries, const std::string& nic,
                                             unsigned port, const Options& options);

}  // namespace gdakit::mlx5
