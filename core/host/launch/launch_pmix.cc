// PMIx: PE 0 listens on a free port, and tells the others over PMIx where, with a fresh secret.
#include "core/host/launch/launch_source.h"
#include "core/host/launch/pmix_client.h"
#include "core/host/launch/tcp_listener.h"

namespace gdakit {
namespace {

// What PE 0 publishes: "host:port secret", or this mark and why it cannot listen.
constexpr char kFailed = '!';

WhyNot why_not(const Options& options) {
  if (launcher_value(options, "PMIX_RANK").empty()) {
    return std::optional<std::string>("PMIX_RANK is not set");
  }
  const bool torchrun = !launcher_value(options, "TORCHELASTIC_RUN_ID").empty() &&
                        !launcher_value(options, "RANK").empty();
  if (torchrun && options.launcher != LauncherChoice::pmix) {
    return std::optional<std::string>(
        "PMIX_RANK is set, but inside that job torchrun has started this process "
        "(TORCHELASTIC_RUN_ID is set)");
  }
  if (!launcher_value(options, "PMIX_NAMESPACE").empty()) return std::optional<std::string>();
  return Error(Code::invalid_argument,
               "PMIX_RANK is set and PMIX_NAMESPACE is not, but launchers with PMIx set both; pass "
               "on both, unset PMIX_RANK, or " +
                   std::string(kOrAlone));
}

// How many processes the job has, as far as variables say.
Result<std::optional<int>> size_by_variables(const Options& options) {
  for (const char* const name : {"OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"}) {
    const Result<std::optional<int>> size = launcher_number(options, name, 1, kMostPes);
    if (!size || *size) return size;
  }
  return std::optional<int>();
}

Result<PmixJob> find_job(const Options& options) {
  Result<PmixJob> job = find_pmix_job(options.timeout);
  if (job) {
    const Result<std::optional<int>> local =
        local_rank_of(options, {"PMIX_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID"});
    if (!local) return local.error();
    if (!job->local_rank) job->local_rank = *local;
    return job;
  }
  const Result<std::optional<int>> size = size_by_variables(options);
  if (!size) return size.error();
  if (*size == 1) return PmixJob{};  // nobody to find
  const bool slurm = !launcher_value(options, "SLURM_STEP_ID").empty();
  return Error(job.error().code(),
               "a launcher with PMIx has started this process (PMIX_RANK is set), but " +
                   job.error().message() + (slurm ? "; or set GDAKIT_LAUNCHER=slurm" : "") +
                   "; or " + std::string(kOrAlone));
}

LaunchInfo info_of(const PmixJob& job, const Options& options) {
  LaunchInfo info;
  info.launcher = LauncherChoice::pmix;
  info.rank = job.rank;
  info.size = job.size;
  info.local_rank = job.local_rank;
  info.timeout = options.timeout;
  return info;
}

Result<LaunchInfo> find(const Options& options) {
  const Result<PmixJob> job = find_job(options);
  if (!job) return job.error();
  LaunchInfo info = info_of(*job, options);
  if (!options.root.empty()) set_root(info, options.root);
  return info;
}

// On PE 0: listens, and fills in where and with which secret.
Result<UniqueFileDescriptor> listen(const PmixJob& job, const Options& options, LaunchInfo& info) {
  info.root_host = job.one_host ? "127.0.0.1" : own_host();
  if (!options.root.empty()) set_root(info, options.root);
  Result<JobSecret> secret =
      options.secret.empty() ? make_job_secret() : parse_job_secret(options.secret);
  if (!secret) return secret.error();
  info.secret = *secret;
  Result<UniqueFileDescriptor> listener = open_root_listener(info.root_host, info.root_port);
  if (!listener) return listener;
  const Result<ListenerAddress> address = listener_address(listener->get());
  if (!address) return address.error();
  info.root_port = address->port;
  info.listen_fd = listener->get();
  return listener;
}

Result<void> take_published(const std::string& text, LaunchInfo& info) {
  if (text.starts_with(kFailed)) {
    return Error(Code::aborted, "PE 0 cannot listen for the others: " + text.substr(1));
  }
  const std::size_t blank = std::min(text.find(' '), text.size() - 1);
  Result<JobSecret> secret = parse_job_secret(text.substr(blank + 1));
  if (!secret || text.rfind(':', blank) == std::string::npos) {
    return Error(Code::invalid_argument,
                 "what PE 0 has published over PMIx is no address; do all PEs run the same "
                 "version of gdakit?");
  }
  set_root(info, text.substr(0, blank));
  info.secret = *secret;
  return {};
}

Result<Launch> start(const Options& options) {
  const Result<PmixJob> job = find_job(options);
  if (!job) return job.error();
  Launch launch{info_of(*job, options), {}, {}};
  if (job->size == 1) return launch;
  std::string text;
  if (job->rank == 0) {
    Result<UniqueFileDescriptor> listener = listen(*job, options, launch.info);
    text = listener ? root_text(launch.info) + " " + job_secret_text(launch.info.secret)
                    : kFailed + listener.error().message();
    if (listener) launch.listener = std::move(*listener);
  }
  const Result<std::string> published = broadcast_over_pmix(text, options.timeout);
  if (!published) return published.error();
  if (Result<void> taken = take_published(*published, launch.info); !taken) return taken.error();
  return launch;
}

}  // namespace

const LaunchSource kPmixLaunch{LauncherChoice::pmix, "PMIX_RANK is set; its server says the rest",
                               why_not, find, start};

}  // namespace gdakit
