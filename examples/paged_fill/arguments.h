// The command line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace fill {

struct Arguments {
  std::uint32_t pages = 512;        // of a request
  std::uint32_t page_bytes = 4096;  // a multiple of 8
  std::uint32_t requests = 16;      // of each client
  std::uint32_t in_flight = 4;      // requests of a client at a time
  std::uint32_t buffers = 6;        // a client's pages, in requests
  std::vector<int> servers = {0};
  std::optional<int> pes;  // run as threads of this process

  std::string help;  // what to print in place of running
};

// The error's sentence names the option, its value and what is allowed.
gdakit::Result<Arguments> parse_arguments(int argc, const char* const* argv);

// Who does what in a job of `pes` PEs: the servers are those that were named, the clients all
// others.
struct Roles {
  std::vector<int> servers;
  std::vector<int> clients;
};
gdakit::Result<Roles> make_roles(const Arguments& arguments, int pes);

}  // namespace fill
