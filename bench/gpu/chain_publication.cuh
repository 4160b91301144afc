// The reference protocol's publication, to compare with: posters take turns in a chain of
// compare-and-swaps, and who is last of a batch rings under a lock.
//
//   reserve   atomic add
//   publish   fence; wait until `published` reaches the own first slot, and move it past the own
//             last one
//   ring      if nobody has reserved behind, or a batch is full: lock; raise the producer index;
//             if it rose: fence, record, fence, doorbell; unlock
//
// Source: NVSHMEM 3.5.1, ibgda_device.cuh, submit_requests and post_send (SharedPublication is what
// gdakit does instead). Its three words take the place of the ready words.
#pragma once

#include "device/publication.h"

namespace gdakit::bench {

struct ChainPublication {
  static constexpr Sharing sharing = Sharing::shared;
  static constexpr bool joins_lanes = true;
  static constexpr std::uint64_t kBatch = 32;

  // Places among QueueView::ready.
  enum Word : std::uint32_t { published, lock, producer };

  using FenceGpu = order::AcqRel<Scope::gpu>;
  using FenceNic = order::AcqRel<Scope::nic>;

  template <class M, class Room>
  GDAKIT_DEVICE static std::uint64_t reserve(M& m, QueueMemo& memo, std::uint32_t slots,
                                             Room&& room) {
    const std::uint64_t base =
        m.fetch_add(order::RelaxedGpu{}, &memo.view.state->reserved, std::uint64_t{slots});
    return room(base + slots) ? base : kNoSlots;
  }

  template <class M>
  GDAKIT_DEVICE static void look(M&, QueueMemo&) {}

  template <class M>
  GDAKIT_DEVICE static void claim(M&, const QueueMemo&, std::uint64_t, std::uint32_t) {}

  template <class M>
  GDAKIT_DEVICE static bool publish(M& m, QueueMemo& memo, std::uint64_t base, std::uint32_t slots,
                                    bool) {
    const QueueView& queue = memo.view;
    const std::uint64_t end = base + slots;
    m.fence(FenceNic{});
    while (m.compare_exchange(order::RelaxedGpu{}, &queue.ready[published], base, end) != base) {
    }
    m.fence(FenceGpu{});
    const bool last = m.load(order::RelaxedGpu{}, &queue.state->reserved) == end;
    if (last || base / kBatch != end / kBatch || slots >= kBatch) ring_in_turn(m, queue, end);
    return true;
  }

  template <class M>
  GDAKIT_DEVICE static void ring_in_turn(M& m, const QueueView& queue, std::uint64_t end) {
    while (m.compare_exchange(order::RelaxedGpu{}, &queue.ready[lock], std::uint64_t{0},
                              std::uint64_t{1}) != 0) {
    }
    m.fence(FenceGpu{});
    if (m.fetch_max(order::RelaxedGpu{}, &queue.ready[producer], end) < end) {
      ring(m, queue, end);
    }
    m.fence(FenceGpu{});
    m.store(order::RelaxedGpu{}, &queue.ready[lock], std::uint64_t{0});
  }
};

}  // namespace gdakit::bench
