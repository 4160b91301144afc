// What a wire says that nothing else is known of: payload travels as long by value as by reference,
// packets get lost without limit to how many are under way, nothing is recalled, because nothing
// names memory, and nothing is counted.
#pragma once

#include <bit>
#include <cstdint>

#include "backends/softnic/wire/wire.h"

namespace gdakit::softnic {

class PlainWire : public Wire {
 public:
  std::uint32_t value_mtu() const override { return mtu(); }
  std::uint32_t psn_bytes() const override { return std::bit_floor(value_mtu()); }
  WirePath path(Endpoint) const override { return {.mtu = mtu()}; }
  Recall recall(const RecallScope&) override { return {}; }
  bool recalled(Recall& recall) override { return recall.waits.empty(); }
  bool unread(Endpoint) const override { return false; }
  void add_counters(NicCounters&) const override {}
};

}  // namespace gdakit::softnic
