#include "backends/softnic/wire/shm_wire.h"

#include <bit>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "backends/softnic/wire/shm_parts.h"
#include "backends/softnic/wire/shm_slot.h"
#include "core/base/other_processes.h"
#include "core/base/wait_clock.h"

namespace gdakit::softnic {
namespace {

// By number; of those that no endpoint has, the number of all places.
std::vector<Endpoint> places_of(const std::vector<Endpoint>& numbers) {
  const Endpoint most = *std::max_element(numbers.begin(), numbers.end());
  std::vector<Endpoint> places(most + 1, static_cast<Endpoint>(numbers.size()));
  for (Endpoint place = 0; place < numbers.size(); ++place) places[numbers[place]] = place;
  return places;
}

// Among so many packets a look at one of the peers that have not called.
constexpr std::uint32_t kPacketsOfAQuietTurn = 64;

}  // namespace

ShmWire::ShmWire(std::shared_ptr<ShmSegment> segment, Endpoint place,
                 std::shared_ptr<const PeerMemory> memory, std::vector<Endpoint> numbers)
    : segment_(std::move(segment)),
      memory_(std::move(memory)),
      place_(place),
      endpoints_(segment_->layout().options().endpoints),
      numbers_(std::move(numbers)),
      places_(places_of(numbers_)),
      outbound_(endpoints_),
      inbound_(endpoints_),
      call_bits_(caller_bits(*segment_, place_)),
      heard_(caller_words(endpoints_)) {
  const std::uint32_t slots = segment_->layout().options().slots;
  for (Endpoint peer = 0; peer < endpoints_; ++peer) {
    RingWords* const out = ring_words(*segment_, place_, peer);
    RingWords* const in = ring_words(*segment_, peer, place_);
    RingWriter& writer = outbound_[peer].writer = RingWriter(&out->indices, slots);
    if (writer.broken() && !segment_->is_held(peer)) writer.restart();
    outbound_[peer].recall = RecallSender(&out->recall, void_bits(*segment_, place_, peer), slots,
                                          outbound_[peer].writer);
    // What a predecessor has sent and nobody has read yet may lie in any room.
    outbound_[peer].free_from.assign(segment_->layout().rooms(), outbound_[peer].writer.tail());
    inbound_[peer].reader = RingReader(&in->indices, slots);
    inbound_[peer].reader.skip_all();
    inbound_[peer].recall = RecallReader(&in->recall, void_bits(*segment_, peer, place_));
  }
}

ShmWire::~ShmWire() {
  flush();
  // What was received and not retired is given up: its memory is not read any more.
  for (Inbound& inbound : inbound_) {
    if (inbound.recall.entered()) inbound.recall.leave();
  }
  Recall all = recall({.everything = true});
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (!recalled(all) && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
  segment_->release(place_);
}

bool ShmWire::by_reference(const Packet& packet) const {
  if (memory_ == nullptr) return false;
  return std::all_of(
      packet.fragments, packet.fragments + packet.header.fragment_count,
      [this](const Fragment& fragment) { return memory_->offset_of(fragment).has_value(); });
}

bool ShmWire::send(const Packet& packet) {
  const Endpoint to = place_of(packet.header.destination);
  if (to >= endpoints_) return true;
  Outbound& outbound = outbound_[to];
  const auto index = outbound.writer.reserve();
  if (!index) return outbound.writer.broken();
  std::byte* slot = segment_->at(segment_->layout().slot(place_, to, *index));
  outbound.recall.fill(*index, packet);
  SlotHeader header = pack(packet);
  if (packet.header.fragment_count != 0) {
    write_fragments(packet, slot + kSlotHeaderBytes);
  } else if (has_room(packet.header)) {
    header.room = outbound.next_room;
    if (!outbound.writer.retired(outbound.free_from[header.room])) return outbound.writer.broken();
    std::memcpy(segment_->at(segment_->layout().room(place_, to, header.room)), packet.payload,
                packet.header.payload_size);
    outbound.free_from[header.room] = outbound.writer.tail() + 1;
    outbound.next_room = header.room + 1 < outbound.free_from.size() ? header.room + 1 : 0;
  } else if (packet.header.payload_size != 0) {
    std::memcpy(slot + kSlotHeaderBytes, packet.payload, packet.header.payload_size);
  }
  std::memcpy(slot, &header, sizeof header);
  outbound.writer.commit();
  if (!std::exchange(outbound.unpublished, true)) sent_to_.push_back(to);
  return true;
}

void ShmWire::write_fragments(const Packet& packet, std::byte* to) const {
  GDAKIT_ASSERT(by_reference(packet));
  SlotFragment fragments[kMaxFragments];
  for (std::uint32_t i = 0; i < packet.header.fragment_count; ++i) {
    fragments[i] = {*memory_->offset_of(packet.fragments[i]), packet.fragments[i].size};
  }
  std::memcpy(to, fragments, packet.header.fragment_count * sizeof(SlotFragment));
}

// False: they name what is not mapped here, or not what the header says.
bool ShmWire::read_fragments(Endpoint peer, const std::byte* from, Packet& packet) const {
  if (memory_ == nullptr) return false;
  SlotFragment fragments[kMaxFragments];
  std::memcpy(fragments, from, packet.header.fragment_count * sizeof(SlotFragment));
  std::uint64_t left = packet.header.payload_size;
  for (std::uint32_t i = 0; i < packet.header.fragment_count; ++i) {
    const SlotFragment& fragment = fragments[i];
    const auto here = memory_->at(numbers_[peer], fragment.offset, fragment.size);
    if (!here || fragment.size == 0 || fragment.size > left) return false;
    packet.fragments[i] = {*here, fragment.size};
    left -= fragment.size;
  }
  return left == 0;
}

// Copies the packet out of its slot; false if no NIC of this version has written that.
bool ShmWire::read_slot(Endpoint peer, std::uint32_t index, Packet& packet) const {
  const std::byte* slot = segment_->at(segment_->layout().slot(peer, place_, index));
  SlotHeader header;
  std::memcpy(&header, slot, sizeof header);
  if (!is_sane(header, segment_->layout())) return false;
  unpack(header, packet);
  packet.header.source = numbers_[peer];
  packet.header.destination = numbers_[place_];
  const std::byte* const payload =
      has_room(packet.header) ? segment_->at(segment_->layout().room(peer, place_, header.room))
                              : slot + kSlotHeaderBytes;
  packet.payload = reinterpret_cast<const std::uint8_t*>(payload);
  return packet.header.fragment_count == 0 || read_fragments(peer, slot + kSlotHeaderBytes, packet);
}

// From now on the peer's ring is looked at.
void ShmWire::hear(Endpoint peer) {
  Inbound& inbound = inbound_[peer];
  if (std::exchange(inbound.calls, true)) return;
  inbound.packets.resize(segment_->layout().options().slots);
  callers_.push_back(peer);
}

void ShmWire::hear_callers() {
  for (std::size_t word = 0; word < heard_.size(); ++word) {
    std::uint64_t news = call_bits_[word].load(std::memory_order_relaxed) & ~heard_[word];
    if (news == 0) continue;
    heard_[word] |= news;
    for (; news != 0; news &= news - 1) {
      const auto peer =
          static_cast<Endpoint>(word * 64) + static_cast<Endpoint>(std::countr_zero(news));
      if (peer < endpoints_) hear(peer);
    }
  }
}

const Packet* ShmWire::receive_from(Endpoint peer) {
  Inbound& inbound = inbound_[peer];
  while (const auto index = inbound.reader.peek()) {
    if (!inbound.recall.entered()) {
      inbound.recall.enter();
      entered_.push_back(peer);
    }
    Packet& packet = inbound.packets[*index];
    if (!read_slot(peer, *index, packet)) {
      inbound.reader.mark_broken();
      return nullptr;
    }
    const NextPacket next = next_packet(inbound.reader, inbound.recall, *index);
    if (next == NextPacket::use) return &packet;
    if (next == NextPacket::wait) return nullptr;
  }
  return nullptr;
}

const Packet* ShmWire::receive() {
  hear_callers();
  for (std::size_t tried = 0; tried < callers_.size(); ++tried) {
    turn_ = turn_ + 1 < callers_.size() ? turn_ + 1 : 0;
    const Packet* const packet = receive_from(callers_[turn_]);
    if (packet == nullptr) continue;
    if (++packets_ % kPacketsOfAQuietTurn == 0) hear_quiet();
    hear_other_processes();
    return packet;
  }
  hear_quiet();
  return nullptr;
}

// One of those that have not called, by turns.
void ShmWire::hear_quiet() {
  quiet_turn_ = quiet_turn_ + 1 < endpoints_ ? quiet_turn_ + 1 : 0;
  if (inbound_[quiet_turn_].reader.peek()) hear(quiet_turn_);
}

void ShmWire::retire(const Packet* packet) {
  inbound_[place_of(packet->header.source)].reader.retire();
}

// The reader finds the bit with the packets, or later by itself.
void ShmWire::publish(Endpoint peer) {
  Outbound& outbound = outbound_[peer];
  tell_other_processes();
  outbound.writer.publish();
  outbound.unpublished = false;
  if (std::exchange(outbound.has_called, true)) return;
  const std::uint64_t bit = std::uint64_t{1} << (place_ % 64);
  caller_bits(*segment_, peer)[place_ / 64].fetch_or(bit, std::memory_order_release);
}

void ShmWire::flush() {
  for (const Endpoint peer : sent_to_) publish(peer);
  sent_to_.clear();
  std::erase_if(entered_, [this](Endpoint peer) {
    Inbound& inbound = inbound_[peer];
    inbound.reader.publish();
    if (inbound.reader.unretired() != 0) return false;
    inbound.recall.leave();
    return true;
  });
}

// A peer that has ended reads nothing, whatever it has left behind in the ring.
bool ShmWire::still_read(const Recall::Wait& wait) {
  Outbound& outbound = outbound_[wait.peer];
  if (!outbound.recall.still_read(wait, outbound.writer)) return false;
  const std::int32_t owner = claim_of(*segment_, wait.peer).owner.load();
  return owner != 0 && outbound.process.runs(owner, steady_ns());
}

Recall ShmWire::recall(const RecallScope& scope) {
  Recall recall;
  for (Endpoint peer = 0; peer < endpoints_; ++peer) {
    Outbound& outbound = outbound_[peer];
    outbound.recall.recall(scope, peer, outbound.writer, recall);
  }
  return recall;
}

bool ShmWire::recalled(Recall& recall) {
  std::erase_if(recall.waits, [this](const Recall::Wait& wait) { return !still_read(wait); });
  return recall.waits.empty();
}

bool ShmWire::unread(Endpoint endpoint) const {
  const Endpoint peer = place_of(endpoint);
  return peer < endpoints_ && !is_broken(peer) && outbound_[peer].writer.unretired() != 0 &&
         segment_->is_held(peer);
}

bool ShmWire::broken(Endpoint peer) const { return is_broken(place_of(peer)); }

bool ShmWire::is_broken(Endpoint peer) const {
  return outbound_[peer].writer.broken() || inbound_[peer].reader.broken();
}

}  // namespace gdakit::softnic
