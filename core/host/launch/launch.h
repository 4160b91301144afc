// How this process finds its job: asks one launcher after the other whether it started it.
//
//   Result<Launch> launch = start_launch(options);     // who am I, where is PE 0
//   open_tcp_bootstrap(launch->info, log);             // meet the others there
//
// The order is that of launch_sources(); the first launcher that started this process has the say,
// and GDAKIT_LAUNCHER names one to ask alone. A launcher whose variables are there by half is an
// error, and so is a sign of one that gdakit cannot ask: each PE would else take itself for a job
// of one. docs/bring-up-a-cluster.md tells users which variables are looked at.
#pragma once

#include <string>
#include <vector>

#include "core/base/file_descriptor.h"
#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/launch/launch_info.h"

namespace gdakit {

struct Launch {
  LaunchInfo info;
  // PE 0, where it had to open the socket itself: info.listen_fd, to be kept until the bootstrap
  // has been opened.
  UniqueFileDescriptor listener;
  std::vector<std::string> warnings;  // sentences for the user
};

// What this process knows without the others: opens no socket, and waits for the launcher's own
// server at most.
Result<LaunchInfo> find_launch_info(const Options& options);

// The same, and what takes the others: under PMIx it is collective. PE 0 listens afterwards.
Result<Launch> start_launch(const Options& options);

// Of one launcher, for people.
struct LauncherReport {
  LauncherChoice launcher;
  bool in_charge;
  std::string sentence;  // why it is not, or how it tells
};
// Every launcher, in the order of asking.
std::vector<LauncherReport> report_launchers(const Options& options);

}  // namespace gdakit
