// Which parts of the symmetric heap are in use, by offset. Pure bookkeeping: the same calls give
// the same offsets on every PE.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

namespace gdakit {

inline constexpr std::uint64_t kHeapAlignment =
    256;  // no two objects share a line that the NIC writes

class HeapAllocator {
 public:
  // Makes [size, size + bytes) available too.
  void extend(std::uint64_t bytes);

  // The lowest offset with room for `bytes`, a multiple of kHeapAlignment; nothing if there is
  // none.
  std::optional<std::uint64_t> allocate(std::uint64_t bytes);

  // The size of the object at `offset`, or nothing if no object begins there.
  std::optional<std::uint64_t> size_at(std::uint64_t offset) const;

  // Gives an object back. False if no object begins at `offset`.
  bool free(std::uint64_t offset);

  std::uint64_t size() const { return size_; }
  std::uint64_t bytes_in_use() const { return in_use_; }

  // How much extend() must add at least so that allocate(bytes) succeeds; 0 if it does already.
  std::uint64_t missing_for(std::uint64_t bytes) const;

 private:
  void release(std::uint64_t offset, std::uint64_t bytes);

  std::uint64_t size_ = 0;
  std::uint64_t in_use_ = 0;
  std::map<std::uint64_t, std::uint64_t> free_;  // offset -> bytes; neighbours are merged
  std::map<std::uint64_t, std::uint64_t> used_;
};

}  // namespace gdakit
