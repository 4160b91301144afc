#include "backends/mlx5/doorbell_pages.h"

#include <algorithm>
#include <cerrno>

namespace gdakit::mlx5 {

DoorbellPages::~DoorbellPages() {
  for (const auto& [page, users] : users_) nic_.libraries().free_uar(page);
}

Result<mlx5dv_devx_uar*> DoorbellPages::take() {
  const auto least = std::ranges::min_element(
      users_, [](const auto& one, const auto& other) { return one.second < other.second; });
  if (least == users_.end() || least->second != 0) {
    int error = 0;
    for (const std::uint32_t type : {MLX5DV_UAR_ALLOC_TYPE_NC, MLX5DV_UAR_ALLOC_TYPE_BF}) {
      mlx5dv_devx_uar* const page = nic_.libraries().alloc_uar(nic_.context(), type);
      if (page != nullptr) {
        users_[page] = 1;
        return page;
      }
      error = errno;
    }
    if (users_.empty()) return nic_.failure("mlx5dv_devx_alloc_uar", error);
  }
  ++least->second;
  return least->first;
}

}  // namespace gdakit::mlx5
