// Step 2: every expert works on the messages that it got. The answers overwrite the values they
// were made from.
#pragma once

#include "examples/moe_dispatch/buffers.h"
#include "examples/moe_dispatch/pairs.h"
#include "gdakit.h"

namespace moe {

struct Experts {
  Buffers buffers;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for_each_pair(m, buffers, [&](std::uint32_t local, int source) {
      const std::uint32_t expert = buffers.shape.global(pe.my_pe(), local);
      for_each_slot(m, buffers, local, source, [&](std::uint64_t slot) {
        float* const values = buffers.received_message(local, source, slot).values();
        for (std::uint32_t i = m.lane(); i < buffers.shape.hidden; i += gdakit::kWarpSize) {
          values[i] = apply_expert(expert, values[i]);
        }
      });
    });
  }
};

}  // namespace moe
