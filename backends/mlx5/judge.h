// Judges devices of libibverbs: which of their ports gdakit can use.
#pragma once

#include "backends/mlx5/device_list.h"
#include "backends/mlx5/devices.h"
#include "core/base/gid_choice.h"

namespace gdakit::mlx5 {

// Each port of each device of the list, in their order, and whether it can be used, with a GID that
// is allowed. Errors: there is no device (unavailable); a name that no device has, or a port that a
// device has not (not_found).
Result<std::vector<DeviceReport>> judge_devices(const DeviceList& present, const HcaList& list,
                                                const GidChoice& gid = {});

// Of one device: at least one report. `variable` is where the list is from. Errors (not_found): the
// list names a port that the device has not.
Result<std::vector<DeviceReport>> judge_device(const Libraries& libraries, ibv_device* device,
                                               const HcaList& list, const GidChoice& gid = {},
                                               const char* variable = "GDAKIT_HCA_LIST");

// Whether the list allows one of the NIC's ports.
bool may_be_used(const HcaList& list, const std::string& name);

// Its version, whose end the driver may not have marked.
std::string firmware_of(const ibv_device_attr& attributes);

}  // namespace gdakit::mlx5
