// Warp: the operations that lanes of one warp do together. Bookkeeping only: it touches no memory
// of the program and leaves the choice of who runs to the Scheduler.
//
// Several operations may be open at once, one per mask, because a warp may have diverged:
//
//   open_:   {mask 0x0000ffff, shuffle, arrived 0x00000fff}   {mask 0xffff0000, sync_warp, arrived
//   ...} slots_:  lane 0 {in, source, out} ... lane 31 {in, source, out}
//
// The lane that completes an operation computes every lane's result into that lane's own slot and
// wakes the others. A lane takes its result before it can come to another operation, and none that
// names it completes without it; so a lane that is woken late finds its result untouched, however
// soon the same mask is used again.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/thread.h"

namespace gdakit::sim {

// Where a call stands in the source. Two calls on one line are one site.
struct CallSite {
  const char* file;
  std::uint32_t line;

  bool operator==(const CallSite& other) const { return file == other.file && line == other.line; }
};

class Warp {
 public:
  // `lanes`: the warp's threads in order of lane; they outlive the warp. The last warp of a block
  // may have fewer than 32.
  Warp(Scheduler& scheduler, std::vector<Thread*> lanes);

  LaneMask lanes() const { return lanes_; }            // that exist
  LaneMask live() const { return lanes_ & ~exited_; }  // that have not ended

  // Each returns when every lane of `mask` has called it. Lanes that do not exist are ignored in a
  // mask, as CUDA does; a lane that has ended must not be named.
  std::uint64_t shuffle(Thread& self, LaneMask mask, std::uint64_t value, std::uint32_t source);
  LaneMask ballot(Thread& self, LaneMask mask, bool predicate);
  LaneMask match_any(Thread& self, LaneMask mask, std::uint64_t value);
  void sync(Thread& self, LaneMask mask);

  // The lanes that come to `site` while the first one there waits for one turn.
  LaneMask active_mask(Thread& self, CallSite site);

  // The thread has ended.
  void exit(Thread& self);

  // One line for each set of lanes that wait together, and one for those that have ended.
  std::string describe() const;

 private:
  struct Slot {
    std::uint64_t in = 0;
    std::uint32_t source = 0;
    std::uint64_t out = 0;
  };
  struct Open {
    LaneMask mask;
    Operation operation;
    LaneMask arrived;
  };
  struct Gathering {
    CallSite site;
    LaneMask arrived;
  };

  std::uint64_t collect(Thread& self, Operation operation, LaneMask mask, std::uint64_t value,
                        std::uint32_t source);
  void check_mask(const Thread& self, Operation operation, LaneMask mask);
  std::uint32_t find_or_open(const Thread& self, Operation operation, LaneMask mask);
  void compute(Operation operation, LaneMask mask);
  void compute_matches(LaneMask mask);
  void wait(Thread& self, Operation operation, LaneMask mask);
  void wake(LaneMask lanes);
  Gathering* find_gathering(CallSite site);
  [[noreturn]] void fail(const Thread& self, Operation operation, LaneMask mask,
                         const std::string& what);

  Scheduler& scheduler_;
  std::vector<Thread*> threads_;
  LaneMask lanes_;
  LaneMask exited_ = 0;
  std::array<Slot, kWarpSize> slots_{};
  // Every entry holds a lane that waits in no other, so 32 are enough.
  std::array<Open, kWarpSize> open_;
  std::uint32_t open_count_ = 0;
  std::array<Gathering, kWarpSize> gatherings_;
  std::uint32_t gathering_count_ = 0;
};

}  // namespace gdakit::sim
