#include "backends/mlx5/cq_records.h"

#include <cstring>
#include <new>
#include <utility>

namespace gdakit::mlx5 {

void CqRecords::FreePage::operator()(void* page) const {
  ::operator delete (page, std::align_val_t{kPageBytes});
}

Result<CqRecords::Record> CqRecords::take() {
  if (free_.empty()) {
    Page page;
    page.memory.reset(::operator new (kPageBytes, std::align_val_t{kPageBytes}));
    std::memset(page.memory.get(), 0, kPageBytes);
    Result<std::unique_ptr<Umem>> umem = Umem::make(nic_, memory_, page.memory.get(), kPageBytes);
    if (!umem) return umem.error();
    page.umem = std::move(*umem);
    for (std::uint64_t at = 0; at != kPageBytes; at += kSpacing) {
      free_.push_back({page.umem.get(), at});
    }
    pages_.push_back(std::move(page));
  }
  const Record record = free_.back();
  free_.pop_back();
  return record;
}

}  // namespace gdakit::mlx5
