// A job of one, where no launcher has started this process; and the signs that one has after all.
#include "core/host/launch/launch_source.h"

namespace gdakit {
namespace {

WhyNot why_not(const Options&) { return std::optional<std::string>(); }

// Variables that say how many processes a job has, of launchers that cannot be asked.
Result<void> check_foreign_launchers(const Options& options) {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}) {
    const Result<std::optional<int>> size = launcher_number(options, name, 0, kMostPes);
    if (!size) return size.error();
    if (size->value_or(1) <= 1) continue;
    return Error(Code::unavailable,
                 std::string(name) + " is " + std::to_string(**size) +
                     ", but there is no PMIx (PMIX_RANK is not set): a launcher of MPI that gdakit "
                     "cannot ask has started this process; pass an MPI communicator to init "
                     "(gdakit_mpi.h), use a launcher with PMIx, or " +
                     std::string(kOrAlone));
  }
  return {};
}

std::vector<std::string> warnings(const Options& options) {
  struct Hint {
    const char* size;
    const char* launcher;
  };
  std::vector<std::string> found;
  const bool batch = !launcher_value(options, "SLURM_NTASKS").empty();
  for (const Hint& hint : {Hint{"WORLD_SIZE", "torchrun (RANK is not set)"},
                           Hint{batch ? "SLURM_NTASKS" : "SLURM_STEP_NUM_TASKS",
                                "srun (SLURM_PROCID or SLURM_STEP_ID is not set)"}}) {
    const Result<std::optional<int>> size = launcher_number(options, hint.size, 0, kMostPes);
    if (!size || size->value_or(1) <= 1) continue;
    found.push_back(std::string("this is a job of one PE, though ") + hint.size + " is " +
                    std::to_string(**size) + ": this process was not started by " + hint.launcher +
                    "; GDAKIT_LAUNCHER=none says that it shall be so");
  }
  return found;
}

Result<LaunchInfo> find(const Options& options) {
  if (options.launcher == LauncherChoice::automatic) {
    if (Result<void> alone = check_foreign_launchers(options); !alone) return alone.error();
  }
  LaunchInfo info;
  info.timeout = options.timeout;
  return info;
}

Result<Launch> start(const Options& options) {
  const Result<LaunchInfo> info = find(options);
  if (!info) return info.error();
  Launch launch{*info, {}, {}};
  if (options.launcher == LauncherChoice::automatic) launch.warnings = warnings(options);
  return launch;
}

}  // namespace

const LaunchSource kNoLaunch{LauncherChoice::none, "a job of one PE", why_not, find, start};

}  // namespace gdakit
