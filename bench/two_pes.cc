#include "bench/two_pes.h"

#include <arpa/inet.h>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <netinet/in.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/host/bootstrap/local_bootstrap.h"
#include "core/host/launch/launch_info.h"

namespace gdakit::bench {
namespace {

Options options_for(std::size_t bytes, const PairSetting& setting) {
  Options options;
  options.backend = setting.backend;
  options.nic_address = setting.nic_address;
  options.trace = setting.trace;
  options.team_scratch = 4 << 10;  // no collectives but barriers
  options.symmetric_size = 2 * bytes + (1 << 20);
  options.heap_limit = options.symmetric_size;
  options.timeout = std::chrono::minutes(10);  // PE 1 waits for all benchmarks in its last barrier
  return options;
}

// The collective calls that allocate() makes on PE 0, and then PE 0's end.
void lend_memory(Context& context, std::size_t bytes) {
  static_cast<void>(context.allocate<std::uint64_t>(8));
  static_cast<void>(context.allocate<char>(bytes));
  Result<char*> target = context.allocate<char>(bytes);
  // No transfer is to pay for the first touch.
  if (target) std::memset(*target, 0, bytes);
}

struct Listener {
  int fd;
  std::uint16_t port;
};

Result<Listener> listen_somewhere() {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  if (fd < 0 || ::bind(fd, generic, sizeof(address)) != 0 || ::listen(fd, 4) != 0 ||
      ::getsockname(fd, generic, &length) != 0) {
    return Error::from_errno("listening socket for the two PEs", errno);
  }
  return Listener{fd, ntohs(address.sin_port)};
}

}  // namespace

std::vector<int> usable_cores() {
  cpu_set_t set;
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(core, &set)) cores.push_back(core);
  }
  return cores;
}

void use_cores(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  if (!cores.empty()) ::sched_setaffinity(0, sizeof set, &set);
}

Result<void> TwoPes::allocate(std::size_t bytes) {
  Result<std::uint64_t*> words = context_->allocate<std::uint64_t>(8);
  if (!words) return words.error();
  Result<char*> source = context_->allocate<char>(bytes);
  if (!source) return source.error();
  Result<char*> target = context_->allocate<char>(bytes);
  if (!target) return target.error();
  words_ = *words;
  source_ = *source;
  target_ = *target;
  std::memset(source_, 1, bytes);
  std::memset(target_, 0, bytes);
  return {};
}

Result<TwoPes::Pair> TwoPes::as_threads(std::size_t bytes, const PairSetting& setting) {
  Pair pes(new TwoPes);
  const Options options = options_for(bytes, setting);
  auto provider = make_backend_provider(options, JobKind::in_process);
  if (!provider) return provider.error();
  pes->provider_ = std::move(*provider);
  auto bootstraps = make_local_bootstraps(2, options.timeout);
  if (!bootstraps) return bootstraps.error();
  pes->other_ = std::thread([bytes, options, provider = pes->provider_.get(),
                             mine = std::move((*bootstraps)[1])]() mutable {
    auto context = Context::create(options, std::move(mine), *provider);
    if (context) lend_memory(**context, bytes);
  });
  auto context = Context::create(options, std::move((*bootstraps)[0]), *pes->provider_);
  if (!context) return context.error();
  pes->context_ = std::move(*context);
  if (Result<void> done = pes->allocate(bytes); !done) return done.error();
  return pes;
}

Result<TwoPes::Pair> TwoPes::fork_other(std::size_t bytes, const PairSetting& setting) {
  Result<Listener> listener = listen_somewhere();
  if (!listener) return listener.error();
  Result<JobSecret> secret = make_job_secret();
  if (!secret) return secret.error();
  Options options = options_for(bytes, setting);
  options.size = 2;
  options.root = "127.0.0.1:" + std::to_string(listener->port);
  options.secret = job_secret_text(*secret);

  Pair pes(new TwoPes);
  pes->child_ = ::fork();
  if (pes->child_ < 0) return Error::from_errno("fork of the other PE", errno);
  if (pes->child_ == 0) {
    ::close(listener->fd);
    use_cores(setting.cores);
    options.rank = 1;
    {
      auto context = init(options);
      if (context) lend_memory(**context, bytes);
    }
    ::_exit(0);
  }
  options.rank = 0;
  options.listen_fd = static_cast<std::uint32_t>(listener->fd);
  pes->options_ = options;
  return pes;
}

Result<void> TwoPes::join_other(std::size_t bytes) {
  auto context = init(options_);
  if (!context) return context.error();
  context_ = std::move(*context);
  return allocate(bytes);
}

Result<std::vector<TwoPes::Pair>> TwoPes::as_processes(std::size_t bytes,
                                                       const std::vector<PairSetting>& settings) {
  std::vector<Pair> all;
  for (const PairSetting& setting : settings) {
    Result<Pair> pes = fork_other(bytes, setting);
    if (!pes) return pes.error();
    all.push_back(std::move(*pes));
  }
  for (const Pair& pes : all) {
    if (Result<void> joined = pes->join_other(bytes); !joined) return joined.error();
  }
  return all;
}

Result<TwoPes::Pair> TwoPes::as_processes(std::size_t bytes, const PairSetting& setting) {
  auto all = as_processes(bytes, std::vector{setting});
  if (!all) return all.error();
  return std::move(all->front());
}

TwoPes::~TwoPes() {
  const bool has_met = context_ != nullptr;
  context_.reset();
  if (other_.joinable()) other_.join();
  // It would wait for a PE 0 that does not come.
  if (child_ > 0 && !has_met) ::kill(child_, SIGKILL);
  if (child_ > 0) ::waitpid(child_, nullptr, 0);
}

}  // namespace gdakit::bench
