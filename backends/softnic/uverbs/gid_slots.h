// Where the port's addresses lie in its table of GIDs. As they begin they lie one behind the other;
// a table that is renumbered, as by a network interface that went down and came up, has those that
// came again elsewhere:
//
//   as it begins      0 fe80 v1 | 1 fe80 v2 | 2 IPv4 v1 | 3 IPv4 v2
//   renumbered        0 fe80 v1 | 1 fe80 v2 | 2         | 3         | 4 IPv4 v1 | 5 IPv4 v2
//
// Calls may come from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "backends/softnic/uverbs/spec.h"

namespace gdakit::softnic::uverbs {

class GidSlots {
 public:
  explicit GidSlots(const Identity& identity)
      : count_(identity.gids()),
        stay_((count_ + 1) / 2),
        moves_at_(identity.failures().gids_move) {}

  // The address that lies there, as Identity::gid() has it; nothing in an empty slot.
  std::optional<int> at(std::uint32_t slot) const {
    const auto stay = static_cast<std::uint32_t>(stay_), count = static_cast<std::uint32_t>(count_);
    if (slot < stay || (!moved_ && slot < count)) return static_cast<int>(slot);
    const std::uint32_t gap = count - stay;
    if (!moved_ || slot < count || slot >= count + gap) return std::nullopt;
    return static_cast<int>(slot - gap);
  }
  // That of an address.
  std::uint32_t slot_of(int index) const {
    const bool moves = moved_ && index >= stay_;
    return static_cast<std::uint32_t>(moves ? index + count_ - stay_ : index);
  }
  int count() const { return count_; }

  // Back again, if it has been already.
  void renumber() { moved_ = !moved_; }
  // A client has read one, or all by one call: it may be the read behind which the table is to be
  // renumbered.
  void was_read() {
    if (moves_at_ && ++reads_ == *moves_at_) renumber();
  }

 private:
  const int count_, stay_;
  const std::optional<std::uint64_t> moves_at_;
  std::atomic<bool> moved_{false};
  std::atomic<std::uint64_t> reads_{0};
};

}  // namespace gdakit::softnic::uverbs
