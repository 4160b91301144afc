// The sizes on which all PEs agree, and who owns which expert: PE 0 the first ones, and so on.
#pragma once

#include <cstdint>

#include "core/base/annotate.h"

namespace moe {

struct Shape {
  std::uint32_t pes;
  std::uint32_t experts;  // a multiple of pes
  std::uint32_t top_k;
  std::uint32_t hidden;  // values of a token
  std::uint32_t batch;   // tokens of one PE in one step, at most

  GDAKIT_HOST_DEVICE std::uint32_t experts_per_pe() const { return experts / pes; }
  GDAKIT_HOST_DEVICE int owner(std::uint32_t expert) const {
    return static_cast<int>(expert / experts_per_pe());
  }
  // An expert's number among those of its owner, and back.
  GDAKIT_HOST_DEVICE std::uint32_t local(std::uint32_t expert) const {
    return expert % experts_per_pe();
  }
  GDAKIT_HOST_DEVICE std::uint32_t global(int pe, std::uint32_t local_expert) const {
    return static_cast<std::uint32_t>(pe) * experts_per_pe() + local_expert;
  }
};

}  // namespace moe
