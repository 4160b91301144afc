// Memory of the soft NIC's benchmarks: zeroed, aligned to a page, gone with its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

namespace gdakit::softnic {

struct FreePages {
  void operator()(std::uint8_t* bytes) const { ::operator delete (bytes, std::align_val_t{4096}); }
};
using Pages = std::unique_ptr<std::uint8_t, FreePages>;

inline Pages make_pages(std::size_t size) {
  Pages pages(static_cast<std::uint8_t*>(::operator new (size, std::align_val_t{4096})));
  std::memset(pages.get(), 0, size);
  return pages;
}

}  // namespace gdakit::softnic
