#include "core/host/queue_table.h"

#include <algorithm>
#include <utility>

#include "core/base/bits.h"
#include "core/host/bootstrap/same_on_all_pes.h"

namespace gdakit {

QueueTable::QueueTable(const Options& options, Bootstrap& bootstrap, Backend& backend,
                       MemoryProvider& memory)
    : options_(options), bootstrap_(bootstrap), backend_(backend), memory_(memory) {}

Result<std::unique_ptr<QueueTable>> QueueTable::create(const Options& options, Bootstrap& bootstrap,
                                                       Backend& backend, MemoryProvider& memory,
                                                       const std::vector<int>& peers) {
  std::unique_ptr<QueueTable> table(new QueueTable(options, bootstrap, backend, memory));
  table->peers_ = peers;
  if (Result<void> chosen = table->choose(backend.limits()); !chosen) return chosen.error();
  if (Result<void> placed = table->choose_place(); !placed) return placed.error();
  if (options.queue_type == QueueType::dc) {
    auto targets = DcTargets::exchange(bootstrap, backend, memory, table->mapped_queues());
    if (!targets) return targets.error();
    table->dc_targets_ = std::move(*targets);
  }
  Result<std::uint32_t> first = table->add(table->mapped_queues(), Sharing::shared);
  if (!first) return first.error();
  return table;
}

// What the options ask for and this backend does not have is an error, on this PE.
Result<void> QueueTable::choose(const BackendLimits& limits) {
  const std::string backend = std::string("backend ") + backend_.name();
  if (options_.queue_depth > limits.max_queue_depth) {
    return Error(Code::invalid_argument,
                 "GDAKIT_QUEUE_DEPTH=" + std::to_string(options_.queue_depth) + ": " + backend +
                     " takes at most " + std::to_string(limits.max_queue_depth));
  }
  if (options_.nic_handler == NicHandler::gpu && !limits.device_rings) {
    return Error(Code::unavailable,
                 "GDAKIT_NIC_HANDLER=gpu: the device cannot reach the doorbell registers of " +
                     backend + "; use auto, proxy or commands");
  }
  handler_ = options_.nic_handler == NicHandler::commands                        ? Handler::commands
             : options_.nic_handler == NicHandler::proxy || !limits.device_rings ? Handler::proxy
                                                                                 : Handler::gpu;
  if (!options_.doorbell_records && !limits.has_recordless) {
    return Error(Code::unavailable, "GDAKIT_DOORBELL_RECORDS=off: " + backend +
                                        " has no queues that do without; set it to on");
  }
  if (options_.queue_type == QueueType::rc || handler_ != Handler::commands) return {};
  return Error(Code::invalid_argument,
               "GDAKIT_QUEUE_TYPE=dc does not go with GDAKIT_NIC_HANDLER=commands, which knows "
               "queues to one peer only; use auto, gpu or proxy");
}

// The proxy reads and writes words of each queue in place.
Result<void> QueueTable::choose_place() {
  const bool proxy = handler_ != Handler::gpu;
  if (proxy && options_.queue_memory == QueuePlace::device && memory_.gpu()) {
    return Error(Code::invalid_argument,
                 "GDAKIT_QUEUE_MEMORY=device: the proxy's host thread cannot reach queues in GPU "
                 "memory; use auto or host");
  }
  const bool on_host =
      proxy || options_.queue_memory == QueuePlace::host || !backend_.limits().device_queues;
  place_ = on_host ? Place::shared : Place::device;
  return {};
}

// An exclusive queue has one owner for each peer.
bool QueueTable::is_dc(Sharing sharing) const {
  return options_.queue_type == QueueType::dc && sharing == Sharing::shared;
}

std::uint32_t QueueTable::dc_queues() const {
  return std::min(options_.dc_queues, static_cast<std::uint32_t>(bootstrap_.size()));
}

std::uint32_t QueueTable::mapped_queues() const {
  const std::uint32_t nics = backend_.limits().nics;
  return static_cast<std::uint32_t>(divide_up(options_.queues_per_peer, nics)) * nics;
}

QueueShape QueueTable::shape_of(Sharing sharing, std::uint32_t first_row) const {
  QueueShape shape{options_.queue_depth, options_.fetch_slots, place_, sharing, handler_};
  shape.type = is_dc(sharing) ? QueueType::dc : QueueType::rc;
  shape.recordless = !options_.doorbell_records && handler_ == Handler::gpu;
  shape.first_row = first_row;
  return shape;
}

Result<std::uint32_t> QueueTable::add(std::uint32_t count, Sharing sharing) {
  const Result<void> same = agree_on(bootstrap_, "queues to each peer (GDAKIT_QUEUES_PER_PEER)",
                                     count, [](std::uint32_t n) { return std::to_string(n); });
  if (!same) return same.error();
  const std::uint32_t first = queues_per_peer();
  if (count == 0 || count > kMaxQueuesPerPeer - first) {
    return Error(Code::invalid_argument, "add_queues: " + std::to_string(count) +
                                             " more queues; there are " + std::to_string(first) +
                                             " to each peer and at most " +
                                             std::to_string(kMaxQueuesPerPeer));
  }
  Result<RowsOfQueues> made = make_rows(sharing, first, count, peers_);
  if (!made) return made.error();
  const std::size_t before = queues_.size();
  rows_.insert(rows_.end(), count, sharing);
  take(std::move(*made));
  if (Result<void> shown = publish(); !shown) {
    rows_.resize(first);
    drop_from(before);
    return shown.error();
  }
  return first;
}

// Rows of one kind that follow each other are made together.
Result<void> QueueTable::connect(const std::vector<int>& peers) {
  const std::size_t before = queues_.size();
  const std::vector<int> known = peers_;
  Result<void> done;
  for (std::uint32_t row = 0; row < queues_per_peer() && done;) {
    const auto end = std::find_if(rows_.begin() + row, rows_.end(),
                                  [&](Sharing sharing) { return sharing != rows_[row]; });
    const auto count = static_cast<std::uint32_t>(end - rows_.begin()) - row;
    if (!is_dc(rows_[row])) {
      Result<RowsOfQueues> made = make_rows(rows_[row], row, count, peers);
      done = made ? Result<void>() : made.error();
      if (made) take(std::move(*made));
    }
    row += count;
  }
  if (done) done = publish();
  if (!done) {
    drop_from(before);
    return done;
  }
  peers_.insert(peers_.end(), peers.begin(), peers.end());
  std::ranges::sort(peers_);
  return {};
}

Result<RowsOfQueues> QueueTable::make_rows(Sharing sharing, std::uint32_t first_row,
                                           std::uint32_t count, const std::vector<int>& peers) {
  const QueueShape shape = shape_of(sharing, first_row);
  if (!is_dc(sharing)) {
    return QueueRows(bootstrap_, backend_, memory_).make(shape, count, peers);
  }
  Result<RowsOfQueues> made = make_initiators(shape, count);
  const Result<void> mine = made ? Result<void>() : Result<void>(made.error());
  if (auto all = all_succeed(bootstrap_, mine); !all) return all.error();
  return made;
}

// They need nothing of their peers.
Result<RowsOfQueues> QueueTable::make_initiators(const QueueShape& shape, std::uint32_t count) {
  RowsOfQueues made;
  auto arena = QueueArena::create(shape, count, dc_queues(), backend_, memory_);
  if (!arena) return arena.error();
  made.arena = std::move(*arena);
  for (std::uint32_t i = 0; i < count * dc_queues(); ++i) {
    const int first_peer = static_cast<int>(i % dc_queues());
    auto queue = HostQueue::create(made.arena, i, backend_, first_peer);
    if (!queue) return queue.error();
    made.queues.push_back(std::move(*queue));
  }
  return made;
}

// Puts queues behind the others.
void QueueTable::take(RowsOfQueues made) {
  if (made.arena == nullptr) return;
  for (std::size_t i = 0; i < made.queues.size(); ++i) {
    const std::uint32_t row = made.arena->row_of(i);
    places_.push_back({row, made.queues[i]->view().peer});
    queues_.push_back(std::move(made.queues[i]));
  }
  arenas_.push_back(std::move(made.arena));
}

void QueueTable::drop_from(std::size_t first_queue) {
  queues_.resize(first_queue);
  places_.resize(first_queue);
  std::size_t count = 0;
  const auto end = std::ranges::find_if(arenas_, [&](const std::shared_ptr<QueueArena>& arena) {
    count += arena->count();
    return count > first_queue;
  });
  arenas_.erase(end, arenas_.end());
}

std::vector<QueueView> QueueTable::make_views() const {
  const int n = bootstrap_.size();
  std::vector<QueueView> views(rows_.size() * static_cast<std::size_t>(n));
  for (std::size_t i = 0; i < views.size(); ++i) {
    views[i].peer = static_cast<int>(i % static_cast<std::size_t>(n));
  }
  for (std::size_t i = 0; i < queues_.size(); ++i) {
    const bool dc = queues_[i]->type() == QueueType::dc;
    for (int pe = places_[i].peer; pe < n; pe += dc ? static_cast<int>(dc_queues()) : n) {
      const std::uint32_t row = places_[i].row;
      QueueView& view = views[row * static_cast<std::size_t>(n) + static_cast<std::size_t>(pe)];
      view = queues_[i]->view();
      view.peer = pe;
      if (dc) view.address = dc_targets_->address(row, pe);
    }
  }
  return views;
}

Result<std::unique_ptr<MemoryBlock>> QueueTable::make_table() const {
  const std::vector<QueueView> views = make_views();
  const std::uint64_t bytes = views.size() * sizeof(QueueView);
  auto table = memory_.allocate(bytes, Place::device);
  if (!table) return table.error().within("table of send queues");
  if (auto written = (*table)->write(0, views.data(), bytes); !written) return written.error();
  return table;
}

// Collective. Kernels that run read the tables that there were, so these stay.
Result<void> QueueTable::publish() {
  auto table = make_table();
  const Result<void> mine = table ? Result<void>() : Result<void>(table.error());
  if (auto all = all_succeed(bootstrap_, mine); !all) return all;
  tables_.push_back(std::move(*table));
  return {};
}

Result<std::vector<QueueState>> QueueTable::read_states() const {
  std::vector<QueueState> states;
  for (const std::shared_ptr<QueueArena>& arena : arenas_) {
    const auto some = arena->read_states();
    if (!some) return some.error();
    states.insert(states.end(), some->begin(), some->end());
  }
  return states;
}

std::uint64_t QueueTable::bytes() const {
  std::uint64_t bytes = 0;
  for (const std::shared_ptr<QueueArena>& arena : arenas_) bytes += arena->bytes();
  return bytes;
}

}  // namespace gdakit
