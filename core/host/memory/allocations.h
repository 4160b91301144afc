// What the symmetric heap holds, for reports: a number, perhaps a name, and the place of each
// allocation, so that an address is told as "'counts' (4096 bytes) + 256".
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>

namespace gdakit {

struct Allocation {
  std::uint64_t number = 0;  // among those of the program, from 1; 0: gdakit's own
  std::string name;          // empty: it has none
  std::uint64_t offset = 0;  // in the heap
  std::uint64_t bytes = 0;   // as asked for
  bool in_use = true;        // false: freed, and nothing new lies there yet

  std::uint64_t end() const { return offset + bytes; }
};

// "'counts' (4096 bytes)", "allocation 3 (4096 bytes, freed)", "gdakit's teams (64 bytes)".
std::string describe(const Allocation& allocation);

// May be asked by any thread while another one allocates.
class Allocations {
 public:
  // An allocation of the program, which gets the next number. What was freed there is forgotten.
  void add(std::uint64_t offset, std::uint64_t bytes, std::string name);
  // One of gdakit's own: `name` is what gdakit has there.
  void add_own(std::uint64_t offset, std::uint64_t bytes, std::string name);
  // Marks the allocation that begins there as freed.
  void release(std::uint64_t offset);

  // The one that begins at or nearest before `offset`, which may lie behind its end.
  std::optional<Allocation> nearest(std::uint64_t offset) const;

  // Why the bytes from `offset` on are not all in one allocation that is in use, as the end of a
  // sentence about them: "begin at 'counts' (4096 bytes) + 4092 and reach 8 bytes over its end".
  // Nothing: they are.
  std::optional<std::string> problem(std::uint64_t offset, std::uint64_t bytes) const;

  // "'counts' (4096 bytes) + 256", or "64 bytes behind allocation 3 (4096 bytes)".
  std::string describe(std::uint64_t offset) const;

 private:
  void put(Allocation allocation);

  mutable std::mutex mutex_;
  std::map<std::uint64_t, Allocation> by_offset_;
  std::uint64_t last_number_ = 0;
};

}  // namespace gdakit
