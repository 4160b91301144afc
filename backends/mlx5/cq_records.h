// Doorbell records of completion queues. Firmware asks for one of each CQ. Nobody writes these: as
// overrun is ignored, the NIC never needs to know how far a consumer has got.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/mlx5/host_page.h"

namespace gdakit::mlx5 {

class CqRecords {
 public:
  explicit CqRecords(const OpenNic& nic) : nic_(nic) {}

  struct Record {
    const Umem* umem = nullptr;
    std::uint64_t offset = 0;
  };
  Result<Record> take();
  void give_back(Record record) { free_.push_back(record); }

 private:
  static constexpr std::uint64_t kSpacing = 64;

  const OpenNic& nic_;
  std::vector<HostPage> pages_;
  std::vector<Record> free_;
};

}  // namespace gdakit::mlx5
