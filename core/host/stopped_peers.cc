#include "core/host/stopped_peers.h"

#include <algorithm>
#include <chrono>
#include <unistd.h>

#include "core/base/library_thread.h"
#include "core/host/bootstrap_round.h"
#include "core/host/host_name.h"
#include "core/host/process.h"

namespace gdakit {
namespace {

constexpr std::chrono::milliseconds kBetweenTicks{50};
// Between two looks at the peers. Each costs some 10 us of a core for each peer.
constexpr std::chrono::milliseconds kBetweenLooks{100};
constexpr std::chrono::milliseconds kForEachPeer{16};

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

std::string stopped_text(const std::string& pe, pid_t process, bool by_debugger) {
  const std::string number = std::to_string(process);
  const std::string text =
      pe + " (process " + number + ") is stopped by a " + (by_debugger ? "debugger" : "signal") +
      "; its peers on this host wait for it as long as it lives, and GDAKIT_WATCHDOG and "
      "GDAKIT_TIMEOUT do not count that time";
  return by_debugger ? text : text + "; `kill -CONT " + number + "` lets it go on";
}

}  // namespace

Result<std::unique_ptr<StoppedPeers>> StoppedPeers::watch(Bootstrap& bootstrap, Log log) {
  const Place mine = my_place();
  const Result<std::vector<Place>> all = allgather_value(bootstrap, mine);
  if (!all) return all.error();
  std::vector<Peer> peers;
  for (std::size_t pe = 0; pe < all->size(); ++pe) {
    const Place& place = (*all)[pe];
    if (place.host != mine.host || place.process == mine.process) continue;
    peers.push_back({static_cast<int>(pe), static_cast<pid_t>(place.process), place.started});
  }
  std::unique_ptr<StoppedPeers> stopped(new StoppedPeers(bootstrap.rank(), log, std::move(peers)));
  bootstrap.go_by(stopped->clock_);
  return stopped;
}

StoppedPeers::StoppedPeers(int my_pe, Log log, std::vector<Peer> peers)
    : my_pe_(my_pe), log_(log), peers_(std::move(peers)) {
  clock_->tick(steady_ns(), false);
  thread_ = start_library_thread([this] { run(); });
}

StoppedPeers::~StoppedPeers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
  clock_->run_freely(steady_ns());
}

void StoppedPeers::run() {
  const std::chrono::nanoseconds between =
      std::max<std::chrono::nanoseconds>(kBetweenLooks, kForEachPeer * peers_.size());
  std::uint64_t next_look_ns = 0;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kBetweenTicks, [this] { return stopping_; })) {
    const std::uint64_t now = steady_ns();
    std::vector<std::string> news;
    if (now >= next_look_ns) {
      news = look(now);
      next_look_ns = now + static_cast<std::uint64_t>(between.count());
    }
    clock_->tick(now, any_stopped_);
    lock.unlock();
    for (const std::string& text : news) log_.warn(text);
    lock.lock();
  }
}

// A peer that is seen so for the first time may be about to go on, as all of a job do behind ^Z and
// fg: the clock stands, and nothing is said yet.
std::vector<std::string> StoppedPeers::look(std::uint64_t now_ns) {
  std::vector<std::string> news;
  any_stopped_ = false;
  for (Peer& peer : peers_) {
    const auto status = process_status(peer.process);
    const bool is_it = status && status->started == peer.started && status->state != 'Z';
    const bool was_stopped = peer.stopped;
    peer.stopped = is_it && status->stopped();
    any_stopped_ |= peer.stopped;
    const std::string name = "PE " + std::to_string(peer.pe);
    if (peer.stopped && !was_stopped) {
      peer.since_ns = now_ns;
    } else if (peer.stopped && !peer.said && is_speaker()) {
      peer.said = true;
      news.push_back(stopped_text(name, peer.process, status->state == 't'));
    } else if (!peer.stopped && peer.said) {
      peer.said = false;
      const auto ms = std::chrono::milliseconds((now_ns - peer.since_ns) / 1'000'000);
      if (is_it) news.push_back(name + " goes on after " + seconds_text(ms));
    }
  }
  return news;
}

// Of the PEs here that run, the first.
bool StoppedPeers::is_speaker() const {
  return std::none_of(peers_.begin(), peers_.end(),
                      [this](const Peer& peer) { return peer.pe < my_pe_ && !peer.stopped; });
}

}  // namespace gdakit
