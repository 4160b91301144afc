#include "core/host/queue_arena.h"

#include <utility>

#include "core/base/bits.h"
#include "device/publication.h"

namespace gdakit {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kGpuLine = 128;
// CQEs of a ConnectX begin at a multiple of 1/64 of a page, of which the host's largest has 64 KiB.
constexpr std::uint64_t kCqPlace = 1024;

// The record and the proxy's index have lines of their own: both are polled. So have the ready
// words of each queue, which its posters change. The rest of the record's line is for records of
// CQs, which a ConnectX wants. A queue begins on a page, as a NIC may want it.
QueueLayout::QueueLayout(const QueueShape& shape) {
  slots = std::uint64_t{shape.receive_depth} * kReceiveWqeBytes;
  cqe = round_up(slots + std::uint64_t{shape.depth} * format::kWqebbBytes, kCqPlace);
  record = cqe + sizeof(format::Cqe64);
  proxy = record + 64;
  receive_cqes = round_up(proxy + 64, kCqPlace);
  queue_bytes =
      round_up(receive_cqes + std::uint64_t{shape.receive_depth} * sizeof(format::Cqe64), kPage);
  ready_bytes = round_up(shape.depth / kSlotsPerReadyWord * sizeof(std::uint64_t), kGpuLine);
  sink = results + std::uint64_t{shape.fetch_slots} * sizeof(FetchSlot);
  result_bytes = sink + 64;
  commands_bytes = record;
}

Result<std::shared_ptr<QueueArena>> QueueArena::create(const QueueShape& shape, std::uint32_t rows,
                                                       std::size_t in_row, Backend& backend,
                                                       MemoryProvider& memory) {
  std::shared_ptr<QueueArena> arena(new QueueArena(shape, rows, in_row, backend));
  const std::size_t count = arena->count_;
  Result<void> made = arena->allocate(memory);
  if (made) made = arena->initialize();
  if (!made) return made.error().within("memory of " + std::to_string(count) + " queues");
  Result<NicKeys> keys = NicKeys::create(backend, arena->results(0),
                                         count * arena->layout_.result_bytes, MemoryUse::local);
  if (!keys) {
    return keys.error().within("registration of the result slots of " + std::to_string(count) +
                               " queues");
  }
  arena->keys_ = std::move(*keys);
  return arena;
}

// What the NIC writes results to stands on pages of its own, so that nothing else is registered
// with it.
std::uint64_t QueueArena::ready_end() const {
  return round_up(count_ * layout_.ready_bytes, kPage);
}

Result<void> QueueArena::allocate(MemoryProvider& memory) {
  const auto take = [&](std::shared_ptr<MemoryBlock>& block, std::uint64_t bytes, Place place) {
    Result<std::unique_ptr<MemoryBlock>> made = memory.allocate(bytes, place);
    if (!made) return Result<void>(made.error());
    block = std::move(*made);
    return Result<void>();
  };
  Result<void> done = take(queues_, count_ * layout_.queue_bytes, shape_.place);
  if (done) {
    done = take(words_, ready_end() + count_ * layout_.result_bytes, shape_.words_place);
  }
  if (done) done = take(states_, count_ * sizeof(QueueState), shape_.words_place);
  if (done && shape_.handler == Handler::commands) {
    done = take(commands_, count_ * layout_.commands_bytes, Place::shared);
  }
  return done;
}

Result<void> QueueArena::initialize_cqes(MemoryBlock& block, std::uint64_t at, std::uint64_t cqes) {
  const std::vector<std::uint8_t> bytes(cqes * sizeof(format::Cqe64), format::kInvalidCqeByte);
  return block.write(at, bytes.data(), bytes.size());
}

Result<void> QueueArena::initialize() {
  Result<void> done;
  for (std::size_t i = 0; i < count_ && done; ++i) {
    const std::uint64_t at = i * layout_.queue_bytes;
    done = initialize_cqes(*queues_, at + layout_.cqe, 1);
    if (done && shape_.receive_depth != 0) {
      done = initialize_cqes(*queues_, at + layout_.receive_cqes, shape_.receive_depth);
    }
    if (done && commands_ != nullptr) {
      done = initialize_cqes(*commands_, i * layout_.commands_bytes + layout_.cqe, 1);
    }
  }
  if (!done) return done;
  std::vector<std::uint64_t> ready(count_ * layout_.ready_bytes / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < count_; ++i) {
    ready[i * layout_.ready_bytes / sizeof(std::uint64_t)] = kInitialReadyWord;
  }
  return words_->write(0, ready.data(), ready.size() * sizeof(std::uint64_t));
}

std::uint64_t QueueArena::bytes() const {
  std::uint64_t bytes = queues_->size() + words_->size() + states_->size();
  if (commands_ != nullptr) bytes += commands_->size();
  return bytes;
}

char* QueueArena::queue(std::size_t index) const {
  return static_cast<char*>(queues_->data()) + index * layout_.queue_bytes;
}

char* QueueArena::results(std::size_t index) const {
  return static_cast<char*>(words_->data()) + ready_end() + index * layout_.result_bytes;
}

QueueMemory QueueArena::memory_of(std::size_t index) const {
  char* const at = queue(index);
  QueueMemory memory;
  memory.slots = at + layout_.slots;
  memory.depth = shape_.depth;
  memory.cqe = at + layout_.cqe;
  memory.doorbell_record = at + layout_.record;
  memory.receive_depth = shape_.receive_depth;
  memory.receive_slots = at + layout_.receives;
  memory.receive_cqes = at + layout_.receive_cqes;
  memory.rnr_retry = shape_.rnr_retry;
  memory.type = shape_.type;
  memory.recordless = shape_.recordless;
  memory.nic = nic_of(index);
  memory.slab = {queues_->data(), count_ * layout_.queue_bytes};
  return memory;
}

QueueView QueueArena::view_of(std::size_t index) const {
  char* const at = queue(index);
  char* const words = static_cast<char*>(words_->data()) + index * layout_.ready_bytes;
  auto* const record = reinterpret_cast<format::DoorbellRecord*>(at + layout_.record);
  QueueView view{};
  view.slots = reinterpret_cast<format::Segment*>(at + layout_.slots);
  view.depth = shape_.depth;
  view.record = reinterpret_cast<std::uint32_t*>(&record->snd_dbr);
  view.cqe = reinterpret_cast<std::uint64_t*>(at + layout_.cqe);
  view.ready = reinterpret_cast<std::uint64_t*>(words);
  view.state = static_cast<QueueState*>(states_->data()) + index;
  view.fetch_slots = reinterpret_cast<FetchSlot*>(results(index) + layout_.results);
  view.fetch_count = shape_.fetch_slots;
  view.fetch_lkey = keys_.lkey(nic_of(index));
  view.sink = reinterpret_cast<std::uint64_t*>(results(index) + layout_.sink);
  view.sink_lkey = view.fetch_lkey;
  view.handler = shape_.handler;
  view.sharing = shape_.sharing;
  view.recordless = shape_.recordless;
  return view;
}

ReceiveView QueueArena::receive_view_of(std::size_t index) const {
  char* const at = queue(index);
  auto* const record = reinterpret_cast<format::DoorbellRecord*>(at + layout_.record);
  ReceiveView view{};
  view.slots = reinterpret_cast<format::Segment*>(at + layout_.receives);
  view.cqes = reinterpret_cast<std::uint64_t*>(at + layout_.receive_cqes);
  view.record = reinterpret_cast<std::uint32_t*>(&record->rcv_dbr);
  view.depth = shape_.receive_depth;
  return view;
}

format::Segment* QueueArena::command_slots(std::size_t index) const {
  if (commands_ == nullptr) return nullptr;
  char* const at = static_cast<char*>(commands_->data()) + index * layout_.commands_bytes;
  return reinterpret_cast<format::Segment*>(at + layout_.slots);
}

std::uint64_t* QueueArena::command_cqe(std::size_t index) const {
  if (commands_ == nullptr) return nullptr;
  char* const at = static_cast<char*>(commands_->data()) + index * layout_.commands_bytes;
  return reinterpret_cast<std::uint64_t*>(at + layout_.cqe);
}

std::uint64_t* QueueArena::proxy_index(std::size_t index) const {
  return reinterpret_cast<std::uint64_t*>(queue(index) + layout_.proxy);
}

Result<std::vector<QueueState>> QueueArena::read_states() const {
  std::vector<QueueState> states(count_);
  auto read = states_->read(0, states.data(), count_ * sizeof(QueueState));
  if (!read) return read.error();
  return states;
}

QueueArena::~QueueArena() {
  const bool keys_gone = bool(keys_.deregister(backend_));
  if (keys_gone && !left_behind_) return;
  leave_to_nic(std::move(queues_));
  leave_to_nic(std::move(words_));
}

}  // namespace gdakit
