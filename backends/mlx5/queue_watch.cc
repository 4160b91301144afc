#include "backends/mlx5/queue_watch.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "backends/mlx5/queue_error.h"
#include "core/host/counter_table.h"

namespace gdakit::mlx5 {
namespace {

// As firmware numbers them.
constexpr std::array kStates{"reset", "init", "rtr", "rts", "sqer", "sqd", "err"};
constexpr std::uint32_t kErrorState = 6;
// Firmware is asked about so many queues at a look: it takes one command at a time.
constexpr std::size_t kAskedAtALook = 4;

// Whether a question failed because the queue pair is gone, or its NIC. Any other call that fails
// (interrupted, out of memory, busy) says nothing of the queue.
bool says_it_is_gone(const Error& error) {
  return error.code() == Code::not_found || error.system_code() == EIO ||
         error.system_code() == ENODEV;
}

}  // namespace

QueueWatch::QueueWatch(const OpenNic& nic, MemoryProvider& memory, const Log& log)
    : nic_(nic), memory_(memory), log_(log) {
  Result<std::unique_ptr<CounterSet>> set = CounterSet::make(nic);
  if (set) counters_ = std::move(*set);
  if (!set) log_.info("no counters: " + set.error().message());
  Result<std::unique_ptr<QueueEvents>> events = QueueEvents::open(nic);
  if (events) events_ = std::move(*events);
  if (!events) do_without_events(events.error());
}

void QueueWatch::add(QueueNumber number, const QueuePair& pair, const void* cqe) {
  Queue queue;
  queue.pair = &pair;
  queue.cqe = cqe;
  queue.cqe_in_reach = memory_.kind_of(cqe) != MemoryKind::gpu;
  queue.name = next_name_++;
  if (events_ != nullptr) {
    const Result<void> subscribed = events_->subscribe(pair.object(), queue.name);
    queue.told_of = static_cast<bool>(subscribed);
    if (!subscribed) {
      say_once(said_unsubscribed_, "firmware is asked whether peers have broken queues: " +
                                       subscribed.error().message());
    }
  }
  queues_[number] = std::move(queue);
}

void QueueWatch::say_once(bool& said, const std::string& what) const {
  if (!std::exchange(said, true)) log_.info(what);
}

std::string QueueWatch::describe(QueueNumber number) {
  const auto found = queues_.find(number);
  if (found == queues_.end()) {
    return "describe_queue: there is no queue " + std::to_string(number);
  }
  const Result<QueuePairReport> report = found->second.pair->report();
  if (!report) return report.error().message();
  const char* const name = report->state < kStates.size() ? kStates[report->state] : "unknown";
  return "QP " + std::to_string(number) + " of " + nic_.name() + " is in state " + name +
         (report->state == kErrorState ? "; first error: " + why_of(found->second, *report) : "");
}

std::vector<BrokenQueue> QueueWatch::broken() {
  take_events();
  look_at_cqes();
  ask_firmware();
  std::vector<BrokenQueue> broken;
  for (const auto& [number, queue] : queues_) {
    if (!queue.why.empty()) broken.push_back({number, queue.why});
  }
  return broken;
}

void QueueWatch::take_events() {
  while (events_ != nullptr) {
    const auto told = events_->next();
    if (!told) return do_without_events(told.error());
    if (!*told) return;
    take(**told);
  }
}

void QueueWatch::take(const QueueEvents::Told& told) {
  const auto of_name = [&told](const auto& one) { return one.second.name == told.name; };
  const auto found = std::ranges::find_if(queues_, of_name);
  if (found == queues_.end() || !found->second.event.empty()) return;
  found->second.event = told.what;
  if (found->second.why.empty()) found->second.why = why_of(found->second);
}

// From the begin, or from when the channel of events fails: what it has lost nobody knows.
void QueueWatch::do_without_events(const Error& why) {
  events_.reset();
  for (auto& [number, queue] : queues_) queue.told_of = false;
  log_.info("broken queues are found by asking firmware about each: " + why.message());
}

void QueueWatch::look_at_cqes() {
  for (auto& [number, queue] : queues_) {
    if (!queue.why.empty() || !queue.cqe_in_reach || !tells_failure(queue.cqe)) continue;
    queue.why = why_of(queue);
  }
}

void QueueWatch::ask_firmware() {
  auto at = queues_.lower_bound(next_asked_);
  std::size_t asked = 0;
  for (std::size_t passed = 0; passed != queues_.size() && asked != kAskedAtALook; ++passed, ++at) {
    if (at == queues_.end()) at = queues_.begin();
    if (!must_be_asked_about(at->second)) continue;
    look_at(at->second);
    ++asked;
  }
  next_asked_ = at == queues_.end() ? 0 : at->first;
}

void QueueWatch::look_at(Queue& queue) {
  const Result<QueuePairReport> report = queue.pair->report();
  if (!report && says_it_is_gone(report.error())) {
    queue.why = report.error().message();
  } else if (!report) {
    say_once(said_unanswered_, "a queue is asked about again: " + report.error().message());
  } else if (report->state == kErrorState) {
    queue.why = why_of(queue, *report);
  }
}

// By what tells most: the CQE has the WQE, too. A copy from a GPU and a command take long: they are
// made once for each queue that has broken.
std::string QueueWatch::why_of(const Queue& queue, std::optional<QueuePairReport> report) const {
  format::ErrorCqe cqe;
  const bool is_read = static_cast<bool>(memory_.copy(&cqe, queue.cqe, sizeof cqe));
  const CqeTells tells = is_read ? what_it_tells(cqe) : CqeTells::nothing;
  if (tells == CqeTells::first_error) return why_by(cqe);
  if (!queue.event.empty()) return queue.event;
  if (!report && nic_.capabilities().tells_first_error) {
    if (const Result<QueuePairReport> asked = queue.pair->report()) report = *asked;
  }
  if (report && tells_cause(report->first_error)) return why_by(report->first_error, tells);
  if (tells == CqeTells::flush) return kFirstErrorOverwritten + counted_errors();
  return kErrorNotTold;
}

NicCount QueueWatch::count() {
  NicCount count;
  count.nic = counters();
  count.counts = counters_ == nullptr ? Counts::nothing : Counts::together;
  for (const auto& [number, queue] : queues_) count.queues.push_back({number, {}});
  return count;
}

std::string QueueWatch::counted_errors() const {
  std::string text;
  if (counters_ != nullptr) {
    const NicCounters& counters = counters_->read();
    for (const CounterRow& row : counter_table()) {
      const std::uint64_t count = value_of(counters, row);
      if (row.side != ErrorSide::requester || count == 0 || !tells_cause(row.syndrome)) continue;
      text += (text.empty() ? "" : ", ") + std::to_string(count) + " of " + std::string(row.name);
    }
  }
  if (!text.empty()) return "; the NIC has counted, for all queues that this PE has on it, " + text;
  return "; GDAKIT_NIC_HANDLER=commands has the host look at each CQE, and pass on the first error";
}

}  // namespace gdakit::mlx5
