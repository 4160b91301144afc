#include "backends/softnic/wire/loopback_wire.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "backends/softnic/wire/plain_wire.h"
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
  LoopbackWire(std::shared_ptr<LoopbackFabric> fabric, Endpoint endpoint)
      : fabric_(std::move(fabric)),
        endpoint_(endpoint),
        outbound_(fabric_->options_.endpoints),
        inbound_(fabric_->options_.endpoints) {}
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
  };

  std::uint8_t* room_for(Slot& slot, std::uint32_t size) const;
  const Packet* receive_from(Inbound& inbound);
  bool connect_inbound(Endpoint from);

  std::shared_ptr<LoopbackFabric> fabric_;
  const Endpoint endpoint_;
  Endpoint turn_ = 0;
  std::uint32_t turn_used_ = 0;
  std::vector<Outbound> outbound_;
  std::vector<Inbound> inbound_;
};

LoopbackWire::~LoopbackWire() {
  flush();
  // What was received and not retired is given up: its memory is not read any more.
  for (Inbound& inbound : inbound_) {
    if (inbound.recall.entered()) inbound.recall.leave();
  }
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
  Outbound& outbound = outbound_[to];
  if (outbound.ring == nullptr) {
    outbound.ring = fabric_->ring(endpoint_, to);
    outbound.writer = RingWriter(&outbound.ring->indices, fabric_->options_.slots);
    outbound.recall = RecallSender(&outbound.ring->recall, outbound.ring->void_bits.data(),
                                   fabric_->options_.slots, outbound.writer);
  }
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
  outbound.unpublished = true;
  return true;
}

std::uint8_t* LoopbackWire::room_for(Slot& slot, std::uint32_t size) const {
  GDAKIT_ASSERT(size <= value_mtu());
  if (size <= kSmallPayload) return slot.small;
  if (slot.room == nullptr) slot.room = std::make_unique<std::uint8_t[]>(value_mtu());
  return slot.room.get();
}

bool LoopbackWire::connect_inbound(Endpoint from) {
  LoopbackRing* ring = fabric_->ring(from, endpoint_);
  if (ring == nullptr) return false;
  inbound_[from].ring = ring;
  inbound_[from].reader = RingReader(&ring->indices, fabric_->options_.slots);
  inbound_[from].recall = RecallReader(&ring->recall, ring->void_bits.data());
  return true;
}

const Packet* LoopbackWire::receive_from(Inbound& inbound) {
  while (const auto index = inbound.reader.peek()) {
    inbound.recall.enter();
    const Packet& packet = inbound.ring->slots[*index].packet;
    const NextPacket next = next_packet(inbound.reader, inbound.recall, *index);
    if (next == NextPacket::use) return &packet;
    if (next == NextPacket::wait) return nullptr;
  }
  return nullptr;
}

const Packet* LoopbackWire::receive() {
  const Endpoint count = fabric_->endpoints_.load(std::memory_order_acquire);
  for (Endpoint tried = 0; tried <= count; ++tried) {
    if (turn_ >= count || turn_used_ == kTurn) {
      turn_ = turn_ + 1 < count ? turn_ + 1 : 0;
      turn_used_ = 0;
    }
    Inbound& inbound = inbound_[turn_];
    if (inbound.ring != nullptr || connect_inbound(turn_)) {
      if (const Packet* packet = receive_from(inbound)) {
        ++turn_used_;
        return packet;
      }
    }
    turn_used_ = kTurn;
  }
  return nullptr;
}

void LoopbackWire::retire(const Packet* packet) { inbound_[packet->header.source].reader.retire(); }

void LoopbackWire::flush() {
  const Endpoint count = fabric_->endpoints_.load(std::memory_order_acquire);
  for (Endpoint peer = 0; peer < count; ++peer) {
    Outbound& outbound = outbound_[peer];
    if (outbound.unpublished) {
      outbound.writer.publish();
      outbound.unpublished = false;
    }
    Inbound& inbound = inbound_[peer];
    if (!inbound.recall.entered()) continue;
    inbound.reader.publish();
    if (inbound.reader.unretired() == 0) inbound.recall.leave();
  }
}

Recall LoopbackWire::recall(const RecallScope& scope) {
  Recall recall;
  for (Endpoint peer = 0; peer < outbound_.size(); ++peer) {
    Outbound& outbound = outbound_[peer];
    if (outbound.ring != nullptr) outbound.recall.recall(scope, peer, outbound.writer, recall);
  }
  return recall;
}

bool LoopbackWire::recalled(Recall& recall) {
  std::erase_if(recall.waits, [this](const Recall::Wait& wait) {
    Outbound& outbound = outbound_[wait.peer];
    return !outbound.recall.still_read(wait, outbound.writer);
  });
  return recall.waits.empty();
}

bool LoopbackWire::unread(Endpoint endpoint) const {
  if (endpoint >= outbound_.size() || outbound_[endpoint].ring == nullptr) return false;
  return fabric_->attached_[endpoint].load(std::memory_order_acquire) &&
         outbound_[endpoint].writer.unretired() != 0;
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
      attached_(options.endpoints) {}
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
  const auto make_ring = [this](Endpoint from, Endpoint to) {
    std::atomic<LoopbackRing*>& place = rings_[ring_number(from, to)];
    if (place.load() != nullptr) return;
    owned_.push_back(std::make_unique<LoopbackRing>(options_.slots));
    place.store(owned_.back().get(), std::memory_order_release);
  };
  make_ring(endpoint, endpoint);
  // What was sent to a former owner of this number is not for the new one.
  for (Endpoint peer = 0; peer < options_.endpoints; ++peer) {
    if (LoopbackRing* old = ring(peer, endpoint)) old->indices.head.store(old->indices.tail.load());
  }
  for (Endpoint peer = 0; peer < options_.endpoints; ++peer) {
    if (!attached_[peer].load()) continue;
    make_ring(endpoint, peer);
    make_ring(peer, endpoint);
  }
  auto wire = std::make_unique<LoopbackWire>(shared_from_this(), endpoint);
  attached_[endpoint].store(true, std::memory_order_release);
  if (endpoint >= endpoints_.load()) endpoints_.store(endpoint + 1, std::memory_order_release);
  return std::unique_ptr<Wire>(std::move(wire));
}

std::size_t LoopbackFabric::ring_bytes() {
  const std::lock_guard lock(mutex_);
  return owned_.size() * (sizeof(LoopbackRing) + options_.slots * sizeof(Slot));
}

void LoopbackFabric::detach(Endpoint endpoint) {
  const std::lock_guard lock(mutex_);
  attached_[endpoint].store(false, std::memory_order_release);
}

}  // namespace gdakit::softnic
