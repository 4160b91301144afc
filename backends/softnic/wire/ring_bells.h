// Which of its inbound rings a receiver has to look at, so that a poll costs as much as there is
// traffic, and not as many rings as there are senders.
//
//   rung    a bit for each sender whose ring the receiver looks at, or is to look at
//   news    a bit for each word of `rung` in which a sender has set one
//
// A sender publishes packets, then looks at its bit, and sets it if the receiver has cleared it.
// The receiver clears the bit of a ring that has been empty for a while, then looks at the ring
// once more. Publication, the looks and the bits are in one order (seq_cst): one of the two sees
// the other. So while packets flow a sender writes nothing here.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/base/assert.h"
#include "core/base/bits.h"

namespace gdakit::softnic {

class RingBells {
 public:
  static constexpr std::uint32_t kMostSenders = 64 * 64;

  explicit RingBells(std::uint32_t senders) : rung_(divide_up(senders, 64)) {
    GDAKIT_ASSERT(senders <= kMostSenders);
  }

  // By the sender, from any thread, when its packets are published.
  void ring(std::uint32_t sender) {
    std::atomic<std::uint64_t>& word = rung_[sender / 64];
    if ((word.load() & bit(sender)) != 0 || (word.fetch_or(bit(sender)) & bit(sender)) != 0) return;
    news_.fetch_or(bit(sender / 64));
  }

  // How many rings the receiver looks at.
  std::uint32_t count() const {
    int count = 0;
    for (const std::atomic<std::uint64_t>& word : rung_) count += count_bits(word.load());
    return static_cast<std::uint32_t>(count);
  }

  // All others by the receiver.

  // Calls `use` with senders that have rung since the last call, and with some that rang before.
  template <class Use>
  void take(const Use& use) {
    if (news_.load(std::memory_order_relaxed) == 0) return;
    for_bits(news_.exchange(0), [&](std::uint32_t word) { take_word(word, use); });
  }
  // ... with all whose bits are set.
  template <class Use>
  void take_all(const Use& use) {
    for (std::uint32_t word = 0; word < rung_.size(); ++word) take_word(word, use);
  }

  // The sender is to ring before the receiver looks at its ring again, except once.
  void clear(std::uint32_t sender) { rung_[sender / 64].fetch_and(~bit(sender)); }
  // The receiver goes on looking.
  void keep(std::uint32_t sender) { rung_[sender / 64].fetch_or(bit(sender)); }

 private:
  static constexpr std::uint64_t bit(std::uint32_t number) {
    return std::uint64_t{1} << (number % 64);
  }
  template <class Use>
  static void for_bits(std::uint64_t bits, const Use& use) {
    for (; bits != 0; bits &= bits - 1) use(static_cast<std::uint32_t>(std::countr_zero(bits)));
  }
  template <class Use>
  void take_word(std::uint32_t word, const Use& use) {
    for_bits(rung_[word].load(), [&](std::uint32_t at) { use(64 * word + at); });
  }

  alignas(64) std::atomic<std::uint64_t> news_{0};
  std::vector<std::atomic<std::uint64_t>> rung_;
};

}  // namespace gdakit::softnic
