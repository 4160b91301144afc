// How written WQEs become known to the NIC when many threads post to one queue.
//
// Exclusive: one thread at a time posts, so it rings for itself and no atomic is needed.
//
// Shared: every poster publishes its slots, and whoever holds the queue's one *baton* rings for all
// contiguous ready slots. Each 64-bit word of QueueView::ready serves 32 slots:
//
//    63            32 31             0
//   +----------------+----------------+
//   |  baton marks   |   ready bits   |
//   +----------------+----------------+
//
//   ready bit   toggles each time its slot becomes ready, so that nothing is ever cleared: on an
//   even
//               lap of the queue 1 means ready, on an odd lap 0
//   baton mark  the baton lies at this slot, the first that was not ready when its holder looked
//
// A poster toggles its ready bits with one xor, and the old word tells it whether the baton lay at
// its first slot. If so it is the holder; if not, the holder will come past its slots. The holder
// rings up to the first slot that is not ready, puts the mark there with one xor, and the old word
// tells it whether that slot became ready meanwhile: then it goes on. Ready bit and mark of a slot
// share a word, so of the two, poster and holder, exactly one sees the other: no doorbell is lost
// and there is never a second holder. A slot is used again only after its completion, hence after
// its ring.
#pragma once

#include "core/base/bits.h"
#include "device/ring.h"

namespace gdakit {

inline constexpr std::uint32_t kSlotsPerReadyWord = 32;

// One slot's place among the ready words.
struct ReadyPlace {
  std::uint32_t word;
  std::uint32_t bit;
  bool odd_lap;

  GDAKIT_HOST_DEVICE constexpr std::uint64_t mark() const {
    return std::uint64_t{1} << (kSlotsPerReadyWord + bit);
  }
  // Whether the slot is ready, this lap, in a word of this value.
  GDAKIT_HOST_DEVICE constexpr bool is_ready(std::uint64_t value) const {
    return (((value >> bit) & 1) != 0) != odd_lap;
  }
  // How many slots from this one on are ready, up to the end of the word.
  GDAKIT_HOST_DEVICE constexpr std::uint32_t ready_run(std::uint64_t value) const {
    const std::uint64_t ready = odd_lap ? ~value : value;
    const std::uint64_t gaps = ~(ready >> bit) & low_bits(static_cast<int>(left()));
    return gaps == 0 ? left() : static_cast<std::uint32_t>(lowest_bit(gaps));
  }
  GDAKIT_HOST_DEVICE constexpr std::uint32_t left() const { return kSlotsPerReadyWord - bit; }
};

GDAKIT_HOST_DEVICE constexpr ReadyPlace ready_place(std::uint32_t depth, std::uint64_t index) {
  const auto slot = static_cast<std::uint32_t>(index & (depth - 1));
  return {slot / kSlotsPerReadyWord, slot % kSlotsPerReadyWord, (index & depth) != 0};
}

// What the first ready word of a new queue holds: the baton lies at slot 0.
inline constexpr std::uint64_t kInitialReadyWord = std::uint64_t{1} << kSlotsPerReadyWord;

// The first slot at or after `from` that is not ready; `value` is the word of `from` as last seen.
template <class M>
GDAKIT_DEVICE std::uint64_t ready_end(M& m, const QueueView& queue, std::uint64_t from,
                                      std::uint64_t value) {
  for (std::uint64_t index = from;;) {
    const ReadyPlace place = ready_place(queue.depth, index);
    const std::uint32_t run = place.ready_run(value);
    index += run;
    if (run < place.left() || index - from >= queue.depth) return index;
    value = m.load(order::ReadyBeforeRing{}, &queue.ready[ready_place(queue.depth, index).word]);
  }
}

struct ExclusivePublication {
  static constexpr Sharing sharing = Sharing::exclusive;

  template <class M>
  GDAKIT_DEVICE static std::uint64_t reserve(M& m, const QueueView& queue, std::uint32_t slots) {
    // Nobody else writes it; reports of other threads read it.
    const std::uint64_t base = m.load_weak(&queue.state->reserved);
    m.store(order::RelaxedGpu{}, &queue.state->reserved, base + slots);
    return base;
  }

  template <class M>
  GDAKIT_DEVICE static void publish(M& m, const QueueView& queue, std::uint64_t base,
                                    std::uint32_t slots, bool more_to_come) {
    if (!more_to_come) ring(m, queue, base + slots);
  }
};

class SharedPublication {
 public:
  static constexpr Sharing sharing = Sharing::shared;

  template <class M>
  GDAKIT_DEVICE static std::uint64_t reserve(M& m, const QueueView& queue, std::uint32_t slots) {
    return m.fetch_add(order::RelaxedGpu{}, &queue.state->reserved, std::uint64_t{slots});
  }

  // Makes [base, base + slots) ready. Rings for them, or leaves that to the holder of the baton,
  // or, with `more_to_come`, to a later post.
  template <class M>
  GDAKIT_DEVICE static void publish(M& m, const QueueView& queue, std::uint64_t base,
                                    std::uint32_t slots, bool more_to_come) {
    const std::uint64_t end = base + slots;
    publish_tail(m, queue, base, end);
    const ReadyPlace first = ready_place(queue.depth, base);
    const std::uint64_t bits = ready_bits(first, base, end);
    const std::uint64_t old = m.fetch_xor(order::PublishReady{}, &queue.ready[first.word], bits);
    if ((old & first.mark()) != 0) carry_baton(m, queue, base, old ^ bits, end, more_to_come);
  }

 private:
  // The ready bits of [index, end) in index's word.
  GDAKIT_DEVICE static std::uint64_t ready_bits(const ReadyPlace& place, std::uint64_t index,
                                                std::uint64_t end) {
    const std::uint64_t count = end - index < place.left() ? end - index : place.left();
    return low_bits(static_cast<int>(count)) << place.bit;
  }

  // All words but the first one: the first slot must become ready last, since its poster may be
  // asked to carry the baton over all of them. PublishReady of the first slot releases these, too:
  // a holder comes to them by way of the first one.
  template <class M>
  GDAKIT_DEVICE static void publish_tail(M& m, const QueueView& queue, std::uint64_t base,
                                         std::uint64_t end) {
    std::uint64_t index = base + ready_place(queue.depth, base).left();
    while (index < end) {
      const ReadyPlace place = ready_place(queue.depth, index);
      m.fetch_xor(order::RelaxedGpu{}, &queue.ready[place.word], ready_bits(place, index, end));
      index += place.left();
    }
  }

  // The calling thread holds the baton at `held`, whose word is `value`.
  template <class M>
  GDAKIT_DEVICE static void carry_baton(M& m, const QueueView& queue, std::uint64_t held,
                                        std::uint64_t value, std::uint64_t own_end,
                                        bool more_to_come) {
    for (;;) {
      const std::uint64_t end = ready_end(m, queue, held, value);
      take_up(m, queue, held);
      // What lies beyond the caller's own slots belongs to posters who left the ring to the holder.
      if (!more_to_come || end != own_end) ring(m, queue, end);
      value = put_down(m, queue, end);
      if (!ready_place(queue.depth, end).is_ready(value)) return;
      held = end;
      more_to_come = false;
    }
  }

  // Clears the mark. This comes before the ring, whose fence orders it: once these slots have
  // completed they are posted to again, and their next posters must not find the mark of this lap.
  template <class M>
  GDAKIT_DEVICE static void take_up(M& m, const QueueView& queue, std::uint64_t held) {
    const ReadyPlace place = ready_place(queue.depth, held);
    m.fetch_xor(order::RelaxedGpu{}, &queue.ready[place.word], place.mark());
  }

  // Sets the mark. Returns the word as it was.
  template <class M>
  GDAKIT_DEVICE static std::uint64_t put_down(M& m, const QueueView& queue, std::uint64_t end) {
    const ReadyPlace place = ready_place(queue.depth, end);
    return m.fetch_xor(order::PassBaton{}, &queue.ready[place.word], place.mark());
  }
};

}  // namespace gdakit
