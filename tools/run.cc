// `gdakit run -n N program args...`
#include <algorithm>
#include <atomic>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

#include "core/base/options.h"
#include "tools/command.h"
#include "tools/gpus.h"
#include "tools/interrupt.h"
#include "tools/job.h"
#include "tools/job_counters.h"
#include "tools/job_directory.h"
#include "tools/job_trace.h"
#include "tools/signals.h"
#include "tools/verbs_program.h"

namespace gdakit::tools {
namespace {

constexpr int kMostPes = 1024;

constexpr const char* kDetails = R"(
Give the options, then the program and its arguments.

Each line of output is preceded by its PE: "[2] text"; stdout and stderr stay apart. --no-prefix
adds nothing, not even a line break: with -n 1, bytes are passed on as they come; with more PEs, a
line once it is complete, has 1 MiB or is its PE's last, so that lines do not mix. PE 0 has the
stdin of this command, the others have none.

The first PE that fails ends the job, and so does one that calls nvshmem_global_exit. If a PE ended
with a status, the others have 2 s to say what they know and to end; then they get SIGTERM, and
SIGKILL 2 s later. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 are forwarded to the PEs; a
second SIGINT or SIGTERM, 0.1 s after the first or later, ends the job. When a PE's process ends,
what it has started in its process group is ended too. With GDAKIT_PEER_LOSS=go-on only PE 0's
failure ends the job; the status is then that of the first PE that ended with one.

--gpus sets GDAKIT_GPUS: PE r takes entry r modulo their count. PEs that share a GPU want MPS, or
they take turns in time slices of milliseconds. --mps auto starts a daemon for the job where PEs
share a GPU (of --gpus; else of GDAKIT_GPUS or this host, if the job has more PEs than those), none
runs already, and nvidia-cuda-mps-control is there; --mps on starts one in any case or fails; --mps
off starts none. It ends with the job. With GDAKIT_DEVICE=cpu nobody shares a GPU.

--backend sets GDAKIT_BACKEND. With mlx5-emulated each PE gets a soft ConnectX of its own, or as
many as GDAKIT_NICS_PER_PE says, as `gdakit verbs` gives them, and drives them by the distribution's
libibverbs and libmlx5; captures are then called mlx5_0-PID.pcapng. A real NIC, mlx5, writes none.

--pcap sets GDAKIT_CAPTURE: the NIC of each PE writes what it sends and receives into this folder,
which is made if it is missing, for Wireshark.

--counters writes what the NICs of all PEs have counted when the job ends, also when it fails: as
JSON if FILE ends in .json, in Prometheus' text format if in .prom, else as a table. What a PE that
was killed did in its last half second may be missing. `gdakit top` shows them while the job runs.

--trace writes a timeline of the job when it ends, also when it fails, for https://ui.perfetto.dev
and chrome://tracing: blocks, queues, NIC and packets of each PE (docs/timeline.md). Until then the
PEs write to a folder for temporary files (TMPDIR), or to that of GDAKIT_TRACE, which stays. SIGINT
gives up a timeline that is being made, and the PEs' files stay; at SIGTERM, SIGHUP and SIGQUIT they
go with it.

Exit status: 0, that of nvshmem_global_exit, or that of the first PE that failed (128 + signal if it
was killed); 128 + signal if a second SIGINT or SIGTERM ended the job, or if SIGTERM, SIGHUP or
SIGQUIT gave its timeline up; 141 if nobody reads its output any more, 1 if that cannot be written
for another reason; 124 if the job ran past --timeout, 126 if the program cannot be executed, 127 if
it was not found, 2 for bad usage.

Examples:
  gdakit run -n 4 --timeout 60 ./ring --size 1M
  gdakit run -n 4 --gpus 0,1 ./ring
  gdakit run -n 4 --trace ring.json ./ring
)";

// The program's place in the usage: CLI11 does not know of it.
class RunFormatter final : public CLI::Formatter {
 public:
  std::string make_usage(const CLI::App*, std::string name) const override {
    return "Usage: " + name + " -n N [OPTIONS] PROGRAM [ARGUMENTS...]\n";
  }
};

// Refuses what is no number before CLI11 fails to convert it.
template <class T>
CLI::Validator number(const char* kind) {
  return {[kind](std::string& text) {
            T value{};
            const bool good = CLI::detail::lexical_cast(text, value);
            return good ? std::string() : "takes " + std::string(kind) + ", not \"" + text + '"';
          },
          ""};
}

struct Arguments {
  int size = 0;
  double timeout_seconds = 0;
  bool no_prefix = false;
  std::string gpus;
  std::string mps = "auto";
  std::string backend;
  std::string pcap;
  std::string counters;
  std::string trace;
};

// What is made of the PEs' files at the job's end; null where nobody wants it.
struct JobFiles {
  std::unique_ptr<JobCounters> counters;
  std::unique_ptr<JobTrace> trace;
};

const std::map<std::string, MpsChoice> kMpsChoices = {
    {"auto", MpsChoice::automatic}, {"on", MpsChoice::on}, {"off", MpsChoice::off}};

int bad_usage(const std::string& sentence) {
  std::cerr << "gdakit run: " << sentence << " (see gdakit run --help)\n";
  return kBadUsage;
}

std::vector<std::string> backend_names() {
  std::vector<std::string> names;
  for (const BackendChoice choice : {BackendChoice::automatic, BackendChoice::softnic,
                                     BackendChoice::mlx5, BackendChoice::mlx5_emulated}) {
    names.emplace_back(backend_choice_name(choice));
  }
  return names;
}

// Where the PEs run by soft ConnectXes through libmlx5, and this command does not already: those.
Result<Variables> backend_variables(const std::string& chosen) {
  Variables variables;
  if (!chosen.empty()) variables.emplace_back("GDAKIT_BACKEND", chosen);
  const Result<ParsedOptions> parsed = parse_options(environment_variables());
  const bool emulated = chosen.empty()
                            ? parsed && parsed->options.backend == BackendChoice::mlx5_emulated
                            : chosen == backend_choice_name(BackendChoice::mlx5_emulated);
  if (!emulated || has_soft_nics()) return variables;
  VerbsOptions options;
  options.nics = parsed ? static_cast<int>(parsed->options.nics_per_pe) : 1;
  options.fabric = "job-" + std::to_string(::getpid());
  Result<Variables> nics = verbs_variables(options);
  if (!nics) return nics.error().within("backend mlx5-emulated");
  variables.insert(variables.end(), nics->begin(), nics->end());
  return variables;
}

// What is wrong with the environment the PEs will say.
GpusTaken gpus_without_option() {
  const Result<ParsedOptions> parsed = parse_options(environment_variables());
  if (!parsed) return {};
  const Options& options = parsed->options;
  const bool ask = options.gpus.empty() && options.device != DeviceChoice::cpu;
  return gpus_taken(options, ask ? report_gpus() : GpuReport{});
}

bool goes_on_without_lost_pes() {
  const Result<ParsedOptions> parsed = parse_options(environment_variables());
  return parsed && parsed->options.peer_loss == PeerLoss::go_on;
}

// Where the PEs write to.
Result<JobFiles> prepare_files(const Arguments& arguments, JobSpec& spec) {
  JobFiles files;
  if (!arguments.pcap.empty()) {
    Result<std::string> folder = make_folder(arguments.pcap);
    if (!folder) return folder.error().within("--pcap");
    spec.capture = std::move(*folder);
  }
  if (!arguments.counters.empty()) {
    auto counters = JobCounters::open(arguments.counters, arguments.size);
    if (!counters) return counters.error().within("--counters");
    spec.counters = (*counters)->directory();
    files.counters = std::move(*counters);
  }
  if (!arguments.trace.empty()) {
    auto trace = JobTrace::open(arguments.trace, arguments.size);
    if (!trace) return trace.error().within("--trace");
    spec.trace = (*trace)->directory();
    files.trace = std::move(*trace);
  }
  return files;
}

// False, and a line on stderr: one could not be written. A timeline takes long, or for ever if it
// is a pipe that nobody reads, and may be interrupted.
bool report(const JobFiles& files, const sigset_t& mask_before) {
  const auto is_written = [](const char* option, const Result<void>& written) {
    if (written) return true;
    std::cerr << "gdakit run: " << option << ": " << written.error().message() << '\n';
    return false;
  };
  const bool counted =
      files.counters == nullptr || is_written("--counters", files.counters->report());
  if (files.trace == nullptr) return counted;
  const std::atomic<bool>& interrupted = interrupt_or_end_request();
  let_signals_interrupt(mask_before);
  return is_written("--trace", files.trace->report(interrupted)) && counted;
}

// The exit status of the job.
int run_job(const JobSpec& spec, Signals signals, const JobFiles& files) {
  const sigset_t mask_before = signals.before;
  Result<Job> job = Job::start(spec, std::move(signals));
  if (!job) {
    std::cerr << "gdakit run: " << job.error().message() << '\n';
    switch (job.error().code()) {
      case Code::not_found: return kNotFound;
      case Code::permission_denied: return kNotExecutable;
      default: return kFailed;
    }
  }
  const int status = job->run();
  if (files.trace != nullptr) job->drop_doubles();
  const bool reported = report(files, mask_before);
  if (!reported && end_request() != 0) return 128 + end_request();
  return reported || status != 0 ? status : kFailed;
}

int run(const Arguments& arguments, bool has_timeout, std::vector<std::string> command) {
  if (!command.empty() && command.front() == kProgramFollows) {
    command.erase(command.begin());
  } else {
    std::replace(command.begin(), command.end(), std::string(kProgramFollows), std::string("--"));
  }
  if (arguments.size < 1 || arguments.size > kMostPes) {
    return bad_usage("-n " + std::to_string(arguments.size) + " is not possible; a job has 1 to " +
                     std::to_string(kMostPes) + " PEs");
  }
  if (command.empty()) return bad_usage("which program? give it after the options");
  if (command.front().starts_with('-')) {
    return bad_usage("there is no option " + command.front());
  }
  JobSpec spec;
  spec.size = arguments.size;
  spec.prefix = !arguments.no_prefix;
  spec.goes_on = goes_on_without_lost_pes();
  spec.command = std::move(command);
  if (has_timeout) {
    if (!(arguments.timeout_seconds > 0 && arguments.timeout_seconds <= 1e9)) {
      return bad_usage("--timeout takes seconds, more than 0 and at most 1e9");
    }
    spec.timeout = std::chrono::milliseconds(std::llround(arguments.timeout_seconds * 1000));
  }
  Result<Signals> signals = take_over_signals();  // before CUDA has threads
  if (!signals) {
    std::cerr << "gdakit run: " << signals.error().message() << '\n';
    return kFailed;
  }
  if (!arguments.gpus.empty()) {
    auto gpus = parse_gpus(arguments.gpus, report_gpus());
    if (!gpus && gpus.error().code() == Code::invalid_argument) {
      return bad_usage(gpus.error().message());
    }
    if (!gpus) {
      std::cerr << "gdakit run: " << gpus.error().message() << '\n';
      return kFailed;
    }
    spec.gpus = std::move(*gpus);
  } else if (arguments.size > 1 && arguments.mps != "on") {
    spec.gpus_taken = gpus_without_option();
  }
  spec.mps = kMpsChoices.at(arguments.mps);
  Result<Variables> variables = backend_variables(arguments.backend);
  if (!variables) {
    std::cerr << "gdakit run: " << variables.error().message() << '\n';
    return kFailed;
  }
  spec.variables = std::move(*variables);
  const Result<JobFiles> files = prepare_files(arguments, spec);
  if (!files) {
    std::cerr << "gdakit run: " << files.error().message() << '\n';
    return kFailed;
  }
  return run_job(spec, std::move(*signals), *files);
}

}  // namespace

Command add_run(CLI::App& parent) {
  CLI::App* const app = parent.add_subcommand("run", "Run a program as a job of PEs on this host");
  const auto arguments = std::make_shared<Arguments>();
  app->formatter(std::make_shared<RunFormatter>());
  app->add_option("-n,--pes", arguments->size, "How many PEs")
      ->required()
      ->check(number<int>("a whole number"))
      ->type_name("N");
  CLI::Option* const timeout =
      app->add_option("--timeout", arguments->timeout_seconds, "End the job after this time")
          ->check(number<double>("a number of seconds"))
          ->type_name("SECONDS");
  app->add_flag("--no-prefix", arguments->no_prefix, "Pass output on as it is");
  app->add_option("--gpus", arguments->gpus, "The GPUs of the PEs: 0,1,... or all")
      ->type_name("LIST");
  app->add_option("--mps", arguments->mps, "MPS for PEs that share a GPU; auto by default")
      ->check(CLI::IsMember(&kMpsChoices))
      ->type_name("WHEN");
  app->add_option("--backend", arguments->backend, "The NIC of each PE")
      ->check(CLI::IsMember(backend_names()))
      ->type_name("NAME");
  app->add_option("--pcap", arguments->pcap, "Write the NICs' packets there, pe0.pcapng and so on")
      ->type_name("DIR");
  app->add_option("--counters", arguments->counters, "Write there what the NICs have counted")
      ->type_name("FILE");
  app->add_option("--trace", arguments->trace, "Write there a timeline, for Perfetto")
      ->type_name("FILE");
  app->prefix_command();  // the first word that is no option begins the program's command line
  app->footer(kDetails);
  return {app, [=] { return run(*arguments, timeout->count() > 0, app->remaining()); }};
}

}  // namespace gdakit::tools
