// What StoppedPeers tells a GPU's threads while PE 1 is stopped and when it goes on: `gdakit run -n
// 2 calm_pe`. PE 0 stops PE 1 until it is told that this is no calm.
#include <cstdio>
#include <signal.h>
#include <unistd.h>

#include "core/host/bootstrap/bootstrap_open.h"
#include "core/host/bootstrap/stopped_peers.h"
#include "device/views.h"

namespace {

using gdakit::Bootstrap;
using gdakit::Result;

class Told {
 public:
  explicit Told(gdakit::StoppedPeers& peers) : peers_(peers) { peers_.tell(&word_); }
  ~Told() { peers_.tell(nullptr); }

  std::uint64_t calm_ns() const { return __atomic_load_n(&word_, __ATOMIC_RELAXED); }

  template <class Condition>
  std::uint64_t wait_until(const Condition& condition) const {
    while (!condition(calm_ns())) ::usleep(1000);
    return calm_ns();
  }
  // The second new word is by a look that began after this call.
  std::uint64_t next() const {
    for (int news = 0; news < 2; ++news) {
      wait_until([before = calm_ns()](std::uint64_t now) { return now != before; });
    }
    return calm_ns();
  }

 private:
  gdakit::StoppedPeers& peers_;
  std::uint64_t word_ = gdakit::kCalmUntold;
};

Result<void> run(Bootstrap& bootstrap) {
  const auto peers =
      gdakit::StoppedPeers::watch(bootstrap, gdakit::Log(gdakit::LogLevel::error, 0));
  if (!peers) return peers.error();
  const auto processes = gdakit::allgather_value(bootstrap, static_cast<std::int64_t>(::getpid()));
  if (!processes) return processes.error();
  const Told told(**peers);
  if (told.calm_ns() == gdakit::kCalmUntold) {
    return gdakit::Error(gdakit::Code::internal, "nothing is told before the first tick");
  }
  told.wait_until([](std::uint64_t calm) { return calm > gdakit::kNotCalm; });
  if (auto met = bootstrap.barrier(); !met) return met;
  std::uint64_t begin = 0;  // of the stop
  if (bootstrap.rank() == 0) {
    const auto peer = static_cast<pid_t>((*processes)[1]);
    begin = gdakit::steady_ns();
    ::kill(peer, SIGSTOP);
    told.wait_until([](std::uint64_t calm) { return calm == gdakit::kNotCalm; });
    ::kill(peer, SIGCONT);
  }
  const auto begins = gdakit::allgather_value(bootstrap, begin);
  if (!begins) return begins.error();
  const std::uint64_t calm = told.next();
  if (calm > gdakit::steady_ns() - (*begins)[0]) {
    return gdakit::Error(gdakit::Code::internal, "the time before the stop is told as calm");
  }
  return bootstrap.barrier();
}

}  // namespace

int main() {
  const auto options = gdakit::Options::from_environment();
  if (!options) return 2;
  const auto bootstrap = gdakit::open_bootstrap(*options);
  const Result<void> done = bootstrap ? run(**bootstrap) : Result<void>(bootstrap.error());
  if (!done) std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
