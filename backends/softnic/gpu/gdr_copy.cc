#include "backends/softnic/gpu/gdr_copy.h"

#include <algorithm>
#include <atomic>
#include <dlfcn.h>
#include <iterator>

#include "core/base/bits.h"

namespace gdakit::softnic {
namespace {

// What the driver pins in.
constexpr std::uint64_t kGpuPageBytes = 64 * 1024;

// gdrapi.h, as far as it is used.
struct Handle {
  unsigned long h;
};
using Open = void* (*)();
using Close = int (*)(void*);
using Pin = int (*)(void*, unsigned long, std::size_t, std::uint64_t, std::uint32_t, Handle*);
using Unpin = int (*)(void*, Handle);
using Map = int (*)(void*, Handle, void**, std::size_t);
using Unmap = int (*)(void*, Handle, void*, std::size_t);

struct CloseLibrary {
  void operator()(void* library) const { dlclose(library); }
};

std::uint64_t page_down(std::uint64_t address) { return address / kGpuPageBytes * kGpuPageBytes; }

}  // namespace

struct GdrCopy::Library {
  std::unique_ptr<void, CloseLibrary> library;
  void* gdr = nullptr;
  Open open = nullptr;
  Close close = nullptr;
  Pin pin = nullptr;
  Unpin unpin = nullptr;
  Map map = nullptr;
  Unmap unmap = nullptr;

  ~Library() {
    if (gdr != nullptr) close(gdr);
  }

  template <class Function>
  bool find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(dlsym(library.get(), name));
    return function != nullptr;
  }
  bool find_all() {
    return find("gdr_open", open) && find("gdr_close", close) && find("gdr_pin_buffer", pin) &&
           find("gdr_unpin_buffer", unpin) && find("gdr_map", map) && find("gdr_unmap", unmap);
  }
};

GdrCopy::GdrCopy(std::unique_ptr<Library> library) : library_(std::move(library)) {}

GdrCopy::~GdrCopy() {
  for (const Range& range : ranges_) unmap(range);
}

Result<std::unique_ptr<GdrCopy>> GdrCopy::open(const std::string& library) {
  auto loaded = std::make_unique<Library>();
  for (const std::string& name : library.empty()
                                     ? std::vector<std::string>{"libgdrapi.so.2", "libgdrapi.so"}
                                     : std::vector<std::string>{library}) {
    if (loaded->library == nullptr) loaded->library.reset(dlopen(name.c_str(), RTLD_NOW));
  }
  if (loaded->library == nullptr) {
    return Error(Code::unavailable, "GDRCopy: no " +
                                        (library.empty() ? std::string("libgdrapi.so") : library) +
                                        "; install GDRCopy's library and its gdrdrv driver");
  }
  if (!loaded->find_all()) {
    return Error(Code::unavailable, "GDRCopy: libgdrapi.so lacks a function; install version 2");
  }
  loaded->gdr = loaded->open();
  if (loaded->gdr == nullptr) {
    return Error(
        Code::unavailable,
        "GDRCopy: gdr_open failed; load the gdrdrv driver, and make its device accessible");
  }
  return std::unique_ptr<GdrCopy>(new GdrCopy(std::move(loaded)));
}

std::vector<GdrCopy::Range>::iterator GdrCopy::range_of(std::uint64_t address,
                                                        std::uint64_t bytes) {
  const std::uint64_t begin = page_down(address);
  const std::uint64_t end = round_up(address + bytes, kGpuPageBytes);
  return std::find_if(ranges_.begin(), ranges_.end(),
                      [&](const Range& range) { return range.begin == begin && range.end == end; });
}

// A range that cannot be mapped is counted, too: its detach is not to take another's mapping away.
void GdrCopy::attach(std::uint64_t address, std::uint64_t bytes) {
  if (bytes == 0) return;
  auto range = range_of(address, bytes);
  if (range == ranges_.end()) {
    ranges_.emplace_back();
    range = std::prev(ranges_.end());
    range->begin = page_down(address);
    range->end = round_up(address + bytes, kGpuPageBytes);
  }
  ++range->uses;
  if (range->memory == nullptr) map(*range);
}

void GdrCopy::map(Range& range) const {
  Handle handle{};
  const std::size_t size = range.end - range.begin;
  if (library_->pin(library_->gdr, range.begin, size, 0, 0, &handle) != 0) return;
  void* memory = nullptr;
  if (library_->map(library_->gdr, handle, &memory, size) != 0) {
    library_->unpin(library_->gdr, handle);
    return;
  }
  range.handle = handle.h;
  range.memory = static_cast<std::byte*>(memory);
}

void GdrCopy::unmap(const Range& range) const {
  if (range.memory == nullptr) return;
  library_->unmap(library_->gdr, {range.handle}, range.memory, range.end - range.begin);
  library_->unpin(library_->gdr, {range.handle});
}

void GdrCopy::detach(std::uint64_t address, std::uint64_t bytes) {
  const auto found = range_of(address, bytes);
  if (found == ranges_.end() || --found->uses != 0) return;
  unmap(*found);
  ranges_.erase(found);
}

std::byte* GdrCopy::find(std::uint64_t address, std::size_t size) const {
  for (const Range& range : ranges_) {
    if (range.memory == nullptr || address < range.begin || address >= range.end ||
        size > range.end - address) {
      continue;
    }
    return range.memory + (address - range.begin);
  }
  return nullptr;
}

// A full fence empties the write-combining buffers of the processor.
void GdrCopy::flush() { std::atomic_thread_fence(std::memory_order_seq_cst); }

}  // namespace gdakit::softnic
