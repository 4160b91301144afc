// The memory of a queue of a test.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/host/backend.h"

namespace gdakit::mlx5 {

// Receives, slots, CQE, doorbell record, CQEs of receives.
class QueueBlock {
 public:
  static constexpr std::uint32_t kDepth = 64, kReceives = 4;
  static constexpr std::uint64_t kSlots = 256, kCqe = kSlots + 4096, kRecord = kCqe + 64,
                                 kReceiveCqes = kRecord + 64;

  QueueMemory memory(bool receives = true) {
    QueueMemory memory;
    memory.slots = bytes_.data() + kSlots;
    memory.depth = kDepth;
    memory.cqe = bytes_.data() + kCqe;
    memory.doorbell_record = bytes_.data() + kRecord;
    if (!receives) return memory;
    memory.receive_slots = bytes_.data();
    memory.receive_depth = kReceives;
    memory.receive_cqes = bytes_.data() + kReceiveCqes;
    return memory;
  }
  std::uint8_t* cqe() { return bytes_.data() + kCqe; }
  std::uint8_t* data() { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }

 private:
  alignas(4096) std::array<std::uint8_t, 8192> bytes_{};
};

}  // namespace gdakit::mlx5
