#include "backends/mlx5/device_list.h"

#include <cerrno>
#include <utility>

namespace gdakit::mlx5 {

Result<DeviceList> DeviceList::get(const Libraries& libraries) {
  int count = 0;
  errno = 0;
  ibv_device** const devices = libraries.get_device_list(&count);
  if (devices != nullptr) return DeviceList(libraries, {devices, static_cast<std::size_t>(count)});
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
