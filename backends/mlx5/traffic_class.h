// The traffic class that the system has for a port's queue pairs. Those that commands make do not
// take it by themselves.
#pragma once

#include <cstdint>
#include <filesystem>

namespace gdakit::mlx5 {

// `device` is the NIC's folder in /sys/class/infiniband. 0 where the driver has no such setting, or
// nobody has set it.
std::uint8_t system_traffic_class(const std::filesystem::path& device, std::uint8_t port);

}  // namespace gdakit::mlx5
