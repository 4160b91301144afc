// What a queue has completed. Its completion queue is collapsed: the NIC overwrites one CQE, whose
// 16-bit counter names the last WQE that asked for a completion; all before it have completed too.
#pragma once

#include "device/cells.h"
#include "device/order.h"
#include "device/status.h"
#include "device/views.h"

namespace gdakit {

inline constexpr std::size_t kCqeSyndromeWord = 6;  // bytes 48..55: vendor syndrome 54, syndrome 55
inline constexpr std::size_t kCqeTailWord = format::kCqeTailOffset / 8;

// Widens the CQE's counter against a completion index seen before. The result is never too high:
// more than `depth` ahead means that the CQE is older than `seen`.
GDAKIT_HOST_DEVICE constexpr std::uint64_t widen_counter(std::uint64_t seen, std::uint16_t count,
                                                         std::uint32_t depth) {
  const auto advance = static_cast<std::uint16_t>(count - static_cast<std::uint16_t>(seen));
  return advance <= depth ? seen + advance : seen;
}
static_assert(widen_counter(0xfffe, 0x0001, 64) == 0x10001);
static_assert(widen_counter(0x10001, 0xfffe, 32768) == 0x10001);

// Keeps the first error of a queue; `tail` has been acquired. The NIC may overwrite the CQE by that
// of a flushed WQE at any time: the syndrome then is the flushed one's already, and reads
// "flushed". Returns what the CQE said.
template <class M>
GDAKIT_DEVICE QueueError keep_error(M& m, const QueueView& queue, format::CqeTail tail) {
  const std::uint64_t detail = m.load(order::RelaxedNic{}, &queue.cqe[kCqeSyndromeWord]);
  const QueueError error = QueueError::from_cqe(static_cast<std::uint8_t>(detail >> 56),
                                                static_cast<std::uint8_t>(detail >> 48),
                                                tail.send_opcode(), tail.wqe_counter());
  m.compare_exchange(order::RelaxedGpu{}, &queue.state->error, std::uint64_t{0}, error.word);
  return error;
}

GDAKIT_HOST_DEVICE constexpr bool is_error(format::CqeOpcode opcode) {
  return opcode == format::CqeOpcode::requester_error ||
         opcode == format::CqeOpcode::responder_error;
}

// Looks at the CQE once. Returns the index below which all has completed.
template <class M>
GDAKIT_DEVICE std::uint64_t poll_completion(M& m, const QueueView& queue) {
  // Acquired first: the CQE that is read next is then at least as new as the one behind this index.
  const std::uint64_t seen = m.load(order::SlotFreeBeforeReuse{}, &queue.state->completed);
  const format::CqeTail tail{m.load(order::CompletionBeforeUse{}, &queue.cqe[kCqeTailWord])};
  if (tail.opcode() == format::CqeOpcode::invalid) return seen;
  // With a WQE its cell is done: of DC the counter names the first slot of that, or the last one.
  auto count = static_cast<std::uint16_t>((tail.wqe_counter() | log_cell(queue)) + 1);
  if (is_error(tail.opcode())) {
    const QueueError error = keep_error(m, queue, tail);
    // Before a WQE that failed by itself all have completed; of a flushed one that is not known.
    if (error.syndrome() == format::Syndrome::flushed) return seen;
    count = error.wqe_index();
  }
  const std::uint64_t completed = widen_counter(seen, count, queue.depth);
  if (completed != seen) {
    m.fetch_max(order::CompletionForOthers{}, &queue.state->completed, completed);
  }
  return completed;
}

// ok, or why the queue is broken.
template <class M>
GDAKIT_DEVICE Status queue_status(M& m, const QueueView& queue) {
  const QueueError error{m.load(order::RelaxedGpu{}, &queue.state->error)};
  if (!error) return {};
  if (error.is_abandoned()) return {StatusCode::stalled, format::Syndrome::none, queue.peer};
  return {StatusCode::queue_error, error.syndrome(), queue.peer};
}

}  // namespace gdakit
