// Pages of doorbell registers (UARs) of a NIC: a dedicated one for each queue where the driver has
// such, and until it has no more to give; else queues share one. None is write-combining
// (BlueFlame): what a thread of the host stores there might wait in a buffer.
#pragma once

#include <cstdint>
#include <map>

#include "backends/mlx5/open_nic.h"

namespace gdakit::mlx5 {

class DoorbellPages {
 public:
  explicit DoorbellPages(const OpenNic& nic) : nic_(nic) {}
  ~DoorbellPages();
  DoorbellPages(const DoorbellPages&) = delete;
  DoorbellPages& operator=(const DoorbellPages&) = delete;

  // Errors: the NIC gives none at all.
  Result<mlx5dv_devx_uar*> take();
  void give_back(mlx5dv_devx_uar* page) { --users_[page]; }

 private:
  const OpenNic& nic_;
  std::map<mlx5dv_devx_uar*, std::uint32_t> users_;
};

}  // namespace gdakit::mlx5
