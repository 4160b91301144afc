#include "backends/softnic/wire/loopback_wire.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "backends/softnic/wire/plain_wire.h"
#include "backends/softnic/wire/ring_bells.h"
#include "backends/softnic/wire/ring_recall.h"
#include "backends/softnic/wire/spsc_ring.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kValueMtu = 4096;

// A packet in a ring, with room for a small payload, and for a longer one once there was one.
struct Slot {
  Packet packet;
  std::uint8_t small[kSmallPayload];
  std::unique_ptr<std::uint8_t[]> room;
};

// A turn at one ring before the next sender has its own.
constexpr std::uint32_t kTurn = 16;

// A ring that was empty at so many looks in a row is looked at no more until its sender rings,
// where there are more than a few: these cost less to look at than a sender takes to ring.
constexpr std::uint32_t kPatience = 64;
constexpr std::size_t kFewRings = 8;

}  // namespace

struct LoopbackRing {
  explicit LoopbackRing(std::uint32_t count) : void_bits(void_words(count)), slots(count) {}
  RingIndices indices;
  RecallWords recall;
  std::vector<VoidBits> void_bits;
  std::vector<Slot> slots;
};

class LoopbackWire final : public PlainWire {
 public:
  LoopbackWire(std::shared_ptr<LoopbackFabric> fabric, Endpoint endpoint);
  ~LoopbackWire() override;

  Endpoint endpoint() const override { return endpoint_; }
  std::uint32_t mtu() const override { return fabric_->options_.mtu; }
  std::uint32_t value_mtu() const override { return std::min(mtu(), kValueMtu); }
  WirePath path(Endpoint) const override { return {.mtu = mtu(), .loses_packets = false}; }
  bool by_reference(const Packet& packet) const override { return !has_on_demand(packet); }
  bool send(const Packet& packet) override;
  const Packet* receive() override;
  void retire(const Packet* packet) override;
  void flush() override;
  Recall recall(const RecallScope& scope) override;
  bool recalled(Recall& recall) override;
  bool unread(Endpoint endpoint) const override;

 private:
  struct Outbound {
    RingWriter writer;
    LoopbackRing* ring = nullptr;
    RecallSender recall;
    bool unpublished = false;
  };
  struct Inbound {
    RingReader reader;
    LoopbackRing* ring = nullptr;
    RecallReader recall;
    bool watched = false;
    std::uint32_t empty_looks = 0;  // in a row
  };
  enum class Look { packet, waits, empty };

  std::uint8_t* room_for(Slot& slot, std::uint32_t size) const;
  Outbound& outbound_to(Endpoint to);
  void watch(Endpoint from);
  Look look_at(Inbound& inbound, const Packet** packet);
  bool stays_empty(Endpoint from);

  std::shared_ptr<LoopbackFabric> fabric_;
  const Endpoint endpoint_;
  RingBells& bells_;
  // By endpoint; null until there was a packet.
  std::vector<std::unique_ptr<Outbound>> outbound_;
  std::vector<std::unique_ptr<Inbound>> inbound_;
  std::vector<Endpoint> sent_to_;      // that have an Outbound
  std::vector<Endpoint> unpublished_;  // of those
  std::vector<Endpoint> watched_;      // that have a turn
  std::vector<Endpoint> entered_;      // whose packets are in use
  std::size_t turn_ = 0;               // in watched_
  std::uint32_t turn_used_ = 0;
};

LoopbackWire::LoopbackWire(std::shared_ptr<LoopbackFabric> fabric, Endpoint endpoint)
    : fabric_(std::move(fabric)),
      endpoint_(endpoint),
      bells_(*fabric_->bells_[endpoint]),
      outbound_(fabric_->options_.endpoints),
      inbound_(fabric_->options_.endpoints) {
  // On the data path they shall not grow.
  for (auto* list : {&sent_to_, &unpublished_, &watched_, &entered_}) {
    list->reserve(fabric_->options_.endpoints);
  }
  // Senders need not ring again for who had this number before.
  bells_.take_all([this](Endpoint from) { watch(from); });
}

LoopbackWire::~LoopbackWire() {
  flush();
  // What was received and not retired is given up: its memory is not read any more.
  for (const Endpoint from : entered_) inbound_[from]->recall.leave();
  // A peer leaves its epoch at the end of its step. The limit is for a peer whose DMA never
  // finishes.
  Recall all = recall({.everything = true});
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (!recalled(all) && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  fabric_->detach(endpoint_);
}

bool LoopbackWire::send(const Packet& packet) {
  const Endpoint to = packet.header.destination;
  if (to >= outbound_.size() || !fabric_->attached_[to].load(std::memory_order_acquire)) {
    return true;
  }
  Outbound& outbound = outbound_to(to);
  const auto index = outbound.writer.reserve();
  if (!index) return false;
  outbound.recall.fill(*index, packet);
  Slot& slot = outbound.ring->slots[*index];
  const PacketHeader& header = packet.header;
  slot.packet.header = header;
  slot.packet.header.source = endpoint_;
  if (header.opcode == PacketOpcode::atomic_request) slot.packet.atomic = packet.atomic;
  for (std::uint32_t i = 0; i < header.fragment_count; ++i) {
    slot.packet.fragments[i] = packet.fragments[i];
  }
  if (header.fragment_count == 0 && header.payload_size != 0) {
    std::uint8_t* const room = room_for(slot, header.payload_size);
    std::memcpy(room, packet.payload, header.payload_size);
    slot.packet.payload = room;
  }
  outbound.writer.commit();
  if (!std::exchange(outbound.unpublished, true)) unpublished_.push_back(to);
  return true;
}

LoopbackWire::Outbound& LoopbackWire::outbound_to(Endpoint to) {
  std::unique_ptr<Outbound>& outbound = outbound_[to];
  if (outbound != nullptr) return *outbound;
  outbound = std::make_unique<Outbound>();
  LoopbackRing& ring = fabric_->make_ring(endpoint_, to);
  outbound->ring = &ring;
  outbound->writer = RingWriter(&ring.indices, fabric_->options_.slots);
  outbound->recall =
      RecallSender(&ring.recall, ring.void_bits.data(), fabric_->options_.slots, outbound->writer);
  sent_to_.push_back(to);
  return *outbound;
}

std::uint8_t* LoopbackWire::room_for(Slot& slot, std::uint32_t size) const {
  GDAKIT_ASSERT(size <= value_mtu());
  if (size <= kSmallPayload) return slot.small;
  if (slot.room == nullptr) slot.room = std::make_unique<std::uint8_t[]>(value_mtu());
  return slot.room.get();
}

// A ring whose bell has rung has a turn from now on. Who rings has made the ring.
void LoopbackWire::watch(Endpoint from) {
  std::unique_ptr<Inbound>& inbound = inbound_[from];
  if (inbound == nullptr) {
    inbound = std::make_unique<Inbound>();
    LoopbackRing* const ring = fabric_->ring(from, endpoint_);
    inbound->ring = ring;
    inbound->reader = RingReader(&ring->indices, fabric_->options_.slots);
    inbound->recall = RecallReader(&ring->recall, ring->void_bits.data());
  }
  if (!std::exchange(inbound->watched, true)) watched_.push_back(from);
}

LoopbackWire::Look LoopbackWire::look_at(Inbound& inbound, const Packet** packet) {
  while (const auto index = inbound.reader.peek()) {
    const Packet& next = inbound.ring->slots[*index].packet;
    if (!inbound.recall.entered()) {
      entered_.push_back(watched_[turn_]);
      inbound.recall.enter();
    }
    switch (next_packet(inbound.reader, inbound.recall, *index)) {
      case NextPacket::use: *packet = &next; return Look::packet;
      case NextPacket::wait: return Look::waits;
      case NextPacket::skip: break;
    }
  }
  return Look::empty;
}

// Whether the ring, in which there was nothing, is left until its sender rings.
bool LoopbackWire::stays_empty(Endpoint from) {
  Inbound& inbound = *inbound_[from];
  if (watched_.size() <= kFewRings || ++inbound.empty_looks < kPatience) return false;
  inbound.empty_looks = 0;
  bells_.clear(from);
  if (!inbound.reader.peek()) {
    inbound.watched = false;
    return true;
  }
  bells_.keep(from);
  return false;
}

// A turn of each ring that is watched, and the rest of the turn that was under way.
const Packet* LoopbackWire::receive() {
  bells_.take([this](Endpoint from) { watch(from); });
  const std::size_t rest = turn_used_ == kTurn ? 0 : 1;
  for (std::size_t left = watched_.size() + rest; left != 0 && !watched_.empty(); --left) {
    if (turn_used_ == kTurn) {
      ++turn_;
      turn_used_ = 0;
    }
    if (turn_ >= watched_.size()) turn_ = 0;
    Inbound& inbound = *inbound_[watched_[turn_]];
    const Packet* packet = nullptr;
    const Look seen = look_at(inbound, &packet);
    if (seen == Look::packet) {
      inbound.empty_looks = 0;
      ++turn_used_;
      return packet;
    }
    turn_used_ = kTurn;
    if (seen == Look::empty && stays_empty(watched_[turn_])) {
      watched_[turn_] = watched_.back();
      watched_.pop_back();
      turn_used_ = 0;
    }
  }
  return nullptr;
}

void LoopbackWire::retire(const Packet* packet) {
  inbound_[packet->header.source]->reader.retire();
}

void LoopbackWire::flush() {
  for (const Endpoint peer : unpublished_) {
    Outbound& outbound = *outbound_[peer];
    outbound.writer.publish(std::memory_order_seq_cst);
    outbound.unpublished = false;
    fabric_->bells_[peer]->ring(endpoint_);
  }
  unpublished_.clear();
  std::erase_if(entered_, [this](Endpoint peer) {
    Inbound& inbound = *inbound_[peer];
    inbound.reader.publish();
    if (inbound.reader.unretired() != 0) return false;
    inbound.recall.leave();
    return true;
  });
}

Recall LoopbackWire::recall(const RecallScope& scope) {
  Recall recall;
  for (const Endpoint peer : sent_to_) {
    Outbound& outbound = *outbound_[peer];
    outbound.recall.recall(scope, peer, outbound.writer, recall);
  }
  return recall;
}

bool LoopbackWire::recalled(Recall& recall) {
  std::erase_if(recall.waits, [this](const Recall::Wait& wait) {
    Outbound& outbound = *outbound_[wait.peer];
    return !outbound.recall.still_read(wait, outbound.writer);
  });
  return recall.waits.empty();
}

bool LoopbackWire::unread(Endpoint endpoint) const {
  if (endpoint >= outbound_.size() || outbound_[endpoint] == nullptr) return false;
  return fabric_->attached_[endpoint].load(std::memory_order_acquire) &&
         outbound_[endpoint]->writer.unretired() != 0;
}

LoopbackOptions LoopbackOptions::for_endpoints(std::uint32_t endpoints) {
  constexpr std::uint32_t kSlotsOfOne = 4096;  // in all rings to or from one endpoint
  constexpr std::uint32_t kFewest = 8, kMost = 512;
  LoopbackOptions options;
  options.endpoints = endpoints;
  options.slots = std::clamp(std::bit_floor(kSlotsOfOne / endpoints), kFewest, kMost);
  return options;
}

LoopbackFabric::LoopbackFabric(const LoopbackOptions& options)
    : options_(options),
      rings_(std::size_t{options.endpoints} * options.endpoints),
      attached_(options.endpoints) {
  for (Endpoint endpoint = 0; endpoint < options.endpoints; ++endpoint) {
    bells_.push_back(std::make_unique<RingBells>(options.endpoints));
  }
}
LoopbackFabric::~LoopbackFabric() = default;

std::shared_ptr<LoopbackFabric> LoopbackFabric::create(const LoopbackOptions& options) {
  GDAKIT_ASSERT(is_power_of_two(options.slots) && options.mtu >= 256);
  return std::shared_ptr<LoopbackFabric>(new LoopbackFabric(options));
}

Result<std::unique_ptr<Wire>> LoopbackFabric::attach() {
  const std::lock_guard lock(mutex_);
  for (Endpoint endpoint = 0; endpoint < options_.endpoints; ++endpoint) {
    if (!attached_[endpoint].load()) return attach_locked(endpoint);
  }
  return Error(Code::exhausted, "LoopbackFabric::attach: all " +
                                    std::to_string(options_.endpoints) +
                                    " endpoints are in use; destroy a NIC first");
}

Result<std::unique_ptr<Wire>> LoopbackFabric::attach(Endpoint wanted) {
  const std::lock_guard lock(mutex_);
  if (wanted >= options_.endpoints) {
    return Error(Code::invalid_argument, "LoopbackFabric::attach: endpoint " +
                                             std::to_string(wanted) + " is not below " +
                                             std::to_string(options_.endpoints));
  }
  if (attached_[wanted].load()) {
    return Error(Code::invalid_argument, "LoopbackFabric::attach: endpoint " +
                                             std::to_string(wanted) + " is in use; take another");
  }
  return attach_locked(wanted);
}

Result<std::unique_ptr<Wire>> LoopbackFabric::attach_locked(Endpoint endpoint) {
  // What was sent to a former owner of this number is not for the new one.
  for (Endpoint peer = 0; peer < options_.endpoints; ++peer) {
    if (LoopbackRing* old = ring(peer, endpoint)) old->indices.head.store(old->indices.tail.load());
  }
  auto wire = std::make_unique<LoopbackWire>(shared_from_this(), endpoint);
  attached_[endpoint].store(true, std::memory_order_release);
  return std::unique_ptr<Wire>(std::move(wire));
}

// Nobody else makes this ring, so what takes long is done without the lock.
LoopbackRing& LoopbackFabric::make_ring(Endpoint from, Endpoint to) {
  if (LoopbackRing* const there = ring(from, to)) return *there;
  auto made = std::make_unique<LoopbackRing>(options_.slots);
  LoopbackRing& ring = *made;
  {
    const std::lock_guard lock(mutex_);
    owned_.push_back(std::move(made));
  }
  rings_[ring_number(from, to)].store(&ring, std::memory_order_release);
  return ring;
}

std::size_t LoopbackFabric::ring_bytes() {
  const std::lock_guard lock(mutex_);
  return owned_.size() * (sizeof(LoopbackRing) + options_.slots * sizeof(Slot));
}

std::uint32_t LoopbackFabric::rings_looked_at(Endpoint endpoint) const {
  return bells_[endpoint]->count();
}

void LoopbackFabric::detach(Endpoint endpoint) {
  const std::lock_guard lock(mutex_);
  attached_[endpoint].store(false, std::memory_order_release);
}

}  // namespace gdakit::softnic
