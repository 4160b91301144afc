// The list of a host's RDMA devices, as libibverbs gives it.
#pragma once

#include <span>

#include "backends/mlx5/libraries.h"

namespace gdakit::mlx5 {

class DeviceList {
 public:
  // Errors: the kernel does not answer (unavailable).
  static Result<DeviceList> get(const Libraries& libraries);
  DeviceList(DeviceList&& other) noexcept;
  DeviceList& operator=(DeviceList&&) = delete;
  ~DeviceList();

  const Libraries& libraries() const { return *libraries_; }
  std::span<ibv_device* const> devices() const { return devices_; }

 private:
  DeviceList(const Libraries& libraries, std::span<ibv_device*> devices)
      : libraries_(&libraries), devices_(devices) {}

  const Libraries* libraries_;
  std::span<ibv_device*> devices_;
};

}  // namespace gdakit::mlx5
