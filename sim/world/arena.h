// Arena: addresses for memory that exists in the model only. Nothing can be read or written there,
// so a kernel that goes around the Machine is stopped at once instead of being wrong in silence.
//
// While there is an arena, a handler of SIGSEGV says what happened before the program ends:
//
//   fault inside an arena    one sentence on stderr, unless CrashWatch (sim/crash.h) has told it
//                            with the kernel's thread; the handler that was there before comes
//                            back, and the access faults again: the program ends as it would have
//   any other fault          goes to the handler that was there before
//
// It stands in front of AddressSanitizer's handler, which then adds the stack of the access.
#pragma once

#include <cstdint>

#include "sim/world/region.h"

namespace gdakit::sim {

class Arena {
 public:
  // Reserves `bytes` addresses, where possible at the same place in every run of every program.
  // `layout`, which outlives the arena, tells what an address would have been.
  Arena(std::uint64_t bytes, const Layout& layout);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::uint64_t base() const { return base_; }

 private:
  std::uint64_t base_;
  std::uint64_t bytes_;
};

}  // namespace gdakit::sim
