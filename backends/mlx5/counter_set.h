// What a NIC counts for the queue pairs of a PE, by a set of counters (Q counters) that they join.
#pragma once

#include <memory>

#include "backends/mlx5/open_nic.h"
#include "core/host/counters.h"

namespace gdakit::mlx5 {

class CounterSet {
 public:
  // Errors: the firmware has none left, or none at all.
  static Result<std::unique_ptr<CounterSet>> make(const OpenNic& nic);

  std::uint8_t id() const { return id_; }
  // Since it was made. Counters that this kind of set does not have are 0. The NIC's own have 32
  // bits: they are followed over their end if they are read before they come there twice. What was
  // told last where the firmware does not answer.
  const NicCounters& read();

 private:
  CounterSet(const OpenNic& nic, DevxObject object, std::uint8_t id)
      : nic_(nic), object_(std::move(object)), id_(id) {}
  const OpenNic& nic_;
  DevxObject object_;
  const std::uint8_t id_;
  NicCounters told_;
};

}  // namespace gdakit::mlx5
