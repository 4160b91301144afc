#include "backends/mlx5/device_list.h"

#include <cerrno>
#include <utility>

namespace gdakit::mlx5 {
namespace {

// Behind the last device there is a null.
bool ends_at(ibv_device* const* devices, int count) {
  for (int i = 0; i < count; ++i) {
    if (devices[i] == nullptr) return false;
  }
  return count >= 0 && devices[count] == nullptr;
}

}  // namespace

std::string name_of(const Libraries& libraries, ibv_device* device) {
  const char* const name = libraries.get_device_name(device);
  return name == nullptr ? "" : std::string(name, strnlen(name, IBV_SYSFS_NAME_MAX));
}

Result<DeviceList> DeviceList::get(const Libraries& libraries) {
  int count = 0;
  errno = 0;
  ibv_device** const devices = libraries.get_device_list(&count);
  if (devices != nullptr) {
    const bool whole = ends_at(devices, count);
    DeviceList list(libraries, {devices, whole ? static_cast<std::size_t>(count) : 0});
    if (whole) return list;
    return Error(Code::unavailable,
                 "ibv_get_device_list answered a list that does not end behind " +
                     std::to_string(count) + " devices, as it says");
  }
  const Error why = Error::from_errno("ibv_get_device_list", errno);
  return Error(Code::unavailable,
               why.message() +
                   "; load the kernel's modules ib_uverbs and mlx5_ib (`lsmod | grep mlx5_ib` "
                   "shows them)",
               why.system_code());
}

DeviceList::DeviceList(DeviceList&& other) noexcept
    : libraries_(other.libraries_), devices_(std::exchange(other.devices_, {})) {}

DeviceList::~DeviceList() {
  if (devices_.data() != nullptr) libraries_->free_device_list(devices_.data());
}

}  // namespace gdakit::mlx5
