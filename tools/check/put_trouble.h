// Why a put may have failed: what its error says, and what is known of such errors.
#pragma once

#include <chrono>
#include <string>

#include "backends/mlx5/check.h"
#include "tools/check/step.h"

namespace gdakit::tools::check {

// Between which ends: to itself a NIC needs no network.
struct PutRoute {
  std::string on;       // "mlx5_0 port 1"; or "mlx5_0 port 1 to PE 3's mlx5_2 port 1"
  std::string nic;      // "mlx5_0"
  bool is_loop = true;  // to itself
  std::string address;  // of the other end, for the commands that prove something
  std::string otherwise;
};

// A call that failed before anything was sent.
Finding refused_call(const PutRoute& route, const std::string& what, const Error& error);
// A put that did not arrive.
Finding failed_put(const PutRoute& route, std::uint64_t bytes, const mlx5::PutOutcome& outcome,
                   std::chrono::milliseconds limit);
// Puts that arrived, but not at once: the names of the counters that have moved, with how far.
Finding lossy_puts(const PutRoute& route, const std::string& moved);
// A put that the NIC calls a success, of which so many bytes are wrong.
Finding wrong_bytes(const PutRoute& route, std::uint64_t bytes, std::uint64_t wrong);

}  // namespace gdakit::tools::check
