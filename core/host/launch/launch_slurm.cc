// Tasks of srun without PMIx.
//
// PE 0 is task 0, which srun places on the step's first node unless the user has it placed
// otherwise; it says so then. Its port comes from the numbers of job and step, below the ports that
// the system gives out by itself.
#include <charconv>

#include "core/host/launch/launch_source.h"

namespace gdakit {
namespace {

constexpr std::uint64_t kFirstPort = 20'000;
constexpr std::uint64_t kPorts = 12'000;
constexpr std::uint64_t kStepsOfAJob = 16;  // whose ports differ for sure
// Steps that are no tasks of srun: batch scripts, interactive shells.
constexpr std::uint64_t kFirstSpecialStep = 0xffff'fff0;

std::optional<std::uint64_t> number(const Options& options, std::string_view name) {
  const std::string_view text = launcher_value(options, name);
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || stop != text.data() + text.size()) return {};
  return value;
}

std::string_view size_variable(const Options& options) {
  // What sbatch was asked for is in SLURM_NTASKS; this step may have fewer tasks.
  constexpr std::string_view kOfStep = "SLURM_STEP_NUM_TASKS";
  return launcher_value(options, kOfStep).empty() ? "SLURM_NTASKS" : kOfStep;
}

std::string_view nodes(const Options& options) {
  const std::string_view step = launcher_value(options, "SLURM_STEP_NODELIST");
  return step.empty() ? launcher_value(options, "SLURM_JOB_NODELIST") : step;
}

// "node03" of "node[03-05,9]x[1-2],other7".
std::string first_node(std::string_view list) {
  std::string node;
  for (std::size_t i = 0; i < list.size() && list[i] != ','; ++i) {
    if (list[i] != '[') {
      node += list[i];
      continue;
    }
    const std::size_t close = std::min(list.find(']', i), list.size());
    const std::string_view ranges = list.substr(i + 1, close - i - 1);
    node += ranges.substr(0, ranges.find_first_of(",-"));
    i = close;
  }
  return node;
}

Error missing(std::string_view what, std::string_view remedy) {
  return Error(Code::invalid_argument, std::string(what) +
                                           " is not set, but SLURM_PROCID and SLURM_STEP_ID are, "
                                           "and srun sets all of them; " +
                                           std::string(remedy) + std::string(kOrAlone));
}

// A launcher that uses srun to start its own servers leaves them Slurm's variables.
Result<void> check_other_launcher(const Options& options) {
  const std::string_view rank = launcher_value(options, "PMI_RANK");
  const std::string_view size = launcher_value(options, "PMI_SIZE");
  if (rank.empty() || size.empty()) return {};
  if (rank == launcher_value(options, "SLURM_PROCID") &&
      size == launcher_value(options, size_variable(options))) {
    return {};
  }
  return Error(Code::invalid_argument,
               "PMI_RANK and PMI_SIZE differ from SLURM_PROCID and " +
                   std::string(size_variable(options)) +
                   ": a launcher of MPI without PMIx started this process inside a step of Slurm; "
                   "pass an MPI communicator to init (gdakit_mpi.h), start the program with srun, "
                   "or " +
                   std::string(kOrAlone));
}

WhyNot why_not(const Options& options) {
  if (launcher_value(options, "SLURM_PROCID").empty()) {
    return std::optional<std::string>("SLURM_PROCID is not set");
  }
  const std::optional<std::uint64_t> step = number(options, "SLURM_STEP_ID");
  if (!step || *step >= kFirstSpecialStep) {
    return std::optional<std::string>(
        "SLURM_STEP_ID names no step: this is a batch script or a shell, not a task of srun");
  }
  if (launcher_value(options, size_variable(options)).empty()) {
    return missing("SLURM_STEP_NUM_TASKS", "start the program with srun, or ");
  }
  return std::optional<std::string>();
}

Result<void> set_place_of_root(const Options& options, LaunchInfo& info) {
  const std::optional<std::uint64_t> job = number(options, "SLURM_JOB_ID");
  if (!job) return missing("SLURM_JOB_ID", "start the program with srun, or ");
  const std::string_view list = nodes(options);
  if (list.empty() && options.root.empty()) {
    return missing("SLURM_STEP_NODELIST", "set it, or GDAKIT_ROOT=host:port, or ");
  }
  const std::uint64_t step = *number(options, "SLURM_STEP_ID");
  const std::string node = first_node(list);
  if (node.empty() && options.root.empty()) {
    return Error(Code::invalid_argument,
                 "SLURM_STEP_NODELIST: \"" + std::string(list) +
                     "\" names no first node, where PE 0 would be; set it as srun does, or set "
                     "GDAKIT_ROOT=host:port, or " +
                     std::string(kOrAlone));
  }
  const bool one_node = node == list;
  const std::uint64_t port = kFirstPort + (*job * kStepsOfAJob + step) % kPorts;
  const std::string shared = "slurm\n" + std::to_string(*job) + "\n" + std::to_string(step) + "\n" +
                             std::to_string(info.size) + "\n" + std::string(list);
  Result<void> set =
      set_rendezvous(options, one_node ? "127.0.0.1" : node, static_cast<int>(port), shared, info);
  if (!set) return set;
  const std::string_view here = launcher_value(options, "SLURMD_NODENAME");
  if (info.rank == 0 && options.root.empty() && !here.empty() && here != node) {
    return Error(Code::invalid_argument,
                 "task 0 of this step is on " + std::string(here) +
                     ", and not on its first node, " + node +
                     ", where the others look for it; set GDAKIT_ROOT=" + std::string(here) + ":" +
                     std::to_string(info.root_port) + " on every PE");
  }
  return {};
}

Result<LaunchInfo> find(const Options& options) {
  if (Result<void> alone = check_other_launcher(options); !alone) return alone.error();
  Result<LaunchInfo> info =
      launcher_place(options, LauncherChoice::slurm, "SLURM_PROCID", size_variable(options));
  if (!info) return info;
  const Result<std::optional<int>> local = local_rank_of(options, {"SLURM_LOCALID"});
  if (!local) return local.error();
  info->local_rank = *local;
  if (info->size == 1) return info;
  if (Result<void> set = set_place_of_root(options, *info); !set) return set.error();
  return info;
}

Result<Launch> start(const Options& options) {
  const Result<LaunchInfo> info = find(options);
  if (!info) return info.error();
  return listen_at_root(*info);
}

}  // namespace

const LaunchSource kSlurmLaunch{LauncherChoice::slurm, "SLURM_PROCID and SLURM_STEP_ID are set",
                                why_not, find, start};

}  // namespace gdakit
