// The traffic class that the system has for a port's queue pairs. Those that commands make do not
// take it by themselves.
#pragma once

#include <charconv>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace gdakit::mlx5 {

// What a port's file tc/1/traffic_class says: "Global tclass=106", or the number alone. Nothing if
// it says none.
inline std::optional<std::uint8_t> parse_traffic_class(std::string_view line) {
  const std::size_t equals = line.find('=');
  if (equals != std::string_view::npos) line.remove_prefix(equals + 1);
  std::uint8_t value = 0;
  const auto read = std::from_chars(line.data(), line.data() + line.size(), value);
  if (read.ec != std::errc{}) return std::nullopt;
  return value;
}

// `device` is the NIC's folder in /sys/class/infiniband. 0 where the driver has no such setting, or
// nobody has set it.
std::uint8_t system_traffic_class(const std::filesystem::path& device, std::uint8_t port);

}  // namespace gdakit::mlx5
