#include "backends/mlx5/doorbell_pages.h"

#include <algorithm>
#include <cerrno>

namespace gdakit::mlx5 {
namespace {

constexpr std::uint64_t kPageBytes = 4096;

char* base_of(const mlx5dv_devx_uar* uar) {
  return reinterpret_cast<char*>(reinterpret_cast<std::uint64_t>(uar->reg_addr) &
                                 ~(kPageBytes - 1));
}

}  // namespace

DoorbellPages::~DoorbellPages() {
  for (const auto& [page, device] : mapped_) static_cast<void>(memory_.unmap_registers(page));
  for (const auto& [uar, users] : users_) nic_.libraries().free_uar(uar);
}

Result<void> DoorbellPages::reserve() {
  const Result<mlx5dv_devx_uar*> uar = take_page();
  if (!uar) return uar.error();
  give_back(*uar);
  return check(**uar);
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
  if (auto usable = check(**uar); !usable) {
    give_back(*uar);
    return usable.error();
  }
  auto* const host = static_cast<char*>((*uar)->reg_addr);
  Doorbell doorbell{*uar, reinterpret_cast<std::uint64_t*>(host), nullptr};
  if (!for_device_) return doorbell;
  char* const page = base_of(*uar);
  const Result<char*> device = map(page);
  if (!device) {
    give_back(*uar);
    return device.error();
  }
  doorbell.device = reinterpret_cast<std::uint64_t*>(*device + (host - page));
  return doorbell;
}

Result<void> DoorbellPages::check(const mlx5dv_devx_uar& uar) const {
  constexpr const char* kCall = "mlx5dv_devx_alloc_uar";
  if (uar.reg_addr == nullptr) return nic_.wrong_answer(kCall, "a page that is not mapped");
  return nic_.check_number(kCall, uar.page_id);
}

Result<char*> DoorbellPages::map(char* page) {
  if (const auto found = mapped_.find(page); found != mapped_.end()) return found->second;
  const Result<void*> mapped = memory_.map_registers(page, kPageBytes);
  if (!mapped) return mapped.error().within(nic_.name());
  return mapped_[page] = static_cast<char*>(*mapped);
}

Result<mlx5dv_devx_uar*> DoorbellPages::take_page() {
  const auto least = std::ranges::min_element(
      users_, [](const auto& one, const auto& other) { return one.second < other.second; });
  if (least == users_.end() || least->second != 0) {
    int error = 0;
    for (const std::uint32_t type : {kDedicatedPage, std::uint32_t{MLX5DV_UAR_ALLOC_TYPE_NC}}) {
      mlx5dv_devx_uar* const uar = nic_.libraries().alloc_uar(nic_.context(), type);
      if (uar != nullptr) {
        ++users_[uar];  // libmlx5 gives the same page each time, if it is not dedicated
        return uar;
      }
      error = errno;
    }
    if (users_.empty()) {
      const Error why = nic_.failure("mlx5dv_devx_alloc_uar of memory that is not cached", error);
      return Error(why.code(),
                   why.message() +
                       "; the kernel gives out no page of registers: it takes Linux 5.7 or later, "
                       "and a container that may use the device with DEVX",
                   error);
    }
  }
  ++least->second;
  return least->first;
}

}  // namespace gdakit::mlx5
