#include "core/host/bootstrap/stopped_peers.h"

#include <algorithm>
#include <chrono>
#include <poll.h>
#include <unistd.h>

#include "core/base/library_thread.h"
#include "core/base/process_status.h"
#include "core/base/seconds_text.h"
#include "core/host/bootstrap/host_name.h"
#include "device/views.h"

namespace gdakit {
namespace {

constexpr std::chrono::milliseconds kBetweenTicks{50};
// Between two looks at the peers. Each costs some 10 us of a core for each peer.
constexpr std::chrono::milliseconds kBetweenLooks{100};
constexpr std::chrono::milliseconds kForEachPeer{16};
// A shorter stop is not said. LeakSanitizer stops a process that ends, and strace one that calls
// the system.
constexpr std::uint64_t kSilentNs = 3'000'000'000;
constexpr std::uint64_t kShortStopNs = 1'000'000'000;  // of which a GPU is told nothing

// Where a PE's process runs.
struct Place {
  HostName host;
  std::int64_t process = 0;
  std::uint64_t started = 0;
};

Place my_place() {
  const auto mine = process_status(::getpid());
  return {this_host(), ::getpid(), mine ? mine->started : 0};
}

// Whether a write of less than a page comes back at once, however slow the reader is.
bool takes_a_line(int descriptor) {
  pollfd polled{descriptor, POLLOUT, 0};
  return ::poll(&polled, 1, 0) == 1;
}

}  // namespace

Result<std::unique_ptr<StoppedPeers>> StoppedPeers::watch(Bootstrap& bootstrap, Log log) {
  const Place mine = my_place();
  const Result<std::vector<Place>> all = allgather_value(bootstrap, mine);
  if (!all) return all.error();
  std::unique_ptr<StoppedPeers> stopped(new StoppedPeers(bootstrap.rank(), log));
  for (int pe = 0; pe < bootstrap.size(); ++pe) {
    const Place& place = (*all)[static_cast<std::size_t>(pe)];
    if (place.host != mine.host) continue;
    if (place.process != mine.process) {
      stopped->peers_.push_back({pe, static_cast<pid_t>(place.process), place.started});
    } else if (pe < bootstrap.rank()) {
      stopped->first_of_process_ = false;
    }
  }
  stopped->ticked_ns_ = stopped->calm_since_ns_ = steady_ns();
  stopped->clock_->tick(stopped->ticked_ns_, false);
  stopped->thread_ = start_library_thread([watcher = stopped.get()] { watcher->run(); });
  bootstrap.go_by(stopped->clock_);
  return stopped;
}

StoppedPeers::StoppedPeers(int my_pe, Log log) : my_pe_(my_pe), log_(log) {}

StoppedPeers::~StoppedPeers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
  clock_->run_freely(steady_ns());
}

void StoppedPeers::run() {
  const std::chrono::nanoseconds between =
      std::max<std::chrono::nanoseconds>(kBetweenLooks, kForEachPeer * peers_.size());
  std::uint64_t next_look_ns = 0;
  bool last = false;
  while (!last) {
    std::unique_lock lock(mutex_);
    last = changed_.wait_for(lock, kBetweenTicks, [this] { return stopping_; });
    lock.unlock();
    const std::uint64_t now = steady_ns();
    if (last || now >= next_look_ns) {
      look(now);
      next_look_ns = now + static_cast<std::uint64_t>(between.count());
    }
    tick(now);
    say();
  }
}

void StoppedPeers::tick(std::uint64_t now_ns) {
  clock_->tick(now_ns, any_stopped_);
  if (!is_calm(now_ns)) calm_since_ns_ = now_ns;
  ticked_ns_ = now_ns;
  const std::lock_guard lock(mutex_);
  if (told_ == nullptr) return;
  const std::uint64_t calm_ns = std::max(now_ns - calm_since_ns_, kNotCalm);
  __atomic_store_n(told_, calm_ns, __ATOMIC_RELAXED);
}

bool StoppedPeers::is_calm(std::uint64_t now_ns) const {
  const auto is_long = [now_ns](std::uint64_t since) { return now_ns - since >= kShortStopNs; };
  return !is_long(ticked_ns_) && std::none_of(peers_.begin(), peers_.end(), [&](const Peer& peer) {
    return peer.stopped && is_long(peer.since_ns);
  });
}

void StoppedPeers::tell(std::uint64_t* calm_ns) {
  const std::lock_guard lock(mutex_);
  if (told_ != nullptr) __atomic_store_n(told_, kCalmUntold, __ATOMIC_RELAXED);
  told_ = calm_ns;
  // This process may be stopped before it ticks again.
  if (told_ != nullptr) __atomic_store_n(told_, kNotCalm, __ATOMIC_RELAXED);
}

// The clock stands at once for a peer that is stopped; only what lasts is said.
void StoppedPeers::look(std::uint64_t now_ns) {
  any_stopped_ = false;
  for (Peer& peer : peers_) {
    const auto status = process_status(peer.process);
    const bool is_it = status && status->started == peer.started && status->state != 'Z';
    const bool was_stopped = peer.stopped;
    peer.stopped = is_it && status->stopped();
    peer.runs = is_it && !peer.stopped;
    any_stopped_ |= peer.stopped;
    if (peer.stopped && !was_stopped) {
      peer.since_ns = now_ns;
    } else if (peer.stopped && !peer.said && now_ns - peer.since_ns >= kSilentNs && is_speaker()) {
      peer.said = true;
      news_.push_back(stopped_text(peer, status->state == 't'));
    } else if (!peer.stopped && peer.said) {
      peer.said = false;
      const auto ms = std::chrono::milliseconds((now_ns - peer.since_ns) / 1'000'000);
      const std::string name = "PE " + std::to_string(peer.pe);
      if (is_it) news_.push_back(name + " goes on after " + seconds_text(ms));
    }
  }
}

bool StoppedPeers::is_speaker() const {
  return first_of_process_ && std::none_of(peers_.begin(), peers_.end(), [this](const Peer& peer) {
           return peer.pe < my_pe_ && peer.runs;
         });
}

void StoppedPeers::say() {
  for (; !news_.empty() && takes_a_line(STDERR_FILENO); news_.pop_front()) {
    log_.warn(news_.front());
  }
}

std::string StoppedPeers::stopped_text(const Peer& peer, bool by_debugger) const {
  const std::string number = std::to_string(peer.process);
  std::string text = "PE " + std::to_string(peer.pe) + " (process " + number + ") is stopped by a ";
  text += by_debugger ? "debugger" : "signal";
  text +=
      "; its peers on this host wait for it as long as it lives, and GDAKIT_WATCHDOG and "
      "GDAKIT_TIMEOUT do not count that time";
  return by_debugger ? text : text + "; `kill -CONT " + number + "` lets it go on";
}

}  // namespace gdakit
