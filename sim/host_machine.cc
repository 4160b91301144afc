#include "sim/host_machine.h"

#include <chrono>
#include <cstring>

namespace gdakit::sim {

void HostMachine::copy_unknown_size(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

std::uint64_t HostMachine::steady_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

}  // namespace gdakit::sim
