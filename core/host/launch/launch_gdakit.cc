// The GDAKIT_* variables: those that `gdakit run` sets, or a user's own script.
#include "core/host/launch/launch_source.h"

namespace gdakit {
namespace {

WhyNot why_not(const Options& options) {
  if (options.rank) return std::optional<std::string>();
  return std::optional<std::string>("GDAKIT_RANK is not set");
}

Result<LaunchInfo> find(const Options& options) {
  LaunchInfo info;
  info.launcher = LauncherChoice::gdakit;
  info.rank = static_cast<int>(*options.rank);
  info.size = static_cast<int>(*options.size);
  if (options.local_rank) info.local_rank = static_cast<int>(*options.local_rank);
  info.timeout = options.timeout;
  info.launcher_keeps_port = !options.exit_pipe.empty();  // `gdakit run` itself, no script
  if (info.size == 1) return info;
  for (const auto& [name, value] :
       {std::pair("GDAKIT_ROOT", &options.root), std::pair("GDAKIT_SECRET", &options.secret)}) {
    if (!value->empty()) continue;
    return Error(Code::invalid_argument, std::string(name) + " is not set, and a job of " +
                                             std::to_string(info.size) +
                                             " PEs needs it; set it, or use gdakit run");
  }
  Result<JobSecret> secret = parse_job_secret(options.secret);
  if (!secret) return secret.error();
  info.secret = *secret;
  set_root(info, options.root);
  if (info.rank == 0 && options.listen_fd) info.listen_fd = static_cast<int>(*options.listen_fd);
  return info;
}

Result<Launch> start(const Options& options) {
  const Result<LaunchInfo> info = find(options);
  if (!info) return info.error();
  if (info->listen_fd) return Launch{*info, {}, {}};
  return listen_at_root(*info);
}

}  // namespace

const LaunchSource kGdakitLaunch{LauncherChoice::gdakit, "GDAKIT_RANK and GDAKIT_SIZE are set",
                                 why_not, find, start};

}  // namespace gdakit
