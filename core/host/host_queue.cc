#include "core/host/host_queue.h"

#include <string>
#include <utility>
#include <vector>

#include "core/base/bits.h"
#include "device/publication.h"

namespace gdakit {

constexpr std::uint64_t kPage = 4096;

// Where the parts of a queue lie in its blocks. The block of the commands has slots and CQE as that
// of the queue has them.
struct QueueLayout {
  // What the NIC reads and writes as queue. A ConnectX has the slots right behind the receives.
  std::uint64_t receives = 0;
  std::uint64_t slots, cqe, record, proxy, receive_cqes, queue_end;
  // What the device's threads share, on the device always. The parts that the NIC writes results to
  // stand last, on pages of their own, so that nothing else is registered with it.
  std::uint64_t ready = 0;
  std::uint64_t results, sink, words_end;
  std::uint64_t commands_end;

  explicit QueueLayout(const QueueShape& shape)
      : QueueLayout(shape.depth, shape.fetch_slots, shape.receive_depth) {}

 private:
  QueueLayout(std::uint32_t depth, std::uint32_t fetch_slots, std::uint64_t receive_depth) {
    slots = receive_depth * kReceiveWqeBytes;
    cqe = slots + std::uint64_t{depth} * format::kWqebbBytes;
    record = cqe + sizeof(format::Cqe64);
    proxy = record + 64;  // its own line: polled by the proxy
    receive_cqes = proxy + 64;
    queue_end = receive_cqes + receive_depth * sizeof(format::Cqe64);
    results = round_up(depth / kSlotsPerReadyWord * sizeof(std::uint64_t), kPage);
    sink = results + std::uint64_t{fetch_slots} * sizeof(FetchSlot);
    words_end = sink + 64;
    commands_end = record;
  }
};

namespace {

// What a new queue's memory holds where it is not zero: no CQE yet, and the baton at slot 0.
Result<void> initialize_cqes(MemoryBlock& block, std::uint64_t at, std::uint64_t count) {
  const std::vector<std::uint8_t> cqes(count * sizeof(format::Cqe64), format::kInvalidCqeByte);
  return block.write(at, cqes.data(), cqes.size());
}
Result<void> initialize_ready(MemoryBlock& words, const QueueLayout& layout) {
  return words.write(layout.ready, &kInitialReadyWord, sizeof kInitialReadyWord);
}

// For errors.
std::string name_of(const QueueShape& shape) {
  return shape.receive_depth == 0 ? "a send queue" : "a channel";
}

}  // namespace

Result<std::unique_ptr<HostQueue>> HostQueue::create(const QueueShape& shape, Backend& backend,
                                                     MemoryProvider& memory, QueueState* state,
                                                     int peer) {
  const QueueLayout layout(shape);
  std::unique_ptr<HostQueue> queue(new HostQueue(backend));
  if (auto made = queue->allocate(shape, layout, memory); !made) {
    return made.error().within(name_of(shape) + "'s memory");
  }
  char* const base = static_cast<char*>(queue->memory_->data());
  char* const words = static_cast<char*>(queue->words_->data());

  Result<MemoryKeys> keys = backend.register_memory(
      words + layout.results, layout.words_end - layout.results, MemoryUse::local);
  if (!keys) return keys.error().within("registration of " + name_of(shape) + "'s result slots");
  queue->keys_ = *keys;
  queue->has_keys_ = true;
  QueueMemory parts{base + layout.slots, shape.depth, base + layout.cqe, base + layout.record};
  parts.receive_depth = shape.receive_depth;
  parts.receive_slots = base + layout.receives;
  parts.receive_cqes = base + layout.receive_cqes;
  parts.rnr_retry = shape.rnr_retry;
  Result<QueueResources> made = backend.create_queue(parts);
  if (!made) {
    return made.error().within("creation of " + name_of(shape) + " to PE " + std::to_string(peer));
  }
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
  if (auto written = initialize_cqes(*memory_, layout.cqe, 1); !written) return written;
  if (shape.receive_depth != 0) {
    auto written = initialize_cqes(*memory_, layout.receive_cqes, shape.receive_depth);
    if (!written) return written;
  }
  auto shared_words = memory.allocate(layout.words_end, shape.words_place);
  if (!shared_words) return shared_words.error();
  words_ = std::move(*shared_words);
  if (auto written = initialize_ready(*words_, layout); !written) return written;
  if (shape.handler != Handler::commands) return {};
  auto commands = memory.allocate(layout.commands_end, Place::shared);
  if (!commands) return commands.error();
  commands_ = std::move(*commands);
  return initialize_cqes(*commands_, layout.cqe, 1);
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
  if (shape.words_place == Place::device) view_.doorbell = resources_.device_doorbell;
  receive_view_.slots = reinterpret_cast<format::Segment*>(base + layout.receives);
  receive_view_.cqes = reinterpret_cast<std::uint64_t*>(base + layout.receive_cqes);
  receive_view_.record = reinterpret_cast<std::uint32_t*>(&record->rcv_dbr);
  receive_view_.depth = shape.receive_depth;
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

}  // namespace gdakit
