// A library that has GDRCopy's functions, for memory that the host reaches anyway: a mapping is the
// memory itself. It refuses what the driver would: ranges that are no whole GPU pages. Tests find
// it by its path.
#include <cstddef>
#include <cstdint>
#include <map>

namespace {

constexpr unsigned long kGpuPageBytes = 64 * 1024;

struct Handle {
  unsigned long h;
};
struct Pinned {
  unsigned long address;
  std::size_t size;
};

int opened = 0;
bool refusing = false;
std::map<unsigned long, Pinned>& pinned() {
  static std::map<unsigned long, Pinned> all;
  return all;
}

}  // namespace

extern "C" {

void* gdr_open() {
  ++opened;
  return &opened;
}

int gdr_close(void*) { return --opened; }

int gdr_pin_buffer(void*, unsigned long address, std::size_t size, std::uint64_t, std::uint32_t,
                   Handle* handle) {
  if (refusing || address % kGpuPageBytes != 0 || size % kGpuPageBytes != 0) return 22;
  static unsigned long last = 0;
  handle->h = ++last;
  pinned()[last] = {address, size};
  return 0;
}

int gdr_unpin_buffer(void*, Handle handle) { return pinned().erase(handle.h) == 1 ? 0 : 22; }

int gdr_map(void*, Handle handle, void** memory, std::size_t size) {
  const auto found = pinned().find(handle.h);
  if (found == pinned().end() || found->second.size != size) return 22;
  *memory = reinterpret_cast<void*>(found->second.address);
  return 0;
}

int gdr_unmap(void*, Handle handle, void*, std::size_t) {
  return pinned().count(handle.h) == 1 ? 0 : 22;
}

// For tests: how many ranges are pinned.
int fake_gdr_pinned() { return static_cast<int>(pinned().size()); }

// For tests: nothing can be pinned from now on, or it can again.
void fake_gdr_refuse(bool refuse) { refusing = refuse; }
}
