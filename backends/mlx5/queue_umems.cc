#include "backends/mlx5/queue_umems.h"

#include "core/format/cqe.h"

namespace gdakit::mlx5 {
namespace {

// From the first byte of a queue's block to behind the last one.
struct Block {
  char* begin = nullptr;
  char* end = nullptr;
};

Block block_of(const QueueMemory& queue) {
  if (queue.receive_depth == 0) {
    return {static_cast<char*>(queue.slots),
            static_cast<char*>(queue.doorbell_record) + sizeof(QueueRecords)};
  }
  return {static_cast<char*>(queue.receive_slots),
          static_cast<char*>(queue.receive_cqes) +
              std::uint64_t{queue.receive_depth} * sizeof(format::Cqe64)};
}

}  // namespace

Result<std::shared_ptr<Umem>> QueueUmems::of(const QueueMemory& queue) {
  const auto [begin, end] = block_of(queue);
  if (queue.slab.bytes == 0) {
    Result<std::unique_ptr<Umem>> own =
        Umem::make(nic_, memory_, begin, static_cast<std::uint64_t>(end - begin));
    if (!own) return own.error();
    return std::shared_ptr<Umem>(std::move(*own));
  }
  const auto* const base = static_cast<const char*>(queue.slab.base);
  if (begin < base || end > base + queue.slab.bytes) {
    return Error(Code::invalid_argument, "create_queue: the queue is not within its slab");
  }
  return of_slab(queue.slab);
}

Result<std::shared_ptr<Umem>> QueueUmems::of_slab(const QueueSlab& slab) {
  std::erase_if(slabs_, [](const auto& known) { return known.second.expired(); });
  std::weak_ptr<Umem>& known = slabs_[{slab.base, slab.bytes}];
  if (std::shared_ptr<Umem> there = known.lock()) return there;
  Result<std::unique_ptr<Umem>> made = Umem::make(nic_, memory_, slab.base, slab.bytes);
  if (!made) return made.error();
  std::shared_ptr<Umem> shared = std::move(*made);
  known = shared;
  return shared;
}

}  // namespace gdakit::mlx5
