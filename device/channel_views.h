// Channels: queue pairs with a receive queue, for messages that both sides know of. These are the
// plain structs of them that a kernel takes by value or reads through a pointer; core/host fills
// them.
//
// One channel is one queue pair to one peer. Its send queue is a QueueView like any other. Beside
// it stand
//
//   receive queue      ring of `depth` receive WQEs, each a buffer in up to kReceiveSegments pieces
//   receive CQ         ring of as many CQEs, one for each receive WQE, in their order
//
//   consumed            posted           consumed + depth
//      v                   v                   v
//      | buffers posted    | free              |        in receive WQEs since the channel began
//
// Each posted receive makes one CQE, so a ring that is as deep cannot run over while `posted` stays
// within `consumed + depth`: the NIC need not be told how far the CQEs are consumed.
#pragma once

#include "device/views.h"

namespace gdakit {

// A receive WQE: data segments, the first ones up to that which says kEndOfReceive. Also where it
// is the first one of all, its address is that of the buffer.
inline constexpr std::uint32_t kReceiveSegments = 4;
inline constexpr std::uint32_t kReceiveWqeBytes = kReceiveSegments * format::kSegmentBytes;
inline constexpr Be32 kEndOfReceive{0x100};  // the lkey behind the last piece

// How many pieces of registered memory one message can be gathered from.
inline constexpr std::uint32_t kSendPieces = 3;

// Channels are numbered on, behind all other queues, where reports and tickets name them.
inline constexpr std::uint32_t kFirstChannel = 0x8000;

// The indices of one receive queue, which count from the channel's creation and never wrap. They
// are the receiving thread's own, who is one at a time.
struct alignas(16) ReceiveState {
  std::uint64_t posted;    // everything below was given to the NIC
  std::uint64_t consumed;  // everything below was handed to the kernel
};

// The receive side of one channel.
struct ReceiveView {
  format::Segment* slots;  // depth * kReceiveSegments
  std::uint64_t* cqes;     // depth * 8 words
  std::uint32_t* record;   // the receive word of the doorbell record, stored big-endian
  ReceiveState* state;
  std::uint32_t depth;  // receive WQEs, a power of two
  std::uint32_t unused;
};

// Channels that were added together: `count` to each PE. Taken by value. Valid as long as the
// Context that made them.
struct Channels {
  const QueueView* queues;      // [channel][pe]
  const ReceiveView* receives;  // [channel][pe]
  std::uint32_t count;          // to each PE
  std::uint32_t first;          // the number of the first one, from kFirstChannel on
};
static_assert(std::is_trivially_copyable_v<Channels>);

// A message that has arrived, or why none has.
struct Received {
  Status status;            // not ok: there is no message, and the rest says nothing
  std::int32_t peer = -1;   // the PE that sent it; -1: nothing has arrived
  std::uint32_t bytes = 0;  // of the message
  std::uint32_t immediate = 0;
  bool has_immediate = false;
  bool is_put = false;       // put_with_immediate: its bytes went where the sender said
  void* buffer = nullptr;    // as post_receive named it
  std::uint64_t number = 0;  // which post_receive of the channel to that peer: 0, 1, ...

  GDAKIT_HOST_DEVICE constexpr bool arrived() const { return peer >= 0; }
};

}  // namespace gdakit
