#include "sim/host_machine.h"

#include <cstring>

namespace gdakit::sim {

void HostMachine::copy_unknown_size(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

}  // namespace gdakit::sim
