#include "backends/mlx5/host_page.h"

#include <cstring>
#include <new>
#include <utility>

#include "core/host/memory/host_memory.h"

namespace gdakit::mlx5 {

void HostPage::Free::operator()(void* page) const {
  ::operator delete (page, std::align_val_t{bytes});
}

Result<HostPage> HostPage::make(const OpenNic& nic) {
  HostMemoryProvider provider;
  const std::uint64_t bytes = nic.page_bytes();
  HostPage page;
  page.memory_ = {::operator new (bytes, std::align_val_t{bytes}), Free{bytes}};
  std::memset(page.memory_.get(), 0, bytes);
  Result<std::unique_ptr<Umem>> umem = Umem::make(nic, provider, page.memory_.get(), bytes);
  if (!umem) return umem.error();
  page.umem_ = std::move(*umem);
  return page;
}

}  // namespace gdakit::mlx5
