// The receive side of a channel: giving buffers to the NIC, and looking for messages.
//
//   thread                                          NIC
//   ------                                          ---
//   stores the receive WQE
//   stores the record        ReceiveBeforeRecord
//                                                   a message comes: reads the record and the WQE,
//                                                   writes the message, then the CQE
//   loads the CQE's tail     MessageBeforeData
//   reads the message
//
// One thread at a time receives on a channel. There is no doorbell: a NIC that finds no receive
// tells the sender to come again later (RNR).
#pragma once

#include "device/address.h"
#include "device/channel_views.h"
#include "device/completion.h"
#include "device/watchdog.h"

namespace gdakit::receiving {

inline constexpr std::size_t kCqeWords = sizeof(format::Cqe64) / sizeof(std::uint64_t);
// The words in whose upper half the two fields stand.
inline constexpr std::size_t kImmediateWord = offsetof(format::Cqe64, imm_inval_pkey) / 8;
inline constexpr std::size_t kByteCountWord = offsetof(format::Cqe64, byte_cnt) / 8;
static_assert(offsetof(format::Cqe64, imm_inval_pkey) % 8 == 4 &&
              offsetof(format::Cqe64, byte_cnt) % 8 == 4);

// Local memory as the data segments of one WQE name it: the pieces of one message.
template <std::uint32_t kMost>
struct Pieces {
  Span span[kMost];  // `bytes` of each are those of the message
  std::uint32_t count = 0;
  bool all_named = true;  // false: not all of the memory is registered,
  bool fits = true;       // ... or it lies in more pieces
};

template <std::uint32_t kMost>
GDAKIT_DEVICE Pieces<kMost> cut(const DeviceContext& context, AddressMemo& memo, std::uint32_t nic,
                                std::uint64_t address, std::uint64_t bytes) {
  Pieces<kMost> pieces;
  GDAKIT_UNROLL
  for (std::uint32_t i = 0; i < kMost; ++i) {
    if (bytes == 0) break;
    Span span = memo.local_span(context, address, nic);
    if (span.bytes == 0) {
      pieces.all_named = false;
      return pieces;
    }
    if (span.bytes > bytes) span.bytes = bytes;
    pieces.span[i] = span;
    pieces.count = i + 1;
    address += span.bytes;
    bytes -= span.bytes;
  }
  pieces.fits = bytes == 0;
  return pieces;
}

// Posts a receive into `buffer`, which lies where `pieces` say. There is room.
template <class M>
GDAKIT_DEVICE void post(M& m, const ReceiveView& view, const void* buffer,
                        const Pieces<kReceiveSegments>& pieces) {
  const std::uint64_t at = m.load_weak(&view.state->posted);
  m.store_weak(&view.state->posted, at + 1);
  format::Segment* const slot = view.slots + (at & (view.depth - 1)) * kReceiveSegments;
  GDAKIT_UNROLL
  for (std::uint32_t i = 0; i < kReceiveSegments; ++i) {
    if (i > pieces.count) break;
    const Span& span = pieces.span[i];
    const bool ends = i == pieces.count;
    const auto address = reinterpret_cast<std::uint64_t>(buffer);
    m.store_weak(&slot[i],
                 format::to_segment(ends ? format::data(address, kEndOfReceive, 0)
                                         : format::data(span.address, span.key,
                                                        static_cast<std::uint32_t>(span.bytes))));
  }
  m.store(order::ReceiveBeforeRecord{}, view.record, format::doorbell_record_value(at + 1).raw());
}

template <class M>
GDAKIT_DEVICE std::uint64_t outstanding(M& m, const ReceiveView& view) {
  return m.load_weak(&view.state->posted) - m.load_weak(&view.state->consumed);
}

// The upper half of a word of the CQE, as a big-endian number.
template <class M>
GDAKIT_DEVICE std::uint32_t upper_half(M& m, const std::uint64_t* word) {
  const std::uint64_t value = m.load_weak(word);
  return Be32::from_raw(static_cast<std::uint32_t>(value >> 32));
}

// Keeps the error that a CQE of the receive side tells. One that is flushed tells that the queue
// pair was broken before, perhaps by a WQE of the send queue, whose CQE says more.
template <class M>
GDAKIT_DEVICE Status broken(M& m, const QueueView& queue, const std::uint64_t* cqe,
                            format::CqeTail tail) {
  const std::uint64_t detail = m.load_weak(&cqe[kCqeSyndromeWord]);
  const QueueError error = QueueError::from_cqe(static_cast<std::uint8_t>(detail >> 56),
                                                static_cast<std::uint8_t>(detail >> 48),
                                                QueueError::kReceive, tail.wqe_counter());
  if (error.syndrome() == format::Syndrome::flushed) poll_completion(m, queue);
  m.compare_exchange(order::RelaxedGpu{}, &queue.state->error, std::uint64_t{0}, error.word);
  return queue_status(m, queue);
}

// The next message of a channel, if it has come, without taking it out: `queue` is the channel's
// send side.
template <class M>
GDAKIT_DEVICE Received poll(M& m, const QueueView& queue, const ReceiveView& view) {
  Received received;
  const std::uint64_t number = m.load_weak(&view.state->consumed);
  const std::uint64_t slot = number & (view.depth - 1);
  const std::uint64_t* const cqe = view.cqes + slot * kCqeWords;
  const format::CqeTail tail{m.load(order::MessageBeforeData{}, &cqe[kCqeTailWord])};
  const bool odd_lap = (number & view.depth) != 0;
  if (tail.opcode() == format::CqeOpcode::invalid || ((tail.op_own() & 1) != 0) != odd_lap) {
    return received;
  }
  if (is_error(tail.opcode())) {
    received.status = broken(m, queue, cqe, tail);
    return received;
  }
  const format::Segment* const wqe = view.slots + slot * kReceiveSegments;
  received.peer = queue.peer;
  received.bytes = upper_half(m, &cqe[kByteCountWord]);
  received.is_put = tail.opcode() == format::CqeOpcode::responder_write_imm;
  received.has_immediate = tail.opcode() != format::CqeOpcode::responder_send;
  if (received.has_immediate) received.immediate = upper_half(m, &cqe[kImmediateWord]);
  const std::uint64_t address = Be64::from_raw(m.load_weak(&wqe->high));
  received.buffer = reinterpret_cast<void*>(address);
  received.number = number;
  return received;
}

// Takes the next message out, which poll has found.
template <class M>
GDAKIT_DEVICE void consume(M& m, const ReceiveView& view) {
  m.store_weak(&view.state->consumed, m.load_weak(&view.state->consumed) + 1);
}

}  // namespace gdakit::receiving
