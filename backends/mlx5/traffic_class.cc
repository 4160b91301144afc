#include "backends/mlx5/traffic_class.h"

#include <fstream>
#include <string>

namespace gdakit::mlx5 {

std::uint8_t system_traffic_class(const std::filesystem::path& device, std::uint8_t port) {
  std::ifstream file(device / "tc" / std::to_string(port) / "traffic_class");
  std::string line;
  std::getline(file, line);
  return parse_traffic_class(line).value_or(0);
}

}  // namespace gdakit::mlx5
