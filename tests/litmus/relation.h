// Relation: pairs of up to 64 events.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace gdakit::sim::litmus {

// Events as bits.
using Events = std::uint64_t;

constexpr Events event_bit(std::uint32_t event) { return Events{1} << event; }

// Calls visit(event) for each of them.
template <class Visit>
void for_each(Events events, Visit&& visit) {
  for (; events != 0; events &= events - 1) {
    visit(static_cast<std::uint32_t>(std::countr_zero(events)));
  }
}

struct Relation {
  std::array<Events, 64> after{};  // [event] those that it is related to

  bool has(std::uint32_t from, std::uint32_t to) const { return (after[from] >> to & 1) != 0; }
  void add(std::uint32_t from, std::uint32_t to) { after[from] |= event_bit(to); }

  // Transitive closure, of the first `count` events.
  void close(std::uint32_t count) {
    for (std::uint32_t via = 0; via < count; ++via) {
      for (std::uint32_t from = 0; from < count; ++from) {
        if (has(from, via)) after[from] |= after[via];
      }
    }
  }
  // Of a closed relation.
  bool is_acyclic(std::uint32_t count) const {
    for (std::uint32_t event = 0; event < count; ++event) {
      if (has(event, event)) return false;
    }
    return true;
  }
  // Adds from -> to and what follows by transitivity; the relation was closed.
  void add_closed(std::uint32_t from, std::uint32_t to, std::uint32_t count) {
    const Events gained = after[to] | event_bit(to);
    for (std::uint32_t event = 0; event < count; ++event) {
      if (event == from || has(event, from)) after[event] |= gained;
    }
  }
};

}  // namespace gdakit::sim::litmus
