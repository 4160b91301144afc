#include "core/host/device_reports.h"

#include <algorithm>
#include <chrono>

#include "core/base/library_thread.h"
#include "device/watchdog.h"

namespace gdakit {
namespace {

constexpr std::chrono::milliseconds kBetweenLooks{50};

std::uint64_t state_of(const std::uint64_t& state) {
  return __atomic_load_n(&state, __ATOMIC_ACQUIRE);
}

// Whether there is a report that has not been said; it counts as said from now on.
bool is_news(const std::uint64_t& state, std::uint64_t* said) {
  const std::uint64_t now = state_of(state);
  if (!is_complete_report(now) || now == *said) return false;
  *said = now;
  return true;
}

}  // namespace

DeviceReports::DeviceReports(int my_pe, Log log, PeState& state, const SymmetricHeap& heap,
                             const Backend& backend)
    : my_pe_(my_pe), log_(log), state_(state), heap_(heap), backend_(backend) {
  thread_ = start_library_thread([this] { run(); });
}

DeviceReports::~DeviceReports() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void DeviceReports::run() {
  std::unique_lock lock(mutex_);
  bool last = false;
  while (!last) {
    last = changed_.wait_for(lock, kBetweenLooks, [this] { return stopping_; });
    const std::vector<std::string> news = look();
    lock.unlock();  // who reads stderr may be slow, and launch shall not wait for that
    for (const std::string& text : news) log_.warn(text);
    lock.lock();
  }
}

std::vector<std::string> DeviceReports::look() {
  std::vector<std::string> news;
  if (is_news(state_.stall.state, &stall_said_)) news.push_back(stall_text());
  if (is_news(state_.fault.state, &fault_said_)) {
    news.push_back(describe(state_.fault, my_pe_, &heap_));
  }
  look_at_queues(&news);
  return news;
}

void DeviceReports::look_at_queues(std::vector<std::string>* news) {
  const std::string pe = "PE " + std::to_string(my_pe_) + ": ";
  for (const BrokenQueue& broken : backend_.broken_queues()) {
    Watched* const queue = find(broken.number);
    if (queue == nullptr || queue->said) continue;
    queue->said = true;
    news->push_back(pe + broken_queue_text(queue->index, queue->peers, broken.why));
  }
  for (const QueueNumber number : backend_.recordless_queues()) {
    Watched* const queue = find(number);
    if (queue == nullptr || queue->recordless_said) continue;
    queue->recordless_said = true;
    news->push_back(pe + queue_name(queue->index) + " to " + queue->peers.text() +
                    " was rung for WQEs that its doorbell record does not announce; write the "
                    "record before each doorbell, because this NIC goes by the record where a "
                    "doorbell was overwritten by another one, and WQEs then wait for ever");
  }
}

void DeviceReports::watch(QueueNumber number, const QueuePeers& peers, std::uint32_t index) {
  const std::lock_guard lock(mutex_);
  queues_.push_back({number, peers, index});
}

DeviceReports::Watched* DeviceReports::find(QueueNumber number) {
  const auto found = std::find_if(queues_.begin(), queues_.end(), [number](const Watched& queue) {
    return queue.number == number;
  });
  return found == queues_.end() ? nullptr : &*found;
}

// A report that is not about one queue lists those that are broken.
std::string DeviceReports::stall_text() {
  const StallReport& stall = state_.stall;
  HostView host{&heap_, {}};
  if (concerns_queue(stall.site)) {
    const auto is_it = [&stall](const Watched& queue) {
      return queue.peers.has(stall.peer) && queue.index == stall.queue;
    };
    const auto queue = std::find_if(queues_.begin(), queues_.end(), is_it);
    const std::string text = describe(stall, my_pe_, host);
    return queue == queues_.end()
               ? text
               : text + "\n  the NIC says: " + backend_.describe_queue(queue->number);
  }
  for (const BrokenQueue& broken : backend_.broken_queues()) {
    Watched* const queue = find(broken.number);
    if (queue == nullptr) continue;
    queue->said = true;
    host.broken_queues.push_back(
        {queue->peers.first, broken_queue_text(queue->index, queue->peers, broken.why)});
  }
  return describe(stall, my_pe_, host);
}

Result<void> DeviceReports::check() {
  const std::lock_guard lock(mutex_);
  if (const std::uint64_t stall = state_of(state_.stall.state); is_complete_report(stall)) {
    stall_said_ = stall;
    return Error(Code::timed_out, stall_text());
  }
  if (const std::uint64_t fault = state_of(state_.fault.state); is_complete_report(fault)) {
    fault_said_ = fault;
    return Error(Code::invalid_argument, describe(state_.fault, my_pe_, &heap_));
  }
  return {};
}

void DeviceReports::note_said(QueueNumber queue) {
  const std::lock_guard lock(mutex_);
  if (Watched* const known = find(queue)) known->said = true;
}

bool DeviceReports::clear() {
  const std::lock_guard lock(mutex_);
  bool any = false;
  // A report that is still being written stays. A complete one is the host's alone.
  for (std::uint64_t* const state : {&state_.stall.state, &state_.fault.state}) {
    const std::uint64_t now = state_of(*state);
    if (!is_complete_report(now)) continue;
    __atomic_store_n(state, now + 1, __ATOMIC_RELEASE);
    any = true;
  }
  let_wait();
  return any;
}

void DeviceReports::let_wait() { __atomic_store_n(&state_.gives_up, 0, __ATOMIC_RELAXED); }

}  // namespace gdakit
