// Actor: whoever acts in a simulated execution besides the kernels' threads: a NIC, a proxy.
#pragma once

#include <cstdint>
#include <optional>

namespace gdakit::sim {

class Actor {
 public:
  virtual ~Actor() = default;

  // Whether go() has something to do.
  virtual bool can_go(std::uint64_t now_ns) const = 0;
  // One bounded piece of work. What it will touch is never certain: others may give the actor
  // something else to do first.
  virtual void go(std::uint64_t now_ns) = 0;
  // Nobody else can go on: looks for what it may have missed. True if anything has changed.
  virtual bool idle_turn(std::uint64_t now_ns) = 0;
  // The next time at which it may have work by itself.
  virtual std::optional<std::uint64_t> next_timer_ns() const = 0;
};

}  // namespace gdakit::sim
