#include "core/host/queue_table.h"

#include <algorithm>
#include <cstring>

#include "core/base/bits.h"
#include "device/publication.h"

namespace gdakit {
namespace {

// Where the parts of a queue lie in its block. The parts that the NIC writes to stand last, on
// pages of their own, so that nothing else is registered with it.
struct QueueLayout {
  std::uint64_t slots = 0;
  std::uint64_t cqe, ready, state, record, proxy, results, sink, end;

  QueueLayout(std::uint32_t depth, std::uint32_t fetch_slots, std::uint64_t page) {
    cqe = std::uint64_t{depth} * format::kWqebbBytes;
    ready = cqe + sizeof(format::Cqe64);
    state = round_up(ready + depth / kSlotsPerReadyWord * sizeof(std::uint64_t), 64);
    record = state + sizeof(QueueState);
    proxy = record + 64;  // its own line: polled by the proxy
    results = round_up(proxy + sizeof(std::uint64_t), page);
    sink = results + std::uint64_t{fetch_slots} * sizeof(FetchSlot);
    end = sink + 64;
  }
};

}  // namespace

Result<std::unique_ptr<HostQueue>> HostQueue::create(const Options& options, Backend& backend,
                                                     MemoryProvider& memory, int peer,
                                                     Sharing sharing, Handler handler) {
  const QueueLayout layout(options.queue_depth, options.fetch_slots, memory.granularity());
  std::unique_ptr<HostQueue> queue(new HostQueue(backend));
  Result<std::unique_ptr<MemoryBlock>> block = memory.allocate(layout.end);
  if (!block) return block.error().within("memory of a send queue");
  queue->memory_ = std::move(*block);
  char* const base = static_cast<char*>(queue->memory_->data());
  std::memset(base + layout.cqe, format::kInvalidCqeByte, sizeof(format::Cqe64));

  Result<MemoryKeys> keys =
      backend.register_memory(base + layout.results, layout.end - layout.results, MemoryUse::local);
  if (!keys) return keys.error().within("registration of a send queue's result slots");
  queue->keys_ = *keys;
  queue->has_keys_ = true;
  Result<QueueResources> made =
      backend.create_queue({base, options.queue_depth, base + layout.cqe, base + layout.record});
  if (!made) return made.error().within("creation of a send queue to PE " + std::to_string(peer));
  queue->resources_ = std::move(*made);
  queue->has_queue_ = true;

  auto* const record = reinterpret_cast<format::DoorbellRecord*>(base + layout.record);
  QueueView& view = queue->view_;
  view.slots = reinterpret_cast<format::Segment*>(base + layout.slots);
  view.depth = options.queue_depth;
  view.qpn_shifted = Be32{queue->resources_.qpn << 8};
  view.record = reinterpret_cast<std::uint32_t*>(&record->snd_dbr);
  view.doorbell = queue->resources_.doorbell;
  view.cqe = reinterpret_cast<std::uint64_t*>(base + layout.cqe);
  view.ready = reinterpret_cast<std::uint64_t*>(base + layout.ready);
  view.ready[0] = kInitialReadyWord;
  view.proxy_index = reinterpret_cast<std::uint64_t*>(base + layout.proxy);
  view.state = reinterpret_cast<QueueState*>(base + layout.state);
  view.fetch_slots = reinterpret_cast<FetchSlot*>(base + layout.results);
  view.fetch_count = options.fetch_slots;
  view.fetch_lkey = queue->keys_.lkey;
  view.sink = reinterpret_cast<std::uint64_t*>(base + layout.sink);
  view.sink_lkey = queue->keys_.lkey;
  view.peer = peer;
  view.handler = handler;
  view.sharing = sharing;
  return queue;
}

HostQueue::~HostQueue() {
  // Nothing is left to do about an object that cannot be taken back: the backend ends next.
  if (has_queue_) static_cast<void>(backend_.destroy_queue(resources_.number));
  if (has_keys_) static_cast<void>(backend_.deregister_memory(keys_));
}

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
                     backend.name() + "; use auto or proxy");
  }
  const bool proxy = options.nic_handler == NicHandler::proxy || !limits.device_rings;
  table->handler_ = proxy ? Handler::proxy : Handler::gpu;
  const auto n = static_cast<std::uint64_t>(bootstrap.size());
  Result<std::unique_ptr<MemoryBlock>> block =
      memory.allocate(kMaxQueuesPerPeer * n * sizeof(QueueView));
  if (!block) return block.error().within("table of send queues");
  table->table_ = std::move(*block);
  Result<std::uint32_t> first = table->add(options.queues_per_peer, Sharing::shared);
  if (!first) return first.error();
  return table;
}

Result<std::uint32_t> QueueTable::add(std::uint32_t count, Sharing sharing) {
  if (count == 0 || count > kMaxQueuesPerPeer - count_) {
    return Error(Code::invalid_argument, "add_queues: " + std::to_string(count) +
                                             " more queues; there are " + std::to_string(count_) +
                                             " to each peer and at most " +
                                             std::to_string(kMaxQueuesPerPeer));
  }
  const std::uint32_t first = count_;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (Result<void> added = add_row(sharing); !added) return added.error();
  }
  return first;
}

Result<void> QueueTable::add_row(Sharing sharing) {
  std::vector<std::unique_ptr<HostQueue>> row;
  const Result<void> made = make_row(sharing, row);
  // All PEs come here, whether their own part succeeded or not; a row that failed has no cards.
  Result<std::vector<Bytes>> cards = exchange_cards(row);
  if (!made) return made;
  if (!cards) return cards.error().within("exchange of connection cards");
  for (std::size_t peer = 0; peer < row.size(); ++peer) {
    if ((*cards)[peer].empty()) {
      return Error(Code::exhausted,
                   "PE " + std::to_string(peer) + " could not make its part of the queues");
    }
    Result<void> connected = backend_.connect_queue(row[peer]->number(), (*cards)[peer]);
    if (!connected) return connected.error().within("connection to PE " + std::to_string(peer));
  }
  // A PE may post as soon as this returns, so every other end must be connected by then.
  if (Result<void> met = bootstrap_.barrier(); !met) return met;
  auto* const views = static_cast<QueueView*>(table_->data());
  for (std::unique_ptr<HostQueue>& queue : row) {
    views[queues_.size()] = queue->view();
    queues_.push_back(std::move(queue));
  }
  ++count_;
  return {};
}

Result<void> QueueTable::make_row(Sharing sharing, std::vector<std::unique_ptr<HostQueue>>& row) {
  for (int peer = 0; peer < bootstrap_.size(); ++peer) {
    auto queue = HostQueue::create(options_, backend_, memory_, peer, sharing, handler_);
    if (!queue) {
      row.clear();
      return queue.error();
    }
    row.push_back(std::move(*queue));
  }
  return {};
}

Result<std::vector<Bytes>> QueueTable::exchange_cards(
    const std::vector<std::unique_ptr<HostQueue>>& row) {
  std::vector<Bytes> to_each(static_cast<std::size_t>(bootstrap_.size()));
  for (std::size_t peer = 0; peer < row.size(); ++peer) to_each[peer] = row[peer]->card();
  return bootstrap_.alltoall(std::move(to_each));
}

const HostQueue& QueueTable::at(std::uint32_t queue, int peer) const {
  const auto n = static_cast<std::size_t>(bootstrap_.size());
  GDAKIT_ASSERT(queue < count_ && peer >= 0 && peer < bootstrap_.size());
  return *queues_[queue * n + static_cast<std::size_t>(peer)];
}

}  // namespace gdakit
