// GDRCopy: GPU memory mapped into the host's address space, by a library and a driver that may be
// there or not. Loaded at run time.
//
//   attach(range) --> pinned and mapped --> find(address) --> loads and stores of the host
//
// Stores go through write-combining buffers: flush() is what lets them be seen, and orders those
// before it before those after. Loads take a microsecond or more for each 64 bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/result.h"

namespace gdakit::softnic {

class GdrCopy {
 public:
  // `library`: a path, or empty for the names under which it is installed. Errors: no library, no
  // driver (unavailable).
  static Result<std::unique_ptr<GdrCopy>> open(const std::string& library = {});
  GdrCopy(const GdrCopy&) = delete;
  GdrCopy& operator=(const GdrCopy&) = delete;
  ~GdrCopy();

  // Memory that cannot be mapped is simply not found.
  void attach(std::uint64_t address, std::uint64_t bytes);
  void detach(std::uint64_t address, std::uint64_t bytes);

  // Where the host reaches GPU memory [address, address + size); null if it does not.
  std::byte* find(std::uint64_t address, std::size_t size) const;

  static void flush();

 private:
  struct Library;
  struct Range {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    unsigned long handle = 0;
    std::byte* memory = nullptr;  // null where it cannot be mapped
    std::uint32_t uses = 0;
  };

  explicit GdrCopy(std::unique_ptr<Library> library);
  std::vector<Range>::iterator range_of(std::uint64_t address, std::uint64_t bytes);
  void map(Range& range) const;
  void unmap(const Range& range) const;

  std::unique_ptr<Library> library_;
  std::vector<Range> ranges_;
};

}  // namespace gdakit::softnic
