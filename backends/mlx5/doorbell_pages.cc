#include "backends/mlx5/doorbell_pages.h"

#include <algorithm>
#include <cerrno>
#include <string>

#include "core/base/register_store.h"
#include "core/format/cq_doorbell.h"

namespace gdakit::mlx5 {
namespace {

constexpr const char* kAlloc = "mlx5dv_devx_alloc_uar";
constexpr const char* kForRecordless =
    " of a page for a queue without a doorbell record, which takes one of its own";
// So many libmlx5 hands out of one page, at most.
constexpr int kRegistersOfAPage = 16;

}  // namespace

DoorbellPages::~DoorbellPages() {
  for (const auto& [page, device] : mapped_) static_cast<void>(memory_.unmap_registers(page));
  for (const auto& [uar, page] : pages_) nic_.libraries().free_uar(uar);
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

Result<void> DoorbellPages::reserve_recordless() {
  const Result<Doorbell> one = take_recordless();
  if (!one) return one.error();
  give_back_recordless(one->page);
  return {};
}

Result<DoorbellPages::Doorbell> DoorbellPages::take() {
  const Result<mlx5dv_devx_uar*> uar = take_page();
  if (!uar) return uar.error();
  Result<Doorbell> doorbell = doorbell_at(*uar, (*uar)->reg_addr);
  if (!doorbell) give_back(*uar);
  return doorbell;
}

Result<DoorbellPages::Doorbell> DoorbellPages::take_recordless() {
  const Result<mlx5dv_devx_uar*> uar = take_recordless_page();
  if (!uar) return uar.error();
  auto* const base = static_cast<char*>((*uar)->base_addr);
  Result<Doorbell> doorbell =
      doorbell_at(*uar, base == nullptr ? nullptr : base + format::kUarNoRecordDoorbell);
  if (!doorbell) give_back_recordless(*uar);
  return doorbell;
}

Result<DoorbellPages::Doorbell> DoorbellPages::doorbell_at(mlx5dv_devx_uar* uar, void* place) {
  if (auto usable = check(*uar); !usable) return usable.error();
  auto* const host = static_cast<char*>(place);
  if (host == nullptr) return nic_.wrong_answer(kAlloc, "a page without a begin");
  Doorbell doorbell{uar, reinterpret_cast<std::uint64_t*>(host), nullptr};
  if (!for_device_) return doorbell;
  char* const page = page_of(host);
  const Result<char*> device = map(page);
  if (!device) return device.error();
  doorbell.device = reinterpret_cast<std::uint64_t*>(*device + (host - page));
  return doorbell;
}

Result<void> DoorbellPages::check(const mlx5dv_devx_uar& uar) const {
  if (uar.reg_addr == nullptr) return nic_.wrong_answer(kAlloc, "a page that is not mapped");
  return nic_.check_number(kAlloc, uar.page_id);
}

// The host's, on which a NIC of smaller pages has several.
char* DoorbellPages::page_of(char* doorbell) const {
  return doorbell - reinterpret_cast<std::uint64_t>(doorbell) % nic_.page_bytes();
}

Result<char*> DoorbellPages::map(char* page) {
  if (const auto found = mapped_.find(page); found != mapped_.end()) return found->second;
  const Result<void*> mapped = memory_.map_registers(page, nic_.page_bytes());
  if (!mapped) return mapped.error().within(nic_.name());
  return mapped_[page] = static_cast<char*>(*mapped);
}

// Null: errno says why.
mlx5dv_devx_uar* DoorbellPages::allocate(std::uint32_t type) {
  return nic_.libraries().alloc_uar(nic_.context(), type);
}

Error DoorbellPages::none_left() const {
  const int code = errno;
  const Error why = nic_.failure(kAlloc, code);
  return Error(why.code(),
               why.message() +
                   "; the kernel gives out no page of registers of any type: it takes Linux 5.7 or "
                   "later, and a container that may use the device with DEVX",
               code);
}

Result<mlx5dv_devx_uar*> DoorbellPages::take_page() {
  for (const bool combines : {false, true}) {
    const Pages::iterator page = least_used(combines);
    if (page != pages_.end() && page->second.users == 0) return use(page->first);
    if (mlx5dv_devx_uar* const uar = allocate_new(combines)) return use(uar);
    if (page != pages_.end()) return use(page->first);
  }
  return none_left();
}

mlx5dv_devx_uar* DoorbellPages::use(mlx5dv_devx_uar* uar) {
  Page& page = pages_[uar];  // libmlx5 gives the same one each time, if it is not dedicated
  ++page.users;
  if (page.combines) registers_combine_writes.store(true, std::memory_order_relaxed);
  return uar;
}

DoorbellPages::Pages::iterator DoorbellPages::least_used(bool combines) {
  auto least = pages_.end();
  for (auto at = pages_.begin(); at != pages_.end(); ++at) {
    if (at->second.combines != combines) continue;
    if (least == pages_.end() || at->second.users < least->second.users) least = at;
  }
  return least;
}

mlx5dv_devx_uar* DoorbellPages::allocate_new(bool combines) {
  if (!combines) {
    mlx5dv_devx_uar* const uar = allocate(kDedicatedPage);
    return uar != nullptr ? uar : allocate(MLX5DV_UAR_ALLOC_TYPE_NC);
  }
  mlx5dv_devx_uar* const uar = allocate(MLX5DV_UAR_ALLOC_TYPE_BF);
  if (uar != nullptr) pages_[uar].combines = true;
  return uar;
}

// Of the registers of a page one is for a queue without a record.
Result<mlx5dv_devx_uar*> DoorbellPages::take_recordless_page() {
  const auto is_free = [this](const Pages::value_type& one) {
    return !has_recordless(one.first->page_id);
  };
  auto found = std::ranges::find_if(pages_, is_free);
  for (const std::uint32_t type : {kDedicatedPage, std::uint32_t{MLX5DV_UAR_ALLOC_TYPE_BF}}) {
    if (found == pages_.end()) found = find_new(type);
  }
  if (found == pages_.end()) {
    const Error why = nic_.failure(std::string(kAlloc) + kForRecordless, errno);
    return Error(why.code(), why.message() + "; GDAKIT_DOORBELL_RECORDS=on does without");
  }
  ++found->second.users;
  found->second.has_recordless = true;
  return found->first;
}

// A new register of that type on a page that has no such queue, or the end. libmlx5 may hand out
// all those of a page before another page, or the same one each time.
DoorbellPages::Pages::iterator DoorbellPages::find_new(std::uint32_t type) {
  for (int i = 0; i < kRegistersOfAPage; ++i) {
    mlx5dv_devx_uar* const uar = allocate(type);
    if (uar == nullptr) return pages_.end();
    const auto [page, is_new] = pages_.try_emplace(uar);
    if (!is_new) break;
    page->second.combines = type == MLX5DV_UAR_ALLOC_TYPE_BF;
    if (!has_recordless(uar->page_id)) return page;
  }
  errno = ENOSPC;
  return pages_.end();
}

bool DoorbellPages::has_recordless(std::uint32_t page_id) const {
  return std::ranges::any_of(pages_, [page_id](const Pages::value_type& known) {
    return known.second.has_recordless && known.first->page_id == page_id;
  });
}

}  // namespace gdakit::mlx5
