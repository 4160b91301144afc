#include "backends/mlx5/doorbell_pages.h"

#include <algorithm>
#include <cerrno>

namespace gdakit::mlx5 {
namespace {

// MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED, which older headers lack and older libraries refuse.
constexpr std::uint32_t kDedicated = std::uint32_t{1} << 31;

}  // namespace

DoorbellPages::~DoorbellPages() {
  for (const auto& [page, users] : users_) nic_.libraries().free_uar(page);
}

Result<mlx5dv_devx_uar*> DoorbellPages::take() {
  const auto least = std::ranges::min_element(
      users_, [](const auto& one, const auto& other) { return one.second < other.second; });
  if (least == users_.end() || least->second != 0) {
    int error = 0;
    for (const std::uint32_t type : {kDedicated, std::uint32_t{MLX5DV_UAR_ALLOC_TYPE_NC}}) {
      mlx5dv_devx_uar* const page = nic_.libraries().alloc_uar(nic_.context(), type);
      if (page != nullptr) {
        ++users_[page];  // libmlx5 gives the same page each time, if it is not dedicated
        return page;
      }
      error = errno;
    }
    if (users_.empty()) {
      return nic_.failure("mlx5dv_devx_alloc_uar of memory that is not cached", error);
    }
  }
  ++least->second;
  return least->first;
}

}  // namespace gdakit::mlx5
