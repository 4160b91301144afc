// A page of the host's memory, of zeros, that a NIC may use by a number.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/mlx5/umem.h"

namespace gdakit::mlx5 {

class HostPage {
 public:
  // Errors: as Umem::make's.
  static Result<HostPage> make(const OpenNic& nic);
  const Umem& umem() const { return *umem_; }

 private:
  struct Free {
    std::uint64_t bytes;
    void operator()(void* page) const;
  };
  std::unique_ptr<void, Free> memory_;
  std::unique_ptr<Umem> umem_;  // goes before its memory
};

}  // namespace gdakit::mlx5
