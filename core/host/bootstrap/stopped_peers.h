// Which PEs of this host are stopped: by a debugger, ^Z, SIGSTOP. A process that is stopped is not
// dead, and its peers wait for it: their WaitClock stands still meanwhile, as it does for a process
// that is stopped itself. A GPU's clock goes on: its threads ask for how long nobody was stopped
// before they give up (device/watchdog.h).
//
// A thread of its own ticks the clock, and asks the system now and then how the peers' processes
// do. PEs of other hosts, and of containers whose processes cannot be seen here, count as running.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

#include "core/base/log.h"
#include "core/base/result.h"
#include "core/base/wait_clock.h"
#include "core/host/bootstrap/bootstrap.h"

namespace gdakit {

class StoppedPeers {
 public:
  // Collective. Peers that stop, and go on, are warnings of `log`, by the first PE of this host
  // that runs. The bootstrap goes by the clock from then on.
  static Result<std::unique_ptr<StoppedPeers>> watch(Bootstrap& bootstrap, Log log);
  ~StoppedPeers();
  StoppedPeers(const StoppedPeers&) = delete;
  StoppedPeers& operator=(const StoppedPeers&) = delete;

  const WaitClock& clock() const { return *clock_; }

  // Writes PeState::calm_ns from now on, at first that there is no calm; null: no more. Stops of
  // less than a second do not count: a debugger that follows each call of a peer makes many, and a
  // host that is busy looks late.
  void tell(std::uint64_t* calm_ns);

 private:
  struct Peer {
    int pe;
    pid_t process;
    std::uint64_t started;       // when the process did, which tells it from a later one
    bool runs = true;            // at the last look
    bool stopped = false;        // at the last look
    bool said = false;           // that it is stopped
    std::uint64_t since_ns = 0;  // when it was first seen so
  };

  StoppedPeers(int my_pe, Log log);
  void run();
  void look(std::uint64_t now_ns);
  void tick(std::uint64_t now_ns);
  // Whether neither a peer has been stopped for a while, nor this process was.
  bool is_calm(std::uint64_t now_ns) const;
  // Whether this PE is the one that speaks: of the PEs here that run, the first.
  bool is_speaker() const;
  // As much as stderr takes at once: the clock does not wait for whoever reads it.
  void say();
  std::string stopped_text(const Peer& peer, bool by_debugger) const;

  const int my_pe_;
  const Log log_;
  bool first_of_process_ = true;
  std::vector<Peer> peers_;  // in other processes of this host
  std::deque<std::string> news_;
  bool any_stopped_ = false;
  const std::shared_ptr<WaitClock> clock_ = std::make_shared<WaitClock>();
  std::uint64_t ticked_ns_ = 0;
  std::uint64_t calm_since_ns_ = 0;
  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  bool stopping_ = false;
  std::uint64_t* told_ = nullptr;
  std::thread thread_;
};

}  // namespace gdakit
