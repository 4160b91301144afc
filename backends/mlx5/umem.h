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

// The pages that a umem may be made of, a bit for each power of two: the host's own, and all
// smaller ones. Larger ones would bind CQs to fewer places.
inline std::uint64_t umem_page_sizes(const OpenNic& nic) { return 2 * nic.page_bytes() - 1; }

// Memory with a number; given up with this.
class Umem {
 public:
  // Errors name each way that was tried.
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
  // ... of a CQ, which lies at a multiple of 1/64 of a page. Errors (unavailable): not this one, on
  // this host's pages.
  Result<std::uint64_t> offset_of_cq(const void* cqes) const;

 private:
  Umem(const OpenNic& nic, mlx5dv_devx_umem* umem, std::uint64_t base)
      : nic_(nic), umem_(umem), base_(base) {}
  const OpenNic& nic_;
  mlx5dv_devx_umem* umem_;
  const std::uint64_t base_;
};

}  // namespace gdakit::mlx5
