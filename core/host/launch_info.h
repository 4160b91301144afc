// Who this process is in its job, and how it finds the others: what a launcher tells a PE.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/options.h"
#include "core/base/result.h"

namespace gdakit {

// 128 bits that only the processes of one job know.
using JobSecret = std::array<std::uint8_t, 16>;

// A fresh secret from the system's random numbers.
Result<JobSecret> make_job_secret();
// As 32 hexadecimal digits, the form of GDAKIT_SECRET.
std::string job_secret_text(const JobSecret& secret);
Result<JobSecret> parse_job_secret(std::string_view text);

struct LaunchInfo {
  int rank = 0;
  int size = 1;
  // Of PE 0. Not looked at in a job of one PE.
  std::string root_host;
  std::uint16_t root_port = 0;
  JobSecret secret{};
  // PE 0: the listening socket that it inherited; without one it binds root_host and root_port.
  std::optional<int> listen_fd;
  std::chrono::milliseconds timeout{60'000};  // for each operation of the bootstrap
};

// From the first source that knows: the GDAKIT_* variables that `gdakit run` sets; else a job of
// one.
Result<LaunchInfo> find_launch_info(const Options& options);

}  // namespace gdakit
