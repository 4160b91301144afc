#include "core/host/queue_table.h"

#include <algorithm>
#include <cstring>

#include "core/base/bits.h"
#include "core/host/bootstrap/same_on_all_pes.h"
#include "device/publication.h"

namespace gdakit {

constexpr std::uint64_t kPage = 4096;

// Where the parts of a queue lie in its blocks. The block of the commands has slots and CQE as that
// of the queue has them.
struct QueueLayout {
  // What the NIC reads and writes as queue.
  std::uint64_t slots = 0;
  std::uint64_t cqe, record, proxy, queue_end;
  // What the device's threads share, on the device always. The parts that the NIC writes results to
  // stand last, on pages of their own, so that nothing else is registered with it.
  std::uint64_t ready = 0;
  std::uint64_t results, sink, words_end;
  std::uint64_t commands_end;

  QueueLayout(std::uint32_t depth, std::uint32_t fetch_slots) {
    cqe = std::uint64_t{depth} * format::kWqebbBytes;
    record = cqe + sizeof(format::Cqe64);
    proxy = record + 64;  // its own line: polled by the proxy
    queue_end = proxy + 64;
    results = round_up(depth / kSlotsPerReadyWord * sizeof(std::uint64_t), kPage);
    sink = results + std::uint64_t{fetch_slots} * sizeof(FetchSlot);
    words_end = sink + 64;
    commands_end = record;
  }
};

namespace {

// Every PE sees the same: what a PE could not make has no cards.
Result<void> check_cards(const std::vector<Bytes>& cards) {
  for (std::size_t pe = 0; pe < cards.size(); ++pe) {
    if (!cards[pe].empty()) continue;
    return Error(Code::exhausted,
                 "PE " + std::to_string(pe) + " could not make its part of the queues");
  }
  return {};
}

// What a new queue's memory holds where it is not zero: no CQE yet, and the baton at slot 0.
Result<void> initialize_cqe(MemoryBlock& block, const QueueLayout& layout) {
  std::uint8_t cqe[sizeof(format::Cqe64)];
  std::memset(cqe, format::kInvalidCqeByte, sizeof cqe);
  return block.write(layout.cqe, cqe, sizeof cqe);
}
Result<void> initialize_ready(MemoryBlock& words, const QueueLayout& layout) {
  return words.write(layout.ready, &kInitialReadyWord, sizeof kInitialReadyWord);
}

}  // namespace

Result<std::unique_ptr<HostQueue>> HostQueue::create(const QueueShape& shape, Backend& backend,
                                                     MemoryProvider& memory, QueueState* state,
                                                     int peer) {
  const QueueLayout layout(shape.depth, shape.fetch_slots);
  std::unique_ptr<HostQueue> queue(new HostQueue(backend));
  if (auto made = queue->allocate(shape, layout, memory); !made) {
    return made.error().within("memory of a send queue");
  }
  char* const base = static_cast<char*>(queue->memory_->data());
  char* const words = static_cast<char*>(queue->words_->data());

  Result<MemoryKeys> keys = backend.register_memory(
      words + layout.results, layout.words_end - layout.results, MemoryUse::local);
  if (!keys) return keys.error().within("registration of a send queue's result slots");
  queue->keys_ = *keys;
  queue->has_keys_ = true;
  Result<QueueResources> made =
      backend.create_queue({base, shape.depth, base + layout.cqe, base + layout.record});
  if (!made) return made.error().within("creation of a send queue to PE " + std::to_string(peer));
  queue->resources_ = std::move(*made);
  queue->has_queue_ = true;
  queue->make_views(shape, layout, state, peer);
  return queue;
}

Result<void> HostQueue::allocate(const QueueShape& shape, const QueueLayout& layout,
                                 MemoryProvider& memory) {
  auto block = memory.allocate(layout.queue_end, shape.place);
  if (!block) return block.error();
  memory_ = std::move(*block);
  if (auto written = initialize_cqe(*memory_, layout); !written) return written;
  auto shared_words = memory.allocate(layout.words_end, Place::device);
  if (!shared_words) return shared_words.error();
  words_ = std::move(*shared_words);
  if (auto written = initialize_ready(*words_, layout); !written) return written;
  if (shape.handler != Handler::commands) return {};
  auto commands = memory.allocate(layout.commands_end, Place::shared);
  if (!commands) return commands.error();
  commands_ = std::move(*commands);
  return initialize_cqe(*commands_, layout);
}

void HostQueue::make_views(const QueueShape& shape, const QueueLayout& layout, QueueState* state,
                           int peer) {
  char* const base = static_cast<char*>(memory_->data());
  char* const words = static_cast<char*>(words_->data());
  auto* const record = reinterpret_cast<format::DoorbellRecord*>(base + layout.record);
  QueueView& view = nic_view_;
  view.slots = reinterpret_cast<format::Segment*>(base + layout.slots);
  view.depth = shape.depth;
  view.qpn_shifted = Be32{resources_.qpn << 8};
  view.record = reinterpret_cast<std::uint32_t*>(&record->snd_dbr);
  view.doorbell = resources_.doorbell;
  view.cqe = reinterpret_cast<std::uint64_t*>(base + layout.cqe);
  view.ready = reinterpret_cast<std::uint64_t*>(words + layout.ready);
  view.state = state;
  view.fetch_slots = reinterpret_cast<FetchSlot*>(words + layout.results);
  view.fetch_count = shape.fetch_slots;
  view.fetch_lkey = keys_.lkey;
  view.sink = reinterpret_cast<std::uint64_t*>(words + layout.sink);
  view.sink_lkey = keys_.lkey;
  view.peer = peer;
  view.handler = shape.handler;
  view.sharing = shape.sharing;
  view_ = nic_view_;
  if (shape.handler != Handler::gpu) {
    view_.doorbell = reinterpret_cast<std::uint64_t*>(base + layout.proxy);
  }
  if (commands_ == nullptr) return;
  char* const commands = static_cast<char*>(commands_->data());
  view_.slots = reinterpret_cast<format::Segment*>(commands + layout.slots);
  view_.cqe = reinterpret_cast<std::uint64_t*>(commands + layout.cqe);
}

HostQueue::~HostQueue() {
  const bool queue_gone = !has_queue_ || backend_.destroy_queue(resources_.number);
  const bool keys_gone = !has_keys_ || backend_.deregister_memory(keys_);
  if (queue_gone && keys_gone) return;
  leave_to_nic(std::move(memory_));
  leave_to_nic(std::move(words_));
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
  Queues made;
  const Result<void> mine = make_rows(count, sharing, made);
  // All PEs come here, whether their own part succeeded or not; one that failed has no cards.
  Result<std::vector<Bytes>> cards = exchange_cards(made);
  if (!mine) return mine.error();
  if (!cards) return cards.error().within("exchange of connection cards");
  if (Result<void> complete = check_cards(*cards); !complete) return complete.error();
  Result<void> ready = connect(made, *cards);
  if (ready) ready = show(made);
  // A PE may post as soon as this returns, so every other end must be connected by then.
  if (Result<void> all = all_succeed(bootstrap_, ready); !all) return all.error();
  const std::uint32_t first = count_;
  for (std::unique_ptr<HostQueue>& queue : made) queues_.push_back(std::move(queue));
  count_ += count;
  return first;
}

Result<void> QueueTable::make_rows(std::uint32_t count, Sharing sharing, Queues& made) {
  const QueueShape shape{options_.queue_depth, options_.fetch_slots, place_, sharing, handler_};
  QueueState* state = static_cast<QueueState*>(states_->data()) + queues_.size();
  for (std::uint32_t row = 0; row < count; ++row) {
    for (int peer = 0; peer < bootstrap_.size(); ++peer, ++state) {
      auto queue = HostQueue::create(shape, backend_, memory_, state, peer);
      if (!queue) {
        made.clear();
        return queue.error();
      }
      made.push_back(std::move(*queue));
    }
  }
  return {};
}

// Each peer gets the cards of the queues to it, of all rows, which are equally long.
Result<std::vector<Bytes>> QueueTable::exchange_cards(const Queues& made) {
  const auto n = static_cast<std::size_t>(bootstrap_.size());
  std::vector<Bytes> to_each(n);
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Bytes& card = made[i]->card();
    to_each[i % n].insert(to_each[i % n].end(), card.begin(), card.end());
  }
  return bootstrap_.alltoall(std::move(to_each));
}

Result<void> QueueTable::connect(const Queues& made, const std::vector<Bytes>& cards) {
  const std::size_t n = cards.size();
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Bytes& of_peer = cards[i % n];
    const std::size_t rows = made.size() / n;
    const std::size_t bytes = of_peer.size() / rows;
    if (of_peer.size() % rows != 0) {
      return Error(Code::invalid_argument, "connection to PE " + std::to_string(i % n) +
                                               ": it gave " + std::to_string(of_peer.size()) +
                                               " bytes of cards for " + std::to_string(rows) +
                                               " queues; do all PEs run the same program?");
    }
    const auto card = of_peer.begin() + static_cast<std::ptrdiff_t>(i / n * bytes);
    const Result<void> connected = backend_.connect_queue(
        made[i]->number(), Bytes(card, card + static_cast<std::ptrdiff_t>(bytes)));
    if (connected) continue;
    return connected.error().within("connection to PE " + std::to_string(i % n));
  }
  return {};
}

// Puts the queues behind those of the table, for the device's threads.
Result<void> QueueTable::show(const Queues& made) {
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
