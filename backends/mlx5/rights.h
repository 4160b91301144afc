// What peers may do through a queue pair or a target of DC: all there is.
#pragma once

#include <cstdint>

namespace gdakit::mlx5 {

inline constexpr std::uint64_t kMinRnrTimer = 12;  // 0.64 ms

// Of a context with the fields of Layout: READs, WRITEs, and atomics of up to 64 bits.
template <class Layout, class Context>
void give_all_rights(const Context& context) {
  constexpr std::uint64_t kAtomicsOf64Bits = 3;
  context.set(Layout::rre, 1);
  context.set(Layout::rwe, 1);
  context.set(Layout::rae, 1);
  context.set(Layout::atomic_mode, kAtomicsOf64Bits);
}

}  // namespace gdakit::mlx5
