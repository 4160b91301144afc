// Writing one WQE into its slots: values built in registers, stored as 16-byte segments. Where a
// host thread builds the WQEs (Handler::commands) the same functions store the command instead; the
// host thread then calls them for its own send queue.
#pragma once

#include <cstddef>

#include "core/format/address_vector.h"
#include "core/format/doorbell.h"
#include "device/address.h"
#include "device/cells.h"
#include "device/command.h"
#include "device/order.h"
#include "device/views.h"

namespace gdakit {

// The control segment of a WQE at `index`. The QP number is kept big-endian, as the segment wants
// it.
GDAKIT_HOST_DEVICE inline format::Segment control_segment(const QueueView& queue,
                                                          std::uint64_t index,
                                                          format::Opcode opcode, std::uint8_t opmod,
                                                          std::uint32_t ds, std::uint8_t fm_ce_se,
                                                          Be32 imm = Be32{0}) {
  return format::to_segment(
      format::ControlSegment{format::opmod_idx_opcode(opcode, format::wire_index(index), opmod),
                             Be32::from_raw(queue.qpn_shifted.raw() | (ds << 24)),
                             0,
                             {0, 0},
                             fm_ce_se,
                             imm});
}

// All segments of WQEs are stored here: so what mutants do to one of these stores, they do to all.
template <class M>
GDAKIT_DEVICE void store(M& m, format::Segment* at, const format::Segment& segment) {
  m.store_weak(at, segment);
}

// Stores the segments of a WQE of one WQEBB, that goes to no peer or is of RC.
template <class M, std::size_t kSegments>
GDAKIT_DEVICE void store_wqebb(M& m, const QueueView& queue, std::uint64_t index,
                               const format::Segment (&segments)[kSegments]) {
  static_assert(kSegments <= format::kSegmentsPerWqebb);
  format::Segment* const at = queue.slots + (index & (queue.depth - 1)) * format::kSegmentsPerWqebb;
  GDAKIT_UNROLL
  for (std::size_t i = 0; i < kSegments; ++i) store(m, &at[i], segments[i]);
}

// How many segments of a WQE of DC say that it is one, and where the peer is.
inline constexpr std::uint32_t kDcHead = 1 + sizeof(format::AvSegment) / format::kSegmentBytes;

// How many come before the others of a WQE that goes to a peer.
GDAKIT_HOST_DEVICE inline std::uint32_t head_of(const QueueView& queue) {
  return is_dc(queue) ? kDcHead : 1;
}

// Stores segment `number` (0, 1, ...) of the WQE that starts at slot `index`.
template <class M>
GDAKIT_DEVICE void store_segment(M& m, const QueueView& queue, std::uint64_t index,
                                 std::uint32_t number, const format::Segment& segment) {
  const std::uint64_t segments = std::uint64_t{queue.depth} * format::kSegmentsPerWqebb;
  const std::uint64_t at = (index * format::kSegmentsPerWqebb + number) & (segments - 1);
  store(m, &queue.slots[at], segment);
}

// Copies the segments that say where the peer is, of DC.
template <class M>
GDAKIT_DEVICE void store_address(M& m, const QueueView& queue, std::uint64_t index) {
  if (!is_dc(queue)) return;
  format::Segment* const at = queue.slots + (index & (queue.depth - 1)) * format::kSegmentsPerWqebb;
  GDAKIT_UNROLL
  for (std::uint32_t i = 1; i < kDcHead; ++i) store(m, &at[i], queue.address[i - 1]);
}

// Stores a WQE that takes one cell: its head, and two segments.
template <class M>
GDAKIT_DEVICE void store_in_cell(M& m, const QueueView& queue, std::uint64_t index,
                                 format::Opcode opcode, std::uint8_t fm_ce_se,
                                 const format::Segment& remote, const format::Segment& local) {
  const std::uint32_t head = head_of(queue);
  format::Segment* const at = queue.slots + (index & (queue.depth - 1)) * format::kSegmentsPerWqebb;
  store(m, &at[0], control_segment(queue, index, opcode, 0, head + 2, fm_ce_se));
  store(m, &at[head], remote);
  store(m, &at[head + 1], local);
  store_address(m, queue, index);
}

// RDMA_WRITE or RDMA_READ of `bytes` between `local` and `remote`; one cell.
template <class M>
GDAKIT_DEVICE void write_rdma(M& m, const QueueView& queue, std::uint64_t index,
                              format::Opcode opcode, std::uint8_t fm_ce_se, const Span& remote,
                              const Span& local, std::uint32_t bytes) {
  if (queue.handler == Handler::commands) {
    const bool reads = opcode == format::Opcode::rdma_read;
    Command command{reads ? CommandKind::read : CommandKind::write, fm_ce_se};
    command.bytes = bytes;
    command.remote = remote.address;
    command.rkey = remote.key;
    command.lkey = local.key;
    command.local = local.address;
    return store_command<2>(m, queue, index, command);
  }
  store_in_cell(m, queue, index, opcode, fm_ce_se,
                format::to_segment(format::remote_address(remote.address, remote.key)),
                format::to_segment(format::data(local.address, local.key, bytes)));
}

inline constexpr std::uint32_t kMaxInlineBytes = 8;

// RDMA_WRITE of `bytes` (at most 8) that stand in the WQE itself; one cell.
template <class M>
GDAKIT_DEVICE void write_inline(M& m, const QueueView& queue, std::uint64_t index,
                                std::uint8_t fm_ce_se, const Span& remote, std::uint64_t value,
                                std::uint32_t bytes) {
  if (queue.handler == Handler::commands) {
    Command command{CommandKind::write_value, fm_ce_se};
    command.bytes = bytes;
    command.remote = remote.address;
    command.rkey = remote.key;
    command.local = value;
    return store_command<2>(m, queue, index, command);
  }
  store_in_cell(m, queue, index, format::Opcode::rdma_write, fm_ce_se,
                format::to_segment(format::remote_address(remote.address, remote.key)),
                format::inline_value(value, bytes));
}

// Stores a NOP of one WQEBB.
template <class M>
GDAKIT_DEVICE void store_nop(M& m, const QueueView& queue, std::uint64_t index,
                             std::uint8_t fm_ce_se) {
  store_wqebb(m, queue, index,
              {control_segment(queue, index, format::Opcode::nop, 0, 1, fm_ce_se)});
}

// The slot for a WQE of one WQEBB that goes to no peer, in the cell at `index`: its last one. Of DC
// a NOP comes before it.
template <class M>
GDAKIT_DEVICE std::uint64_t fill_cell(M& m, const QueueView& queue, std::uint64_t index) {
  if (!is_dc(queue)) return index;
  store_nop(m, queue, index,
            format::fm_ce_se(format::FenceMode::none, format::Completion::on_error));
  return index + 1;
}

template <class M>
GDAKIT_DEVICE void write_nop(M& m, const QueueView& queue, std::uint64_t index,
                             std::uint8_t fm_ce_se) {
  if (queue.handler == Handler::commands) {
    return store_command<1>(m, queue, index, {CommandKind::nop, fm_ce_se});
  }
  store_nop(m, queue, fill_cell(m, queue, index), fm_ce_se);
}

// Reads one word of local memory and throws it away: what the NIC wrote here before is visible to
// the GPU's threads once this has completed.
template <class M>
GDAKIT_DEVICE void write_dump(M& m, const QueueView& queue, std::uint64_t index,
                              std::uint8_t fm_ce_se) {
  if (queue.handler == Handler::commands) {
    return store_command<1>(m, queue, index, {CommandKind::dump, fm_ce_se});
  }
  const auto sink = reinterpret_cast<std::uint64_t>(queue.sink);
  const std::uint64_t at = fill_cell(m, queue, index);
  store_wqebb(m, queue, at,
              {control_segment(queue, at, format::Opcode::dump, 0, 2, fm_ce_se),
               format::to_segment(format::data(sink, queue.sink_lkey, sizeof(std::uint64_t)))});
}

}  // namespace gdakit
