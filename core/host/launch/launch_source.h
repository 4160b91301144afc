// What a launcher must be able to answer, and the list of those that are known.
//
//   gdakit    GDAKIT_RANK, GDAKIT_SIZE, ...      launch_gdakit.cc
//   pmix      the PMIx server of this host       launch_pmix.cc: mpirun, prterun, srun --mpi=pmix
//   torchrun  RANK, WORLD_SIZE, MASTER_ADDR ...  launch_torchrun.cc
//   slurm     SLURM_PROCID, SLURM_STEP_ID, ...   launch_slurm.cc: srun without PMIx
//   none      a job of one                       launch_none.cc
//
// PMIx comes before torchrun's variables, because it has a secret for the job and because a cluster
// may set RANK for all processes of a host; but where torchrun itself has left its mark it is the
// inner of the two and is asked.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "core/host/launch/launch.h"

namespace gdakit {

struct LaunchSource {
  LauncherChoice launcher;
  const char* tells;  // where the answers come from, for people
  // Why this launcher did not start this process, in a sentence; none if it did. An error if it has
  // started it by half: the variable that is missing, and the remedy. Reads variables only.
  Result<std::optional<std::string>> (*why_not)(const Options& options);
  // As find_launch_info() and start_launch(), of a launcher that started this process.
  Result<LaunchInfo> (*find)(const Options& options);
  Result<Launch> (*start)(const Options& options);
};

extern const LaunchSource kGdakitLaunch;
extern const LaunchSource kPmixLaunch;
extern const LaunchSource kTorchrunLaunch;
extern const LaunchSource kSlurmLaunch;
extern const LaunchSource kNoLaunch;

// What the sources share.

using WhyNot = Result<std::optional<std::string>>;

// The value of a launcher's variable; empty if it is not set.
std::string_view launcher_value(const Options& options, std::string_view name);
// The same as a number; none if it is not set. An error names the variable and what is allowed.
Result<std::optional<int>> launcher_number(const Options& options, std::string_view name, int least,
                                           int most);
inline constexpr int kMostPes = 65'536;

// rank and size from two variables that are both set, and the timeout.
Result<LaunchInfo> launcher_place(const Options& options, LauncherChoice launcher,
                                  std::string_view rank, std::string_view size);

// The first of these variables that is set, as this PE's number among those of its host.
Result<std::optional<int>> local_rank_of(const Options& options,
                                         std::initializer_list<const char*> names);

// How a user gets out of a launcher's way.
inline constexpr std::string_view kOrAlone =
    "set GDAKIT_LAUNCHER=none if this shall be a job of one PE";

// Where the PEs meet when the launcher does not say: root and secret from GDAKIT_ROOT and
// GDAKIT_SECRET where they are set, else `host` and `port`, and the secret from `shared`.
Result<void> set_rendezvous(const Options& options, const std::string& host, int port,
                            std::string_view shared, LaunchInfo& info);
// With PE 0's listening socket.
Result<Launch> listen_at_root(const LaunchInfo& info);

// Where PE 0 listens by itself: at `host` only, if that is the loopback or an IP address of this
// host, else at all addresses: a host may know itself by another address than others know it by.
Result<UniqueFileDescriptor> open_root_listener(const std::string& host, std::uint16_t port);
// The name or address of this host that others most likely reach it by.
std::string own_host();

}  // namespace gdakit
