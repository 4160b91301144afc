// Pages of doorbell registers (UARs) of a NIC: a dedicated one for each queue where the driver has
// such, and until it has no more to give; else queues share one. Where it gives neither they have
// write-combining ones (BlueFlame), likewise, where a thread of the host has to push each store out
// (core/base/register_store.h) and a GPU stores as anywhere.
//
// Queues whose doorbells have no record ring at another register. No two of them have the same
// one, for nothing tells of a doorbell that another has overwritten. Where pages run out they take
// write-combining ones: GPUs alone ring for them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "backends/mlx5/open_nic.h"
#include "core/host/memory/memory_provider.h"

namespace gdakit::mlx5 {

// MLX5DV_UAR_ALLOC_TYPE_NC_DEDICATED, which older headers lack and older libraries refuse.
inline constexpr std::uint32_t kDedicatedPage = std::uint32_t{1} << 31;

class DoorbellPages {
 public:
  // `memory` is that of the device whose threads are to ring.
  DoorbellPages(const OpenNic& nic, MemoryProvider& memory) : nic_(nic), memory_(memory) {}
  ~DoorbellPages();
  DoorbellPages(const DoorbellPages&) = delete;
  DoorbellPages& operator=(const DoorbellPages&) = delete;

  // Takes a page from the NIC, for the first queue. Errors: as take()'s of the NIC.
  Result<void> reserve();
  // Behind reserve(): whether the device's threads can reach a page, or why not.
  Result<void> map_for_device();
  // No page from now on is mapped for the device.
  void leave_to_host() { for_device_ = false; }

  struct Doorbell {
    mlx5dv_devx_uar* page = nullptr;
    std::uint64_t* host = nullptr;
    std::uint64_t* device = nullptr;  // null: its threads cannot reach it
  };
  // Errors: the NIC gives none at all, or none that can be used, or the device's driver does not
  // map it.
  Result<Doorbell> take();
  void give_back(mlx5dv_devx_uar* page) { --pages_.at(page).users; }
  // Likewise, for queues without records.
  Result<void> reserve_recordless();
  Result<Doorbell> take_recordless();
  void give_back_recordless(mlx5dv_devx_uar* page) {
    pages_.at(page).has_recordless = false;
    give_back(page);
  }

 private:
  struct Page {
    std::uint32_t users = 0;
    bool has_recordless = false;  // among them
    bool combines = false;        // writes
  };
  using Pages = std::map<mlx5dv_devx_uar*, Page>;

  Result<mlx5dv_devx_uar*> take_page();
  Pages::iterator least_used(bool combines);
  mlx5dv_devx_uar* use(mlx5dv_devx_uar* uar);
  mlx5dv_devx_uar* allocate_new(bool combines);
  Result<mlx5dv_devx_uar*> take_recordless_page();
  Pages::iterator find_new(std::uint32_t type);
  bool has_recordless(std::uint32_t page_id) const;
  mlx5dv_devx_uar* allocate(std::uint32_t type);
  Error none_left() const;
  Result<Doorbell> doorbell_at(mlx5dv_devx_uar* uar, void* place);
  Result<void> check(const mlx5dv_devx_uar& uar) const;
  char* page_of(char* doorbell) const;
  Result<char*> map(char* page);

  const OpenNic& nic_;
  MemoryProvider& memory_;
  bool for_device_ = true;
  Pages pages_;
  std::map<char*, char*> mapped_;  // pages, each of which may have several registers, as devices do
};

}  // namespace gdakit::mlx5
