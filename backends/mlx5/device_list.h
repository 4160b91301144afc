// The list of a host's RDMA devices, as libibverbs gives it.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "backends/mlx5/libraries.h"

namespace gdakit::mlx5 {

// The text of a field of the libraries, which it may fill to its last byte.
template <std::size_t kBytes>
std::string text_in(const char (&field)[kBytes]) {
  return {field, strnlen(field, kBytes)};
}

// As libibverbs has it; empty: it has none.
std::string name_of(const Libraries& libraries, ibv_device* device);

class DeviceList {
 public:
  // Errors (unavailable): the kernel does not answer; the list ends elsewhere than its length says.
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
