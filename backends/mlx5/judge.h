// Judges devices of libibverbs: whether gdakit can use them, and by which port.
#pragma once

#include "backends/mlx5/device_list.h"
#include "backends/mlx5/devices.h"
#include "core/base/gid_choice.h"

namespace gdakit::mlx5 {

// Each device of the list, in its order, and whether it has a port with a GID that is allowed.
// Errors: there is none (unavailable); a name that no device has (not_found).
Result<std::vector<DeviceReport>> judge_devices(const DeviceList& present, const HcaList& list,
                                                const GidChoice& gid = {});

// `variable` is where the list is from.
DeviceReport judge_device(const Libraries& libraries, ibv_device* device, const HcaList& list,
                          const GidChoice& gid = {}, const char* variable = "GDAKIT_HCA_LIST");

// Whether the list allows one of the NIC's ports.
bool may_be_used(const HcaList& list, const std::string& name);

// Its version, whose end the driver may not have marked.
std::string firmware_of(const ibv_device_attr& attributes);

}  // namespace gdakit::mlx5
