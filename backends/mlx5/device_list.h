// The list of a host's RDMA devices, as libibverbs gives it.
#pragma once

#include <span>
#include <string_view>

#include "backends/mlx5/libraries.h"

namespace gdakit::mlx5 {

class DeviceList {
 public:
  // Errors: the kernel does not answer (unavailable).
  static Result<DeviceList> get(const Libraries& libraries);
  DeviceList(DeviceList&& other) noexcept;
  DeviceList& operator=(DeviceList&&) = delete;
  ~DeviceList();

  std::span<ibv_device* const> devices() const { return devices_; }
  // Null: none has this name.
  ibv_device* named(std::string_view name) const;

 private:
  DeviceList(const Libraries& libraries, std::span<ibv_device*> devices)
      : libraries_(&libraries), devices_(devices) {}

  const Libraries* libraries_;
  std::span<ibv_device*> devices_;
};

}  // namespace gdakit::mlx5
