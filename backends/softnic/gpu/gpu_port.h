// GpuPort: the soft NIC's DMA port where memory lies on a GPU, or partly there.
//
//   reads of GPU memory                       --> GpuReads
//   writes, copies, CQEs, atomics that touch  --> GpuWork --> GpuOrder, shared with other ports
//   GPU memory, or come behind some that do
//   anything else                             --> the host itself, at once
//
// With GDRCopy small reads and writes of GPU memory are of the last kind, too.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/dma/host_dma.h"
#include "backends/softnic/gpu/gdr_copy.h"
#include "backends/softnic/gpu/gpu_order.h"
#include "backends/softnic/gpu/gpu_reads.h"
#include "backends/softnic/queues/fifo.h"

namespace gdakit::softnic {

struct GpuPortOptions {
  std::shared_ptr<GpuOrder> order;
  // While true, every port that peers of this one use shares `order`: an operation is done when it
  // is launched, for what is queued later becomes visible later, or even when it is queued. Null:
  // never.
  std::shared_ptr<const std::atomic<bool>> early;
  bool other_gpus = false;  // copies may name memory of other GPUs
  std::size_t read_ring_bytes = 1u << 20;
  std::shared_ptr<GdrCopy> gdr;  // null: not used; of this port alone
};

class GpuPort final : public DmaPort {
 public:
  // Null if there is no pinned memory left.
  static std::unique_ptr<GpuPort> create(const GpuPortOptions& options);
  ~GpuPort() override;

  GpuOrder& order() const { return order_; }

  bool ordered() const override { return true; }
  bool orders_ends() const override { return true; }
  void order_chain(std::uint64_t chain) override { chain_ = chain; }

  void attach(DmaAddress base, std::uint64_t bytes) override;
  void detach(DmaAddress base, std::uint64_t bytes) override;

  DmaOp read(void* to, DmaAddress from, std::size_t size) override;
  DmaOp write(DmaAddress to, const void* from, std::size_t size) override;
  DmaOp copy(DmaAddress to, DmaAddress from, std::size_t size) override;
  DmaOp write_last(DmaAddress to, const void* from, std::size_t size) override;
  DmaOp copy_last(DmaAddress to, DmaAddress from, std::size_t size) override;
  DmaOp atomic(DmaAddress at, const AtomicRequest& request, std::uint64_t* old) override;
  DmaOp write_cqe(DmaAddress to, const format::Cqe64& cqe) override;
  DmaOp fence() override;
  DmaOp read_fence() override;

  bool lost() const override { return order_.device().failed(); }
  bool done(DmaOp op) override;
  void submit() override;
  void poll() override;

 private:
  // What an operation's number counts.
  enum class Kind : std::uint64_t { read, work, whole_work, fence };
  struct Fence {
    std::uint64_t reads = 0;
    std::uint64_t works = 0;
    std::uint64_t order = 0;  // works submitted by all ports
  };

  explicit GpuPort(const GpuPortOptions& options);
  static DmaOp op(Kind kind, std::uint64_t number) {
    return {number << 2 | static_cast<std::uint64_t>(kind)};
  }
  bool at_once() const { return filling_is_empty() && order_.quiet(); }
  // Where the host itself reaches the memory, if it does and may now; null otherwise.
  std::byte* within_reach(DmaAddress address, std::size_t size, std::size_t longest) const;
  static DmaAddress on_host(const std::byte* memory);
  // `ends`: the last byte is to be seen last.
  DmaOp write_range(DmaAddress to, const void* from, std::size_t size, bool ends);
  DmaOp copy_range(DmaAddress to, DmaAddress from, std::size_t size, bool ends);
  void write_mapped(std::byte* memory, const void* from, std::size_t size, std::size_t tail);
  bool early() const {
    return options_.early != nullptr && options_.early->load(std::memory_order_relaxed);
  }
  GpuWork& filling();
  DmaOp queued();
  bool filling_is_empty() const { return submitted_ == works_.tail(); }
  bool fence_passed(const Fence& fence) const;

  const GpuPortOptions options_;
  GpuOrder& order_;
  GpuReads reads_;
  HostDma host_;
  std::uint64_t chain_ = 0;
  std::vector<std::unique_ptr<GpuWork>> owned_;
  std::vector<GpuWork*> idle_;
  Fifo<GpuWork*> works_;         // submitted, then filling
  std::uint64_t submitted_ = 0;  // number of the first that is not submitted
  std::deque<Fence> fences_;
  std::uint64_t fences_passed_ = 0;
  std::uint64_t fences_made_ = 0;
};

}  // namespace gdakit::softnic
