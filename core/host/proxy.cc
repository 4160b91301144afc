#include "core/host/proxy.h"

#include <algorithm>
#include <chrono>

#include "core/base/idle_sleep.h"
#include "core/base/library_thread.h"

namespace gdakit {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBusyTurns = 1000;  // turns without news before the thread begins to sleep

}  // namespace

Proxy::Proxy() : thread_(start_library_thread([this] { run(); })) {}

Proxy::~Proxy() {
  stop_.store(true);
  thread_.join();
}

void Proxy::watch(const ProxiedQueue& queue) {
  const std::lock_guard lock(mutex_);
  watched_.push_back(queue);
}

void Proxy::run() {
  int idle_turns = 0;
  Clock::time_point idle_since = Clock::now();
  while (!stop_.load(std::memory_order_relaxed)) {
    idle_turns = turn() ? 0 : std::min(idle_turns, kBusyTurns) + 1;
    if (idle_turns == 1) idle_since = Clock::now();
    if (idle_turns > kBusyTurns) {
      std::this_thread::sleep_for(idle_sleep(Clock::now() - idle_since));
    } else if (idle_turns > 0) {
      std::this_thread::yield();
    }
  }
}

bool Proxy::turn() {
  const std::lock_guard lock(mutex_);
  ProxyMachine machine;
  bool worked = false;
  for (ProxiedQueue& queue : watched_) worked = proxied::turn(machine, queue) || worked;
  return worked;
}

}  // namespace gdakit
