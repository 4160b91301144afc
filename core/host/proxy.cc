#include "core/host/proxy.h"

#include <chrono>

#include "core/format/doorbell.h"

namespace gdakit {
namespace {

constexpr int kBusyTurns = 1000;  // turns without news before the thread begins to sleep
constexpr std::chrono::microseconds kSleep{20};

// Record before doorbell, each a release store: the NIC that reads either sees the WQEs, which the
// device released with the index.
void announce(const QueueView& queue, std::uint64_t index) {
  __atomic_store_n(queue.record, format::doorbell_record_value(index).raw(), __ATOMIC_RELEASE);
  __atomic_store_n(queue.doorbell, format::doorbell_value(index, queue.qpn_shifted >> 8),
                   __ATOMIC_RELEASE);
}

}  // namespace

Proxy::Proxy() : thread_([this] { run(); }) {}

Proxy::~Proxy() {
  stop_.store(true);
  thread_.join();
}

void Proxy::watch(const QueueView& queue) {
  const std::lock_guard lock(mutex_);
  watched_.push_back({queue});
}

void Proxy::run() {
  int idle_turns = 0;
  while (!stop_.load(std::memory_order_relaxed)) {
    idle_turns = turn() ? 0 : idle_turns + 1;
    if (idle_turns > kBusyTurns) {
      std::this_thread::sleep_for(kSleep);
    } else if (idle_turns > 0) {
      std::this_thread::yield();
    }
  }
}

bool Proxy::turn() {
  const std::lock_guard lock(mutex_);
  bool rang = false;
  for (Watched& watched : watched_) {
    const std::uint64_t index = __atomic_load_n(watched.queue.proxy_index, __ATOMIC_ACQUIRE);
    if (index == watched.announced) continue;
    announce(watched.queue, index);
    watched.announced = index;
    rang = true;
  }
  return rang;
}

}  // namespace gdakit
