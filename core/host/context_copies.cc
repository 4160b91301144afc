// What Context looks at before it copies: a copy to or from a wrong address is an error in words.
#include <string>

#include "core/base/hex.h"
#include "core/host/context.h"
#include "core/host/memory/mapped_memory.h"

namespace gdakit {
namespace {

std::uint64_t number(const void* address) { return reinterpret_cast<std::uint64_t>(address); }

}  // namespace

std::optional<std::string> Context::problem_of(const void* object, std::uint64_t bytes) const {
  const std::uint64_t base = number(heap_->base());
  if (heap_->contains(object)) {
    return heap_->allocations().problem(number(object) - base, bytes);
  }
  for (const LocalBuffer& buffer : local_buffers_) {
    if (number(object) < buffer.begin || number(object) >= buffer.end) continue;
    if (bytes <= buffer.end - number(object)) return std::nullopt;
    return "reach " + std::to_string(bytes - (buffer.end - number(object))) +
           " bytes over the end of a registered buffer of " +
           std::to_string(buffer.end - buffer.begin) + " bytes";
  }
  for (int pe = 0; pe < n_pes(); ++pe) {  // where an object lies is the same on all
    const std::uint64_t there = transports().direct_base(pe);
    if (there == 0 || number(object) - there >= heap_->size()) continue;
    return heap_->allocations().problem(number(object) - there, bytes);
  }
  return "are neither in the symmetric heap nor in a registered buffer";
}

Result<void> Context::check_copy(const char* call, const char* direction, const void* object,
                                 const void* here, std::size_t count,
                                 std::size_t element_bytes) const {
  if (count == 0) return {};
  const auto refused = [&](const std::string& problem) {
    return Error(Code::invalid_argument, std::string(call) + " of " + std::to_string(count) +
                                             " elements of " + std::to_string(element_bytes) +
                                             " bytes " + problem);
  };
  if (count > ~std::size_t{0} / element_bytes) return refused("is more than there is memory");
  const std::size_t bytes = count * element_bytes;
  if (const auto problem = problem_of(object, bytes); problem) {
    return refused(std::string(direction) + " address " + hex_number(number(object)) + ": they " +
                   *problem + "; stay within what allocate or register_buffer was given");
  }
  if (memory_->kind_of(here) == MemoryKind::host && !is_mapped(here, bytes)) {
    return refused("is refused: not all of the host's " + std::to_string(bytes) +
                   " bytes at address " + hex_number(number(here)) +
                   " are memory of this process; give as many as are copied");
  }
  return {};
}

}  // namespace gdakit
