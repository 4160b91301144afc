// How a sender takes back packets that name its memory, from a ring whose reader may be using them.
//
//   reader:  enter (epoch odd), read void_below, use packets ..., leave (epoch even)
//   sender:  void_below = tail, read epoch, wait until it has changed or all is retired
//
// The reader makes `epoch` odd, then reads `void_below`; a sender that recalls writes `void_below`,
// then reads `epoch`. Both with a full fence between: one of the two sees the other, so that a
// voided packet's memory is never read after a recall has ended.
#pragma once

#include <atomic>
#include <cstdint>

#include "backends/softnic/spsc_ring.h"

namespace gdakit::softnic {

// In memory that both sides reach, beside the ring's indices.
struct RecallWords {
  alignas(64) std::atomic<std::uint64_t> epoch{0};       // odd while the reader may use packets
  alignas(64) std::atomic<std::uint64_t> void_below{0};  // packets before this index are recalled
};
static_assert(sizeof(RecallWords) == 128);

class RecallReader {
 public:
  RecallReader() = default;
  // An earlier reader that was killed may have left the epoch odd.
  explicit RecallReader(RecallWords* words) : words_(words) {
    if (words_->epoch.load(std::memory_order_relaxed) % 2 == 1) leave();
  }

  bool entered() const { return entered_; }
  void enter() {
    if (entered_) return;
    advance_epoch(std::memory_order_seq_cst);
    void_below_ = words_->void_below.load(std::memory_order_seq_cst);
    entered_ = true;
  }
  // No packet of this ring is used any more.
  void leave() {
    advance_epoch(std::memory_order_release);
    entered_ = false;
  }
  // The packet at `index` is recalled, if it names memory. Only between enter() and leave().
  bool voids(std::uint64_t index) const { return index < void_below_; }

 private:
  void advance_epoch(std::memory_order order) {
    words_->epoch.store(words_->epoch.load(std::memory_order_relaxed) + 1, order);
  }

  RecallWords* words_ = nullptr;
  bool entered_ = false;
  std::uint64_t void_below_ = 0;
};

// What a receiver does with the packet that its reader is at.
enum class NextPacket {
  use,   // the reader has gone past it
  skip,  // recalled, and retired
  wait,  // recalled; retiring goes in order, so the packets before it come first
};
inline NextPacket next_packet(RingReader& reader, const RecallReader& recall, bool names_memory) {
  const bool voided = names_memory && recall.voids(reader.next());
  if (voided && reader.unretired() != 0) return NextPacket::wait;
  reader.advance();
  if (!voided) return NextPacket::use;
  reader.retire();
  return NextPacket::skip;
}

class RecallSender {
 public:
  RecallSender() = default;
  explicit RecallSender(RecallWords* words) : words_(words) {}

  // Voids all packets before `tail`, which must be published: those of earlier calls, too.
  void begin(std::uint64_t tail) {
    below_ = tail;
    words_->void_below.store(tail, std::memory_order_seq_cst);
    epoch_ = words_->epoch.load(std::memory_order_seq_cst);
    waiting_ = epoch_ % 2 == 1;
  }
  // The reader may still use what begin() has voided.
  bool still_read(const RingIndices& indices) {
    if (!waiting_) return false;
    const std::uint64_t epoch = words_->epoch.load(std::memory_order_acquire);
    const std::uint64_t head = indices.head.load(std::memory_order_acquire);
    waiting_ = epoch == epoch_ && head < below_;
    return waiting_;
  }

 private:
  RecallWords* words_ = nullptr;
  bool waiting_ = false;
  std::uint64_t epoch_ = 0;
  std::uint64_t below_ = 0;
};

}  // namespace gdakit::softnic
