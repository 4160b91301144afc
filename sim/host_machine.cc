#include "sim/host_machine.h"

#include <cstring>

#include "core/base/wait_clock.h"

namespace gdakit::sim {

void HostMachine::copy_unknown_size(void* to, const void* from, std::size_t bytes) {
  std::memcpy(to, from, bytes);
}

std::uint64_t HostMachine::now_of(const Thread& thread) {
  return thread.clock == nullptr ? steady_ns() : thread.clock->now_ns();
}

}  // namespace gdakit::sim
