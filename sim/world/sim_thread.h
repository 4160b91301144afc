// SimThread: a GPU thread of a simulated execution.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "device/views.h"
#include "sim/block.h"
#include "sim/choice/choice.h"
#include "sim/fiber.h"
#include "sim/thread.h"
#include "sim/weak/memory.h"
#include "sim/worker.h"

namespace gdakit::sim {

enum class ThreadState : std::uint8_t {
  ready,
  spinning,   // polls: goes on when there is something new to see
  gathering,  // waits for the other lanes of its warp to come
  blocked,    // in a group operation
  ended,
};

// Where threads meet again and again, and what they then know: sync_warp of one mask, or
// sync_block. A thread may come to the next meeting before all have left the last one, never to the
// one after.
class MeetingPoint {
 public:
  // The clock of the caller's next meeting; `member` is its number among those who meet.
  weak::BarrierClock& next(std::uint32_t member) {
    if (member >= meetings_.size()) meetings_.resize(member + 1);
    const std::uint64_t number = ++meetings_[member];
    weak::BarrierClock& clock = clocks_[number % 2];
    if (current_[number % 2] != number) {
      current_[number % 2] = number;
      clock.clock.assign(clock.clock.size(), 0);
      clock.events.clear();
    }
    return clock;
  }

 private:
  std::array<weak::BarrierClock, 2> clocks_;
  std::array<std::uint64_t, 2> current_{};
  std::vector<std::uint64_t> meetings_;  // of each member
};

// The threads of one block and their meeting points.
struct SimThread;
struct SimBlock {
  struct WarpPoint {
    std::uint32_t warp;
    LaneMask mask;
    MeetingPoint point;
  };

  std::deque<SimThread> threads;
  std::optional<Block> block;
  MeetingPoint all;
  std::deque<WarpPoint> warps;

  MeetingPoint& point_of(std::uint32_t warp, LaneMask mask) {
    for (WarpPoint& one : warps) {
      if (one.warp == warp && one.mask == mask) return one.point;
    }
    return warps.emplace_back(WarpPoint{warp, mask, {}}).point;
  }
};

// A store that a mutation makes take place after the next one.
struct DelayedStore {
  weak::Address to;
  std::uint32_t size;
  std::uint64_t value;
  weak::Access access;

  bool meets(weak::Address at, std::uint32_t bytes) const {
    return at < to + size && to < at + bytes;
  }
  bool covers(weak::Address at, std::uint32_t bytes) const {
    return at >= to && at + bytes <= to + size;
  }
  // What a load there finds, which it covers.
  std::uint64_t at(weak::Address from, std::uint32_t bytes) const {
    return value >> (8 * (from - to)) & ~std::uint64_t{0} >> (64 - 8 * bytes);
  }
};

struct SimSurroundings;

// Where a kernel calls gdakit. As a default argument, here() is the caller's place.
struct CallPlace {
  const char* file = "";
  std::uint32_t line = 0;

  static constexpr CallPlace here(const char* file = __builtin_FILE(),
                                  std::uint32_t line = __builtin_LINE()) {
    return {file, line};
  }
};

struct SimThread : Thread {
  SimSurroundings* around = nullptr;
  const DeviceContext* context = nullptr;
  weak::AgentId agent = 0;
  SimBlock* home = nullptr;
  const ThreadMain* main = nullptr;
  std::optional<Fiber> fiber;

  ThreadState state = ThreadState::ready;
  NextStep next;
  bool yielded = false;
  bool saw_old = false;            // its last turn of spinning read something old
  std::uint64_t seen_version = 0;  // of the memory, when it began to spin
  Site waits_at = Site::user;
  std::optional<DelayedStore> delayed;
  const char* call = nullptr;  // the call of gdakit's that it is in; null: none
  CallPlace call_site;
  CallPlace last_site;  // of its last access, barrier or spin
};

}  // namespace gdakit::sim
