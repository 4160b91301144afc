// What the processes of one host have in common, and no other has; likewise the threads of one
// process.
#pragma once

#include <array>
#include <cstdint>

namespace gdakit {

struct HostName {
  std::array<char, 192> text{};

  bool operator==(const HostName&) const = default;
};

HostName this_host();

// Drawn at random when it is first asked for: numbers of processes mean nothing in containers.
using ProcessToken = std::array<std::uint64_t, 2>;

ProcessToken this_process();

}  // namespace gdakit
