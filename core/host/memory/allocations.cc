#include "core/host/memory/allocations.h"

#include <algorithm>
#include <utility>

namespace gdakit {

std::string describe(const Allocation& allocation) {
  std::string who = "gdakit's " + allocation.name;
  if (allocation.number != 0) {
    who = allocation.name.empty() ? "allocation " + std::to_string(allocation.number)
                                  : "'" + allocation.name + "'";
  }
  return who + " (" + std::to_string(allocation.bytes) + " bytes" +
         (allocation.in_use ? ")" : ", freed)");
}

void Allocations::add(std::uint64_t offset, std::uint64_t bytes, std::string name) {
  const std::lock_guard lock(mutex_);
  put({++last_number_, std::move(name), offset, bytes, true});
}

void Allocations::add_own(std::uint64_t offset, std::uint64_t bytes, std::string name) {
  const std::lock_guard lock(mutex_);
  put({0, std::move(name), offset, bytes, true});
}

// Those that it overlaps were freed. An object of 0 bytes has an address of its own.
void Allocations::put(Allocation allocation) {
  const std::uint64_t end = allocation.offset + std::max<std::uint64_t>(allocation.bytes, 1);
  auto next = by_offset_.lower_bound(allocation.offset);
  if (next != by_offset_.begin() && std::prev(next)->second.end() > allocation.offset) --next;
  while (next != by_offset_.end() && next->first < end) next = by_offset_.erase(next);
  by_offset_.emplace(allocation.offset, std::move(allocation));
}

void Allocations::release(std::uint64_t offset) {
  const std::lock_guard lock(mutex_);
  const auto found = by_offset_.find(offset);
  if (found != by_offset_.end()) found->second.in_use = false;
}

std::optional<Allocation> Allocations::nearest(std::uint64_t offset) const {
  const std::lock_guard lock(mutex_);
  const auto next = by_offset_.upper_bound(offset);
  if (next == by_offset_.begin()) return std::nullopt;
  return std::prev(next)->second;
}

std::optional<std::string> Allocations::problem(std::uint64_t offset, std::uint64_t bytes) const {
  const std::optional<Allocation> found = nearest(offset);
  if (!found) return "lie in no object of the symmetric heap";
  if (offset >= found->end()) return "lie " + describe(offset);
  if (!found->in_use) return "lie in " + describe(offset);
  if (bytes <= found->end() - offset) return std::nullopt;
  return "begin at " + describe(offset) + " and reach " +
         std::to_string(bytes - (found->end() - offset)) + " bytes over its end";
}

std::string Allocations::describe(std::uint64_t offset) const {
  const std::optional<Allocation> found = nearest(offset);
  if (!found) return "the symmetric heap + " + std::to_string(offset);
  const std::string what = gdakit::describe(*found);
  if (offset == found->offset) return what;
  if (offset < found->end()) return what + " + " + std::to_string(offset - found->offset);
  if (offset == found->end()) return "right behind " + what;
  return std::to_string(offset - found->end()) + " bytes behind " + what;
}

}  // namespace gdakit
