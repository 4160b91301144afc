// Barriers: who waits at which barrier of a litmus test, and for whom.
//
// A thread's n-th arrival at a barrier meets every other thread's n-th arrival there. It waits for
// all threads of the block whose code has that barrier; a name in a register is a barrier of every
// name until the thread has come by. A thread that ended without coming leaves the others waiting
// for ever: such an execution has no final state.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/litmus/program.h"
#include "sim/litmus/shape.h"
#include "sim/weak/memory.h"

namespace gdakit::sim::litmus {

class Barriers {
 public:
  Barriers(const Program& program, const Shape& shape) : program_(program), shape_(shape) {}

  void begin();

  // One thread's arrival.
  struct Ticket {
    std::uint32_t group = 0;
    std::int64_t name = 0;
    std::uint32_t round = 0;  // counts the thread's arrivals at this barrier
    std::uint32_t meeting = 0;
  };
  Ticket arrive(std::uint32_t thread, std::uint32_t at, std::int64_t name, weak::Memory& memory);
  // Whether everyone has come.
  bool may_leave(std::uint32_t thread, const Ticket& ticket) const;
  const weak::BarrierClock& clock(const Ticket& ticket) const {
    return meetings_[ticket.meeting].clock;
  }

 private:
  struct Arrival {
    std::uint32_t thread = 0, at = 0, group = 0;
    std::int64_t name = 0;
  };
  struct Meeting {
    std::uint32_t group = 0;
    std::int64_t name = 0;
    std::uint32_t round = 0;
    weak::BarrierClock clock;
  };

  std::uint32_t count(std::uint32_t thread, std::uint32_t group, std::int64_t name) const;
  bool has_passed(const BarrierGroup::Member& member) const;

  const Program& program_;
  const Shape& shape_;
  std::vector<Arrival> arrivals_;
  std::vector<Meeting> meetings_;  // the first meeting_count_ are in use
  std::size_t meeting_count_ = 0;
};

}  // namespace gdakit::sim::litmus
