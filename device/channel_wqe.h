// What channels post: SENDs, and RDMA_WRITEs with and without an immediate.
#pragma once

#include "device/receive_queue.h"
#include "device/wqe_writer.h"

namespace gdakit {

namespace channels {

// What a message's WQE says, but for its local memory.
struct Message {
  format::Opcode opcode;
  Be32 immediate{0};
  Span remote{};  // of an RDMA_WRITE
};

GDAKIT_HOST_DEVICE constexpr bool is_write(format::Opcode opcode) {
  return opcode == format::Opcode::rdma_write || opcode == format::Opcode::rdma_write_imm;
}

// SEND, or RDMA_WRITE with or without an immediate, of `pieces`; one WQEBB.
template <class M, std::uint32_t kMost>
GDAKIT_DEVICE void write_wqe(M& m, const QueueView& queue, std::uint64_t index,
                             std::uint8_t fm_ce_se, const Message& message,
                             const receiving::Pieces<kMost>& pieces) {
  static_assert(kMost <= kSendPieces);
  format::Segment* const at = queue.slots + (index & (queue.depth - 1)) * format::kSegmentsPerWqebb;
  const auto store = [&](std::uint32_t number, const format::Segment& segment) {
    m.store_weak(&at[number], segment);
  };
  const bool writes = is_write(message.opcode);
  const std::uint32_t first = writes ? 2 : 1;
  store(0, control_segment(queue, index, message.opcode, 0, first + pieces.count, fm_ce_se,
                           message.immediate));
  if (writes) {
    store(1,
          format::to_segment(format::remote_address(message.remote.address, message.remote.key)));
  }
  GDAKIT_UNROLL
  for (std::uint32_t i = 0; i < kMost; ++i) {
    if (i == pieces.count) break;
    const Span& span = pieces.span[i];
    const auto bytes = static_cast<std::uint32_t>(span.bytes);
    store(first + i, format::to_segment(format::data(span.address, span.key, bytes)));
  }
}

}  // namespace channels

}  // namespace gdakit
