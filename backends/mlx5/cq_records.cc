#include "backends/mlx5/cq_records.h"

#include <utility>

namespace gdakit::mlx5 {

Result<CqRecords::Record> CqRecords::take() {
  if (free_.empty()) {
    Result<HostPage> page = HostPage::make(nic_);
    if (!page) return page.error();
    for (std::uint64_t at = 0; at != nic_.page_bytes(); at += kSpacing) {
      free_.push_back({&page->umem(), at});
    }
    pages_.push_back(std::move(*page));
  }
  const Record record = free_.back();
  free_.pop_back();
  return record;
}

}  // namespace gdakit::mlx5
