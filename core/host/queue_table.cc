#include "core/host/queue_table.h"

#include <utility>

#include "core/host/bootstrap/same_on_all_pes.h"
#include "core/host/queue_rows.h"

namespace gdakit {

QueueTable::QueueTable(const Options& options, Bootstrap& bootstrap, Backend& backend,
                       MemoryProvider& memory)
    : options_(options), bootstrap_(bootstrap), backend_(backend), memory_(memory) {}

Result<std::unique_ptr<QueueTable>> QueueTable::create(const Options& options, Bootstrap& bootstrap,
                                                       Backend& backend, MemoryProvider& memory) {
  std::unique_ptr<QueueTable> table(new QueueTable(options, bootstrap, backend, memory));
  const BackendLimits limits = backend.limits();
  if (options.queue_depth > limits.max_queue_depth) {
    return Error(Code::invalid_argument,
                 "GDAKIT_QUEUE_DEPTH=" + std::to_string(options.queue_depth) + ": backend " +
                     backend.name() + " takes at most " + std::to_string(limits.max_queue_depth));
  }
  if (options.nic_handler == NicHandler::gpu && !limits.device_rings) {
    return Error(Code::unavailable,
                 std::string("GDAKIT_NIC_HANDLER=gpu: the device cannot reach the doorbell "
                             "registers of backend ") +
                     backend.name() + "; use auto, proxy or commands");
  }
  table->handler_ = options.nic_handler == NicHandler::commands ? Handler::commands
                    : options.nic_handler == NicHandler::proxy || !limits.device_rings
                        ? Handler::proxy
                        : Handler::gpu;
  if (Result<void> placed = table->choose_place(); !placed) return placed.error();
  if (Result<void> made = table->make_tables(); !made) return made.error();
  Result<std::uint32_t> first = table->add(options.queues_per_peer, Sharing::shared);
  if (!first) return first.error();
  return table;
}

// The proxy reads and writes words of each queue in place.
Result<void> QueueTable::choose_place() {
  const bool proxy = handler_ != Handler::gpu;
  if (proxy && options_.queue_memory == QueuePlace::device && memory_.gpu()) {
    return Error(Code::invalid_argument,
                 "GDAKIT_QUEUE_MEMORY=device: the proxy's host thread cannot reach queues in GPU "
                 "memory; use auto or host");
  }
  place_ = proxy || options_.queue_memory == QueuePlace::host ? Place::shared : Place::device;
  return {};
}

Result<void> QueueTable::make_tables() {
  const auto queues = kMaxQueuesPerPeer * static_cast<std::uint64_t>(bootstrap_.size());
  auto views = memory_.allocate(queues * sizeof(QueueView), Place::device);
  if (!views) return views.error().within("table of send queues");
  table_ = std::move(*views);
  auto states = memory_.allocate(queues * sizeof(QueueState), Place::device);
  if (!states) return states.error().within("states of send queues");
  states_ = std::move(*states);
  return {};
}

Result<std::uint32_t> QueueTable::add(std::uint32_t count, Sharing sharing) {
  const Result<void> same = agree_on(bootstrap_, "queues to each peer (GDAKIT_QUEUES_PER_PEER)",
                                     count, [](std::uint32_t n) { return std::to_string(n); });
  if (!same) return same.error();
  if (count == 0 || count > kMaxQueuesPerPeer - count_) {
    return Error(Code::invalid_argument, "add_queues: " + std::to_string(count) +
                                             " more queues; there are " + std::to_string(count_) +
                                             " to each peer and at most " +
                                             std::to_string(kMaxQueuesPerPeer));
  }
  const QueueShape shape{options_.queue_depth, options_.fetch_slots, place_, sharing, handler_};
  QueueState* const states = static_cast<QueueState*>(states_->data()) + queues_.size();
  QueueRows rows(bootstrap_, backend_, memory_);
  Result<HostQueues> made =
      rows.make(shape, count, states, [this](const HostQueues& queues) { return show(queues); });
  if (!made) return made.error();
  const std::uint32_t first = count_;
  for (std::unique_ptr<HostQueue>& queue : *made) queues_.push_back(std::move(queue));
  count_ += count;
  return first;
}

// Puts the queues behind those of the table, for the device's threads.
Result<void> QueueTable::show(const HostQueues& made) {
  std::vector<QueueView> views;
  for (const std::unique_ptr<HostQueue>& queue : made) views.push_back(queue->view());
  return table_->write(queues_.size() * sizeof(QueueView), views.data(),
                       views.size() * sizeof(QueueView));
}

const HostQueue& QueueTable::at(std::uint32_t queue, int peer) const {
  const auto n = static_cast<std::size_t>(bootstrap_.size());
  GDAKIT_ASSERT(queue < count_ && peer >= 0 && peer < bootstrap_.size());
  return *queues_[queue * n + static_cast<std::size_t>(peer)];
}

Result<std::vector<QueueState>> QueueTable::read_states() const {
  std::vector<QueueState> states(queues_.size());
  const std::uint64_t bytes = states.size() * sizeof(QueueState);
  if (auto read = states_->read(0, states.data(), bytes); !read) return read.error();
  return states;
}

}  // namespace gdakit
