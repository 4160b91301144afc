#include "bench/two_pes.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/host/bootstrap/local_bootstrap.h"
#include "core/host/launch/launch_info.h"

namespace gdakit::bench {
namespace {

Options options_for(std::size_t bytes) {
  Options options;
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

Result<std::unique_ptr<TwoPes>> TwoPes::as_threads(std::size_t bytes, const std::string& trace) {
  std::unique_ptr<TwoPes> pes(new TwoPes);
  Options options = options_for(bytes);
  options.trace = trace;
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

Result<std::unique_ptr<TwoPes>> TwoPes::as_processes(std::size_t bytes,
                                                     const std::string& nic_address) {
  Result<Listener> listener = listen_somewhere();
  if (!listener) return listener.error();
  Result<JobSecret> secret = make_job_secret();
  if (!secret) return secret.error();
  Options options = options_for(bytes);
  options.size = 2;
  options.nic_address = nic_address;
  options.root = "127.0.0.1:" + std::to_string(listener->port);
  options.secret = job_secret_text(*secret);

  std::unique_ptr<TwoPes> pes(new TwoPes);
  pes->child_ = ::fork();
  if (pes->child_ < 0) return Error::from_errno("fork of the other PE", errno);
  if (pes->child_ == 0) {
    ::close(listener->fd);
    options.rank = 1;
    {
      auto context = init(options);
      if (context) lend_memory(**context, bytes);
    }
    ::_exit(0);
  }
  options.rank = 0;
  options.listen_fd = static_cast<std::uint32_t>(listener->fd);
  auto context = init(options);
  if (!context) return context.error();
  pes->context_ = std::move(*context);
  if (Result<void> done = pes->allocate(bytes); !done) return done.error();
  return pes;
}

TwoPes::~TwoPes() {
  context_.reset();
  if (other_.joinable()) other_.join();
  if (child_ > 0) ::waitpid(child_, nullptr, 0);
}

}  // namespace gdakit::bench
