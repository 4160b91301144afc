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
//               even lap of the queue 1 means ready, on an odd lap 0
//   baton mark  the baton lies at this slot, the first that was not ready when its holder looked
//
// A poster toggles its ready bits with one xor, and the old word tells it whether the baton lay at
// its first slot. If so it is the holder; if not, the holder will come past its slots. The holder
// rings up to the first slot that is not ready, puts the mark there with one xor, and the old word
// tells it whether that slot became ready meanwhile: then it goes on. Ready bit and mark of a slot
// share a word, so of the two, poster and holder, exactly one sees the other: no doorbell is lost
// and there is never a second holder. A slot is used again only after its completion, hence after
// its ring.
//
// A mark at a slot is taken by that slot's poster and nobody else. So a poster that read the mark
// at its own first slot is the holder already, before it has written anything. One that posts alone
// expects its next slots behind its last ones and reads their word while it reserves. It then
// *claims*: it clears the mark and toggles its ready bits at once, while its WQEs are still to be
// written. No other poster judges by these bits before the holder puts the baton down, which comes
// last; reports alone may see them. So it needs neither a publication that others could see nor the
// fence that belongs to it, and the atomic is under way while the WQEs are written.
#pragma once

#include "core/base/bits.h"
#include "device/handle_memo.h"
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
    const auto bits = static_cast<std::uint32_t>(value);
    const std::uint32_t ready = odd_lap ? ~bits : bits;
    return static_cast<std::uint32_t>(lowest_bit(~(ready >> bit)));
  }
  GDAKIT_HOST_DEVICE constexpr std::uint32_t left() const { return kSlotsPerReadyWord - bit; }
};

GDAKIT_HOST_DEVICE constexpr ReadyPlace ready_place(std::uint32_t depth, std::uint64_t index) {
  const auto slot = static_cast<std::uint32_t>(index & (depth - 1));
  return {slot / kSlotsPerReadyWord, slot % kSlotsPerReadyWord, (index & depth) != 0};
}

// What the first ready word of a new queue holds: the baton lies at slot 0.
inline constexpr std::uint64_t kInitialReadyWord = std::uint64_t{1} << kSlotsPerReadyWord;

// How many ready words the holder reads at once: their loads overlap, so that thousands of single
// posters, whose slots fill a hundred words, do not wait for a hundred loads in a row. A kernel
// needs two registers for each, and it needs them whether it ever comes here or not.
inline constexpr std::uint32_t kReadyWordsAtOnce = 16;

// How many slots from `index` on, where a word begins, are ready. It reads no further words once it
// has found `most`, so that a report's look at a queue that others post to meanwhile ends. In a
// queue of fewer words than are read at once a word comes twice: the second time, a lap later, at
// most the slots before the one that the holder began at are ready there, so never all.
template <class M>
GDAKIT_DEVICE_CALL std::uint32_t ready_slots_in_words(M m, const std::uint64_t* ready,
                                                      std::uint32_t depth, std::uint32_t index,
                                                      std::uint32_t most) {
  const std::uint32_t words = depth / kSlotsPerReadyWord;
  std::uint32_t found = 0;
  while (found < most) {
    const std::uint32_t word = ready_place(depth, index + found).word;
    m.fence(order::ReadyBeforeRing{});
    std::uint64_t values[kReadyWordsAtOnce];
    GDAKIT_UNROLL
    for (std::uint32_t i = 0; i < kReadyWordsAtOnce; ++i) {
      values[i] = m.load(order::RelaxedGpu{}, &ready[(word + i) & (words - 1)]);
    }
    GDAKIT_UNROLL
    for (std::uint32_t i = 0; i < kReadyWordsAtOnce; ++i) {
      const std::uint32_t run = ready_place(depth, index + found).ready_run(values[i]);
      found += run;
      if (run < kSlotsPerReadyWord) return found;
    }
  }
  return most;
}

// The first slot at or after `from` that is not ready; `value` is the word of `from` as last seen.
// For the holder of the baton that is at most `from` + depth. A report, beside which others post,
// may see a few words more.
template <class M>
GDAKIT_DEVICE std::uint64_t ready_end(M& m, const QueueView& queue, std::uint64_t from,
                                      std::uint64_t value) {
  const ReadyPlace first = ready_place(queue.depth, from);
  const std::uint32_t run = first.ready_run(value);
  if (run < first.left()) return from + run;
  const auto next = static_cast<std::uint32_t>(from + run);
  return from + run + ready_slots_in_words(m, queue.ready, queue.depth, next, queue.depth - run);
}

inline constexpr std::uint64_t kNoSlots = ~std::uint64_t{0};

// Publications say how their queues are shared and whether lanes in the same call post together.
// They serve the handle whose memo they are given; each post calls, in this order:
//
//   reserve   slots. `room(end)` waits until all below `end` are free; false if the queue is broken
//   claim     the baton, before the WQEs are written, if reserve() saw that it lies at their slots
//   publish   the slots, when the WQEs are written. It believes the memo that claim() was called.
//             False if the queue turned out to be broken, or to be used by somebody else where
//             nobody else may
//
// A post that will ring also calls look() as early as it can: loads for publish() to judge by.

struct ExclusivePublication {
  static constexpr Sharing sharing = Sharing::exclusive;
  static constexpr bool joins_lanes = false;

  // `slots` slots, all of them free, or kNoSlots.
  template <class M, class Room>
  GDAKIT_DEVICE static std::uint64_t reserve(M&, QueueMemo& memo, std::uint32_t slots,
                                             Room&& room) {
    return room(memo.next + slots) ? memo.next : kNoSlots;
  }

  template <class M>
  GDAKIT_DEVICE static void look(M& m, QueueMemo& memo) {
    memo.reserved = m.load_weak(&memo.view.state->reserved);  // nobody else may write it
    memo.error = m.load(order::RelaxedGpu{}, &memo.view.state->error);
  }

  template <class M>
  GDAKIT_DEVICE static void claim(M&, const QueueMemo&, std::uint64_t, std::uint32_t) {}

  template <class M>
  GDAKIT_DEVICE static bool publish(M& m, QueueMemo& memo, std::uint64_t base, std::uint32_t slots,
                                    bool more_to_come) {
    QueueState* const state = memo.view.state;
    const std::uint64_t end = base + slots;
    // A batch is no time to look: it is refused by what the handle knows of an error.
    if (memo.error != 0 || (!more_to_come && memo.reserved != base)) return false;
    m.store(order::RelaxedGpu{}, &state->reserved, end);
    memo.next = end;
    if (!more_to_come) ring(m, memo.view, end);
    return true;
  }
};

class SharedPublication {
 public:
  static constexpr Sharing sharing = Sharing::shared;
  static constexpr bool joins_lanes = true;

  template <class M, class Room>
  GDAKIT_DEVICE static std::uint64_t reserve(M& m, QueueMemo& memo, std::uint32_t slots,
                                             Room&& room) {
    const QueueView& queue = memo.view;
    memo.ready = 0;
    // Before the slots are known to be free, a mark there may be that of the lap before. This load
    // comes first, and without a branch: a branch behind the other load would wait for it.
    if (memo.unrivalled & (memo.next + slots <= memo.completed + queue.depth)) {
      const std::uint32_t word = ready_place(queue.depth, memo.next).word;
      memo.ready = m.load(order::RelaxedGpu{}, &queue.ready[word]);
    }
    // These loads overlap with the atomic behind them.
    const std::uint64_t error = m.load(order::RelaxedGpu{}, &queue.state->error);
    const std::uint64_t base =
        m.fetch_add(order::RelaxedGpu{}, &queue.state->reserved, std::uint64_t{slots});
    memo.unrivalled = base == memo.next;
    if (!memo.unrivalled) memo.ready = 0;
    return error == 0 && room(base + slots) ? base : kNoSlots;
  }

  template <class M>
  GDAKIT_DEVICE static void look(M&, QueueMemo&) {}

  // Takes the baton up, if it was seen to lie at `base`.
  template <class M>
  GDAKIT_DEVICE static void claim(M& m, const QueueMemo& memo, std::uint64_t base,
                                  std::uint32_t slots) {
    const QueueView& queue = memo.view;
    const ReadyPlace first = ready_place(queue.depth, base);
    if ((memo.ready & first.mark()) == 0) return;
    m.fence(order::ReadyBeforeRing{});
    m.fetch_xor(order::RelaxedGpu{}, &queue.ready[first.word],
                ready_bits(first, base, base + slots) | first.mark());
  }

  // Makes [base, base + slots) ready, as far as claim() has not. Rings for them, or leaves that to
  // the holder of the baton, or, with `more_to_come`, to a later post.
  template <class M>
  GDAKIT_DEVICE static bool publish(M& m, QueueMemo& memo, std::uint64_t base, std::uint32_t slots,
                                    bool more_to_come) {
    const QueueView& queue = memo.view;
    const std::uint64_t end = base + slots;
    memo.next = end;
    publish_tail(m, queue, base, end);
    const ReadyPlace first = ready_place(queue.depth, base);
    std::uint64_t ready = end;
    if ((memo.ready & first.mark()) == 0) {
      const std::uint64_t bits = ready_bits(first, base, end);
      const std::uint64_t old = m.fetch_xor(order::PublishReady{}, &queue.ready[first.word], bits);
      if ((old & first.mark()) == 0) return true;
      ready = take_up(m, queue, base, old ^ bits);
    }
    carry_baton(m, queue, ready, end, more_to_come);
    return true;
  }

 private:
  // The ready bits of [index, end) in index's word.
  GDAKIT_DEVICE static std::uint64_t ready_bits(const ReadyPlace& place, std::uint64_t index,
                                                std::uint64_t end) {
    const std::uint64_t count = end - index < place.left() ? end - index : place.left();
    return low_bits(static_cast<int>(count)) << place.bit;
  }

  // All words but the first one. Where the post has not claimed the baton its first slot must
  // become ready last, since its poster may be asked to carry the baton over all of them.
  // PublishReady of the first slot releases these, too: a holder comes to them by way of the first
  // one.
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

  // The calling thread holds the baton, and all below `end` is ready.
  template <class M>
  GDAKIT_DEVICE static void carry_baton(M& m, const QueueView& queue, std::uint64_t end,
                                        std::uint64_t own_end, bool more_to_come) {
    for (;;) {
      // What lies beyond the caller's own slots belongs to posters who left the ring to the holder.
      if (!more_to_come || end != own_end) ring(m, queue, end);
      const std::uint64_t value = put_down(m, queue, end);
      if (!ready_place(queue.depth, end).is_ready(value)) return;
      end = take_up(m, queue, end, value);
      more_to_come = false;
    }
  }

  // Takes the baton up at `held`, whose word is `value`, and returns where what is ready ends. The
  // mark is cleared before the ring, whose fence orders that: once these slots have completed they
  // are posted to again, and their next posters must not find the mark of this lap. The fence here
  // comes first, since it would wait until the mark is cleared.
  template <class M>
  GDAKIT_DEVICE static std::uint64_t take_up(M& m, const QueueView& queue, std::uint64_t held,
                                             std::uint64_t value) {
    const std::uint64_t end = ready_end(m, queue, held, value);
    m.fence(order::ReadyBeforeRing{});
    const ReadyPlace place = ready_place(queue.depth, held);
    m.fetch_xor(order::RelaxedGpu{}, &queue.ready[place.word], place.mark());
    return end;
  }

  // Sets the mark. Returns the word as it was.
  template <class M>
  GDAKIT_DEVICE static std::uint64_t put_down(M& m, const QueueView& queue, std::uint64_t end) {
    const ReadyPlace place = ready_place(queue.depth, end);
    return m.fetch_xor(order::PassBaton{}, &queue.ready[place.word], place.mark());
  }
};

// The same for a thread that posts by itself: it looks for no lanes to post with.
class LonePublication : public SharedPublication {
 public:
  static constexpr bool joins_lanes = false;
};

// The same for handles that are made for one call each and need remember nothing for the next one:
// what takes more than a few instructions is a call, too (look_closer in poster.h).
class CalledPublication : public SharedPublication {};

}  // namespace gdakit
