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
// From what the PEs of a job know anyway, for launchers that give them no secret of their own. It
// keeps other jobs out, by mistake or by chance. It keeps nobody out who can guess `shared`.
JobSecret derive_job_secret(std::string_view shared);

struct LaunchInfo {
  LauncherChoice launcher = LauncherChoice::none;  // who says so; never automatic
  int rank = 0;
  int size = 1;
  std::optional<int> local_rank;  // among the PEs of this host, where the launcher knows it
  // Of PE 0. Not looked at in a job of one PE; empty while only PE 0 knows it.
  std::string root_host;
  std::uint16_t root_port = 0;
  JobSecret secret{};
  bool secret_is_derived = false;  // from what others may know, too
  // PE 0: the listening socket that it inherited or made; without one it binds root_host and
  // root_port.
  std::optional<int> listen_fd;
  // The launcher keeps PE 0's port open until PE 0 has ended: who is refused there comes too late.
  bool launcher_keeps_port = false;
  std::chrono::milliseconds timeout{60'000};  // for each operation of the bootstrap
  // What open_bootstrap takes from the options, whatever the launcher.
  std::chrono::milliseconds peer_timeout{20'000};
  PeerLoss peer_loss = PeerLoss::end;
};

// "host:port", the host an IPv6 address in brackets if it is one, into root_host and root_port.
// `text` is one that GDAKIT_ROOT may be.
void set_root(LaunchInfo& info, std::string_view text);
std::string root_text(const LaunchInfo& info);

}  // namespace gdakit
