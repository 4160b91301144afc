// Stacks for fibers: mapped in slabs, committed by the system page by page as they are touched, and
// given out last in, first out, so that a kernel whose threads never wait uses one warm stack.
//
//   | guard | stack 0 ......... | guard | stack 1 ......... | ...      one slab, one mmap
//           ^ bottom            ^ top: where a fiber starts
//
// A stack grows down; running over its end touches the guard and ends the program (SIGSEGV), with a
// sentence where sim/crash.h watches. The guard is addresses without memory, more of them than all
// local arrays of a GPU's thread can have (512 KiB), so that no array reaches over it into the next
// stack.
// A guarded stack costs two of the system's map areas (vm.max_map_count, 65530 by default): beyond
// about 30,000 stacks in one process, turn the guards off or raise that limit.
//
// Not thread-safe: each worker has its own.
#pragma once

#include <cstddef>
#include <vector>

#include "core/base/annotate.h"
#include "core/base/result.h"

namespace gdakit::sim {

struct Stack {
  std::byte* bottom = nullptr;
  std::size_t bytes = 0;
  std::size_t guard_bytes = 0;  // below the bottom
  const char* option = "";      // what made it of this size

  std::byte* top() const { return bottom + bytes; }
  // Whether the address is one of its guard.
  bool guards(const std::byte* address) const {
    return address < bottom && address >= bottom - guard_bytes;
  }
};

// Sanitizers make frames several times larger: there a stack that a user asks for is, too.
inline constexpr std::size_t kStackFactor = kAddressSanitizer || kThreadSanitizer ? 4 : 1;
inline constexpr std::size_t kDefaultStackBytes = kStackFactor * 64 * 1024;
inline constexpr std::size_t kGuardBytes = std::size_t{1} << 20;

struct StackOptions {
  std::size_t bytes = kDefaultStackBytes;        // usable; rounded up to whole pages
  bool guards = true;                            // kGuardBytes of no memory below each stack
  const char* option = "GDAKIT_EMULATOR_STACK";  // where `bytes` comes from, for errors
};

class StackPool {
 public:
  explicit StackPool(StackOptions options);
  ~StackPool();
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;

  // A free stack; Code::exhausted if the system has no room for more. It must come back by give()
  // before the pool ends.
  Result<Stack> take();
  void give(Stack stack);

 private:
  struct Slab {
    std::byte* start;
    std::size_t bytes;
  };

  Result<void> grow();
  Error no_room(const char* call, std::size_t stacks) const;  // by errno

  std::size_t guard_bytes_;
  std::size_t stack_bytes_;
  const char* option_;
  std::size_t next_slab_stacks_ = 1;
  std::size_t taken_ = 0;
  std::vector<Slab> slabs_;
  std::vector<Stack> free_;
};

}  // namespace gdakit::sim
