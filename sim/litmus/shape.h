// Shape: what can be said of a litmus test before it runs. It keeps exploring small: a choice that
// cannot matter is not offered.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/litmus/program.h"

namespace gdakit::sim::litmus {

// Locations as bits.
using LocationSet = std::uint32_t;

// Barriers that may meet: those of a block with one number, all named or none.
struct BarrierGroup {
  std::uint32_t block = 0;
  std::uint32_t instance = 0;
  bool named = false;
  struct Member {
    std::uint32_t thread = 0;
    std::uint32_t instruction = 0;
  };
  std::vector<Member> members;
};

class Shape {
 public:
  explicit Shape(const Program& program);

  // What the thread may write when it goes on from instruction `at`.
  LocationSet writes_from(std::uint32_t thread, std::uint32_t at) const {
    return threads_[thread].writes_from[at];
  }
  // Whether settling this read late can show anything that settling it at once cannot, if others
  // may still write its location: a write of the thread, or a barrier, must be able to come first.
  bool may_defer(std::uint32_t thread, std::uint32_t at) const {
    return threads_[thread].may_defer[at];
  }
  // Whether some other thread writes what this one accesses, or the other way round.
  bool is_shared(std::uint32_t location) const { return (shared_ >> location & 1) != 0; }
  // The group of the barrier that stands there.
  std::uint32_t group_of(std::uint32_t thread, std::uint32_t at) const {
    return threads_[thread].group[at];
  }
  const std::vector<BarrierGroup>& groups() const { return groups_; }

 private:
  struct PerThread {
    std::vector<LocationSet> writes_from;  // one more than instructions
    std::vector<bool> may_defer;
    std::vector<std::uint32_t> group;
  };

  static std::vector<LocationSet> reachable_writes(const Thread& thread);
  void find_shared(const Program& program);
  void find_groups(const Program& program);

  std::vector<PerThread> threads_;
  std::vector<BarrierGroup> groups_;
  LocationSet shared_ = 0;
};

}  // namespace gdakit::sim::litmus
