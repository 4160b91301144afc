// How a member of a TCP bootstrap finds the hub and is admitted.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include <boost/asio/io_context.hpp>

#include "core/base/result.h"
#include "core/host/bootstrap/tcp_stream.h"
#include "core/host/launch/launch_info.h"

namespace gdakit {

using BootstrapClock = std::chrono::steady_clock;

// Runs `io` until `done()` or the deadline; returns done().
template <class Done>
bool run_until(boost::asio::io_context& io, BootstrapClock::time_point deadline, Done done) {
  io.restart();
  while (!done() && io.run_one_until(deadline) != 0) {
  }
  return done();
}

// Connects to the hub at `host` and `port`, and shakes hands. What may pass (nobody listens yet, an
// earlier job is just ending) is tried again until the deadline.
Result<std::shared_ptr<TcpStream>> join_hub(boost::asio::io_context& io, const LaunchInfo& info,
                                            const std::string& host, std::uint16_t port);

}  // namespace gdakit
