// Memory that a NIC may use: by keys, as WQEs name it, or by numbers, as commands do. Where it is a
// GPU's, it is named by a dma-buf; if the kernel takes none, by its address, which a driver for
// peer memory (nvidia-peermem) knows.
#pragma once

#include <cstdint>
#include <memory>

#include "backends/mlx5/open_nic.h"
#include "core/host/memory/memory_provider.h"

namespace gdakit::mlx5 {

// A region with keys, the caller's to deregister; its addresses are those of `base` and on. Errors
// name each way that was tried.
Result<ibv_mr*> register_region(const OpenNic& nic, MemoryProvider& memory, void* base,
                                std::uint64_t bytes, unsigned access);

// Memory with a number; given up with this.
class Umem {
 public:
  // Errors name each way that was tried. Hosts whose pages are not of 4 KiB are refused: a NIC
  // would have to be given larger ones, and then queues lie elsewhere than HostQueue has them.
  static Result<std::unique_ptr<Umem>> make(const OpenNic& nic, MemoryProvider& memory, void* base,
                                            std::uint64_t bytes);
  ~Umem();
  // 0, or why it is still there.
  int give_up();
  Umem(const Umem&) = delete;
  Umem& operator=(const Umem&) = delete;

  std::uint32_t id() const { return umem_->umem_id; }
  std::uint64_t offset_of(const void* address) const {
    return reinterpret_cast<std::uint64_t>(address) - base_;
  }

 private:
  Umem(const Libraries& libraries, mlx5dv_devx_umem* umem, std::uint64_t base)
      : libraries_(libraries), umem_(umem), base_(base) {}
  const Libraries& libraries_;
  mlx5dv_devx_umem* umem_;
  const std::uint64_t base_;
};

}  // namespace gdakit::mlx5
