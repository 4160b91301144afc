#include "backends/mlx5/doorbell_pages.h"

#include <algorithm>
#include <cerrno>

namespace gdakit::mlx5 {
namespace {

// MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED, which older headers lack and older libraries refuse.
constexpr std::uint32_t kDedicated = std::uint32_t{1} << 31;
constexpr std::uint64_t kPageBytes = 4096;

char* base_of(const mlx5dv_devx_uar* uar) {
  return reinterpret_cast<char*>(reinterpret_cast<std::uint64_t>(uar->reg_addr) &
                                 ~(kPageBytes - 1));
}

}  // namespace

DoorbellPages::~DoorbellPages() {
  for (const auto& [uar, page] : pages_) {
    if (page.mapped != nullptr) static_cast<void>(memory_.unmap_registers(base_of(uar)));
    nic_.libraries().free_uar(uar);
  }
}

Result<void> DoorbellPages::map_for_device() {
  const Result<Doorbell> one = take();
  if (!one) return one.error();
  give_back(one->page);
  return {};
}

Result<DoorbellPages::Doorbell> DoorbellPages::take() {
  const Result<mlx5dv_devx_uar*> uar = take_page();
  if (!uar) return uar.error();
  Page& page = pages_.at(*uar);
  if (auto mapped = for_device_ ? map(*uar, page) : Result<void>(); !mapped) {
    give_back(*uar);
    return mapped.error();
  }
  Doorbell doorbell{*uar, static_cast<std::uint64_t*>((*uar)->reg_addr), nullptr};
  if (page.mapped != nullptr) {
    const auto offset = static_cast<char*>((*uar)->reg_addr) - base_of(*uar);
    doorbell.device = reinterpret_cast<std::uint64_t*>(static_cast<char*>(page.mapped) + offset);
  }
  return doorbell;
}

Result<void> DoorbellPages::map(mlx5dv_devx_uar* uar, Page& page) {
  if (page.mapped != nullptr) return {};
  const Result<void*> mapped = memory_.map_registers(base_of(uar), kPageBytes);
  if (!mapped) return mapped.error().within(nic_.name());
  page.mapped = *mapped;
  return {};
}

Result<mlx5dv_devx_uar*> DoorbellPages::take_page() {
  const auto least = std::ranges::min_element(pages_, [](const auto& one, const auto& other) {
    return one.second.users < other.second.users;
  });
  if (least == pages_.end() || least->second.users != 0) {
    int error = 0;
    for (const std::uint32_t type : {kDedicated, std::uint32_t{MLX5DV_UAR_ALLOC_TYPE_NC}}) {
      mlx5dv_devx_uar* const uar = nic_.libraries().alloc_uar(nic_.context(), type);
      if (uar != nullptr) {
        ++pages_[uar].users;  // libmlx5 gives the same page each time, if it is not dedicated
        return uar;
      }
      error = errno;
    }
    if (pages_.empty()) {
      return nic_.failure("mlx5dv_devx_alloc_uar of memory that is not cached", error);
    }
  }
  ++least->second.users;
  return least->first;
}

}  // namespace gdakit::mlx5
