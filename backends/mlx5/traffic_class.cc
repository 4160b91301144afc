#include "backends/mlx5/traffic_class.h"

#include <charconv>
#include <fstream>
#include <string>

namespace gdakit::mlx5 {

// The file says "Global tclass=106", or the number alone.
std::uint8_t system_traffic_class(const std::filesystem::path& device, std::uint8_t port) {
  std::ifstream file(device / "tc" / std::to_string(port) / "traffic_class");
  std::string line;
  std::getline(file, line);
  const std::size_t equals = line.find('=');
  const std::size_t begin = equals == std::string::npos ? 0 : equals + 1;
  std::uint8_t value = 0;
  std::from_chars(line.data() + begin, line.data() + line.size(), value);
  return value;
}

}  // namespace gdakit::mlx5
