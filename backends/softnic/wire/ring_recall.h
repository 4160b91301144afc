// How a sender takes back packets that name its memory, from a ring whose reader may be using them.
//
//   reader:  enter (epoch odd), is the packet's slot void? use packets ..., leave (epoch even)
//   sender:  make slots void, read epoch, wait until it has changed or all of them are retired
//
// The reader makes `epoch` odd, then looks at the slot's bit; a sender that recalls sets bits, then
// reads `epoch`. All in one order (seq_cst): one of the two sees the other, so that the memory of a
// void packet is never read after a recall has ended. A bit is cleared before its slot is filled
// again.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/softnic/wire/spsc_ring.h"
#include "backends/softnic/wire/wire.h"

namespace gdakit::softnic {

// In memory that both sides reach, beside the ring's indices; behind it a bit for each slot.
struct RecallWords {
  alignas(64) std::atomic<std::uint64_t> epoch{0};  // odd while the reader may use packets
};
static_assert(sizeof(RecallWords) == 64);

using VoidBits = std::atomic<std::uint64_t>;  // of 64 slots
constexpr std::size_t void_words(std::uint32_t slots) { return divide_up(slots, 64); }

class RecallReader {
 public:
  RecallReader() = default;
  // An earlier reader that was killed may have left the epoch odd.
  RecallReader(RecallWords* words, const VoidBits* bits) : words_(words), bits_(bits) {
    if (words_->epoch.load(std::memory_order_relaxed) % 2 == 1) leave();
  }

  bool entered() const { return entered_; }
  void enter() {
    if (entered_) return;
    advance_epoch(std::memory_order_seq_cst);
    entered_ = true;
  }
  // No packet of this ring is used any more.
  void leave() {
    advance_epoch(std::memory_order_release);
    entered_ = false;
  }
  // The packet in the slot is recalled. Only between enter() and leave().
  bool voids(std::uint32_t slot) const {
    return (bits_[slot / 64].load(std::memory_order_seq_cst) >> (slot % 64) & 1) != 0;
  }

 private:
  void advance_epoch(std::memory_order order) {
    words_->epoch.store(words_->epoch.load(std::memory_order_relaxed) + 1, order);
  }

  RecallWords* words_ = nullptr;
  const VoidBits* bits_ = nullptr;
  bool entered_ = false;
};

// What a receiver does with the packet that its reader is at.
enum class NextPacket {
  use,   // the reader has gone past it
  skip,  // recalled, and retired
  wait,  // recalled; retiring goes in order, so the packets before it come first
};
inline NextPacket next_packet(RingReader& reader, const RecallReader& recall, std::uint32_t slot) {
  const bool voided = recall.voids(slot);
  if (voided && reader.unretired() != 0) return NextPacket::wait;
  reader.advance();
  if (!voided) return NextPacket::use;
  reader.retire();
  return NextPacket::skip;
}

class RecallSender {
 public:
  RecallSender() = default;
  // What an earlier sender has left in the ring is not this one's: all of it is void.
  RecallSender(RecallWords* words, VoidBits* bits, std::uint32_t slots, RingWriter& ring)
      : words_(words), bits_(bits), named_(slots) {
    // Bits that it has left behind in slots that are free go when these are filled.
    for (Named& named : named_) named.voided = true;
    for (std::uint64_t index = ring.head(); index != ring.tail(); ++index) {
      void_slot(static_cast<std::uint32_t>(index & (slots - 1)));
    }
  }

  // The packet goes into this slot.
  void fill(std::uint32_t slot, const Packet& packet) {
    Named& named = named_[slot];
    if (named.voided) set(slot, false);
    named.voided = false;
    named.key_count = packet.header.fragment_count;
    if (named.key_count != 0) name(packet, named);
  }

  // Voids what is unretired and in the scope.
  void recall(const RecallScope& scope, Endpoint peer, RingWriter& ring, Recall& recall) {
    Recall::Wait wait{.peer = peer};
    const auto slots = static_cast<std::uint64_t>(named_.size());
    for (std::uint64_t index = ring.head(); index != ring.tail(); ++index) {
      const auto slot = static_cast<std::uint32_t>(index & (slots - 1));
      const Named& named = named_[slot];
      if (!covers(scope, named)) continue;
      if (named.is_request && !named.voided) recall.taken.push_back(named.packet);
      void_slot(slot);
      wait.below = index + 1;
    }
    if (wait.below == 0) return;
    wait.epoch = words_->epoch.load(std::memory_order_seq_cst);
    if (wait.epoch % 2 == 1) recall.waits.push_back(wait);
  }
  // The reader may still use packets that were recalled.
  bool still_read(const Recall::Wait& wait, RingWriter& ring) const {
    return words_->epoch.load(std::memory_order_acquire) == wait.epoch && !ring.retired(wait.below);
  }

 private:
  // The packet of a slot, as far as it matters here.
  struct Named {
    std::array<MemoryKey, kMaxFragments> keys = {};
    std::uint8_t key_count = 0;  // 0: it names no memory
    bool voided = false;
    bool is_request = false;
    Recall::Taken packet;
  };

  static void name(const Packet& packet, Named& named) {
    named.is_request = !is_response(packet.header.opcode);
    named.packet = {packet.sender, packet.header.psn};
    for (std::uint32_t i = 0; i < named.key_count; ++i) named.keys[i] = packet.fragments[i].key;
  }
  static bool covers(const RecallScope& scope, const Named& named) {
    if (named.key_count == 0) return false;
    const bool is_of_requester = named.is_request && scope.requester == named.packet.sender;
    if (scope.everything || is_of_requester) return true;
    const auto keys_end = named.keys.begin() + named.key_count;
    return scope.key && std::find(named.keys.begin(), keys_end, *scope.key) != keys_end;
  }
  void void_slot(std::uint32_t slot) {
    named_[slot].voided = true;
    set(slot, true);
  }
  void set(std::uint32_t slot, bool voided) {
    VoidBits& word = bits_[slot / 64];
    const std::uint64_t bit = std::uint64_t{1} << (slot % 64);
    const std::uint64_t others = word.load(std::memory_order_relaxed) & ~bit;
    word.store(others | (voided ? bit : 0), std::memory_order_seq_cst);
  }

  RecallWords* words_ = nullptr;
  VoidBits* bits_ = nullptr;
  std::vector<Named> named_;  // by slot
};

}  // namespace gdakit::softnic
