// torchrun's variables, which frameworks and scripts set by themselves, too.
//
// MASTER_PORT is where torch's own store listens, so PE 0 listens kPortDistance above it, or, where
// that is no port, below. The distance is not small, because users who start several jobs give them
// neighbouring ports.
#include "core/host/launch/launch_source.h"

namespace gdakit {
namespace {

constexpr int kPortDistance = 617;
constexpr int kMostPort = 65'535;

WhyNot why_not(const Options& options) {
  if (launcher_value(options, "RANK").empty()) {
    return std::optional<std::string>("RANK is not set");
  }
  if (!launcher_value(options, "WORLD_SIZE").empty()) return std::optional<std::string>();
  return Error(Code::invalid_argument,
               "RANK is set and WORLD_SIZE is not, but torchrun sets both; set WORLD_SIZE, unset "
               "RANK, or " +
                   std::string(kOrAlone));
}

// What only the processes of this job have in common, and strangers can find out. The count of
// restarts is none of it: each node counts its own.
std::string shared_text(const Options& options) {
  std::string text = "torchrun";
  for (const char* const name :
       {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "TORCHELASTIC_RUN_ID"}) {
    text += '\n';
    text += launcher_value(options, name);
  }
  return text;
}

Result<LaunchInfo> find(const Options& options) {
  Result<LaunchInfo> info = launcher_place(options, LauncherChoice::torchrun, "RANK", "WORLD_SIZE");
  if (!info) return info;
  const Result<std::optional<int>> local = local_rank_of(options, {"LOCAL_RANK"});
  if (!local) return local.error();
  info->local_rank = *local;
  if (info->size == 1) return info;

  const std::string host(launcher_value(options, "MASTER_ADDR"));
  const Result<std::optional<int>> master = launcher_number(options, "MASTER_PORT", 1, kMostPort);
  if (!master) return master.error();
  if (options.root.empty() && (host.empty() || !*master)) {
    return Error(Code::invalid_argument,
                 std::string(host.empty() ? "MASTER_ADDR" : "MASTER_PORT") +
                     " is not set, but RANK and WORLD_SIZE are, and a job of " +
                     std::to_string(info->size) +
                     " PEs needs it to find PE 0; set it, or GDAKIT_ROOT=host:port, or " +
                     std::string(kOrAlone));
  }
  const int store = master->value_or(0);
  const int port =
      store + kPortDistance <= kMostPort ? store + kPortDistance : store - kPortDistance;
  Result<void> set = set_rendezvous(options, host, port, shared_text(options), *info);
  if (!set) return set.error();
  return info;
}

Result<Launch> start(const Options& options) {
  const Result<LaunchInfo> info = find(options);
  if (!info) return info.error();
  return listen_at_root(*info);
}

}  // namespace

const LaunchSource kTorchrunLaunch{LauncherChoice::torchrun, "RANK and WORLD_SIZE are set", why_not,
                                   find, start};

}  // namespace gdakit
