#include "sim/stack_pool.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "core/base/bits.h"

namespace gdakit::sim {
namespace {

constexpr std::size_t kMaxSlabStacks = 64;
constexpr std::size_t kMinStackBytes = 16 * 1024;

}  // namespace

StackPool::StackPool(StackOptions options) : option_(options.option) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  guard_bytes_ = options.guards ? kGuardBytes : 0;
  stack_bytes_ = round_up(std::max(options.bytes, kMinStackBytes), page);
}

StackPool::~StackPool() {
  GDAKIT_ASSERT(taken_ == 0);
  for (const Slab& slab : slabs_) ::munmap(slab.start, slab.bytes);
}

Result<Stack> StackPool::take() {
  if (free_.empty()) {
    if (Result<void> grown = grow(); !grown) return grown.error();
  }
  const Stack stack = free_.back();
  free_.pop_back();
  ++taken_;
  return stack;
}

void StackPool::give(Stack stack) {
  GDAKIT_ASSERT(taken_ != 0 && stack.bytes == stack_bytes_);
  --taken_;
  free_.push_back(stack);
}

Error StackPool::no_room(const char* call, std::size_t stacks) const {
  const int code = errno;
  return Error(Code::exhausted,
               std::string(call) + " of " + std::to_string(stacks) + " fiber stacks of " +
                   std::to_string(stack_bytes_) +
                   " bytes failed: launch fewer threads, ask for smaller stacks (" + option_ +
                   "), turn their guards off, or raise vm.max_map_count",
               code);
}

Result<void> StackPool::grow() {
  const std::size_t count = next_slab_stacks_;
  const std::size_t stride = guard_bytes_ + stack_bytes_;
  void* const mapping = ::mmap(nullptr, count * stride, PROT_NONE,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
  if (mapping == MAP_FAILED) return no_room("mmap", count);
  const Slab slab{static_cast<std::byte*>(mapping), count * stride};
  slabs_.push_back(slab);
  // The highest stack is given first, so that neighbours are used in descending order, as they
  // grow.
  for (std::size_t i = 0; i != count; ++i) {
    std::byte* const bottom = slab.start + i * stride + guard_bytes_;
    if (::mprotect(bottom, stack_bytes_, PROT_READ | PROT_WRITE) != 0) {
      return no_room("mprotect", count);
    }
    free_.push_back({bottom, stack_bytes_, guard_bytes_, option_});
  }
  next_slab_stacks_ = std::min(2 * count, kMaxSlabStacks);
  return {};
}

}  // namespace gdakit::sim
