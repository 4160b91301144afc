// What the data path returns. A queue breaks once; every later post, wait and quiet on it says so.
#pragma once

#include <cstdint>

#include "core/base/annotate.h"
#include "core/format/cqe.h"

namespace gdakit {

enum class StatusCode : std::uint8_t {
  ok,
  queue_error,       // an error CQE broke the queue: see syndrome
  stalled,           // a wait exceeded the watchdog's limit: see the stall report
  invalid_address,   // memory that is neither in the symmetric heap nor registered
  invalid_argument,  // what else fault.h lists
  peer_lost,         // the wait needs a PE that is gone: see peer (Context::lost_pes says why)
};

// The outcome of an operation or of waiting for it.
struct Status {
  StatusCode code = StatusCode::ok;
  format::Syndrome syndrome = format::Syndrome::none;  // of queue_error
  // The PE at the other end of the failed queue, of DC one of those that share it; or that is lost.
  std::int32_t peer = -1;

  GDAKIT_HOST_DEVICE constexpr bool ok() const { return code == StatusCode::ok; }
  GDAKIT_HOST_DEVICE constexpr explicit operator bool() const { return ok(); }
  friend GDAKIT_HOST_DEVICE constexpr bool operator==(const Status& a, const Status& b) {
    return a.code == b.code && a.syndrome == b.syndrome && a.peer == b.peer;
  }
  friend GDAKIT_HOST_DEVICE constexpr bool operator!=(const Status& a, const Status& b) {
    return !(a == b);
  }
};

// Hands a status to a caller who asked for it.
GDAKIT_HOST_DEVICE inline void give(Status* out, Status status) {
  if (out != nullptr) *out = status;
}

// Names a posted operation: done when its queue to `peer` has completed all below `index`.
struct Ticket {
  std::uint32_t queue = 0;
  std::int32_t peer = -1;
  std::uint64_t index = 0;
  Status status;  // of the posting itself; a ticket whose status is not ok() names nothing
};

// An error CQE as it is kept in one word of the queue's state: 0 while the queue is healthy.
struct QueueError {
  std::uint64_t word = 0;

  static constexpr std::uint64_t kBroken = std::uint64_t{1} << 63;
  static constexpr std::uint64_t kAbandoned = std::uint64_t{1} << 62;
  // In place of a WQE's opcode: the error is one of a receive queue.
  static constexpr std::uint8_t kReceive = 0xff;

  GDAKIT_HOST_DEVICE static constexpr QueueError from_cqe(std::uint8_t syndrome,
                                                          std::uint8_t vendor_syndrome,
                                                          std::uint8_t opcode,
                                                          std::uint16_t wqe_index) {
    return {kBroken | (std::uint64_t{syndrome} << 40) | (std::uint64_t{vendor_syndrome} << 32) |
            (std::uint64_t{opcode} << 16) | wqe_index};
  }
  // A poster gave its slots up after a stall: nothing behind them can ever be rung.
  GDAKIT_HOST_DEVICE static constexpr QueueError abandoned() { return {kBroken | kAbandoned}; }

  GDAKIT_HOST_DEVICE constexpr explicit operator bool() const { return word != 0; }
  GDAKIT_HOST_DEVICE constexpr bool is_abandoned() const { return (word & kAbandoned) != 0; }
  GDAKIT_HOST_DEVICE constexpr format::Syndrome syndrome() const {
    return static_cast<format::Syndrome>(static_cast<std::uint8_t>(word >> 40));
  }
  GDAKIT_HOST_DEVICE constexpr std::uint8_t vendor_syndrome() const {
    return static_cast<std::uint8_t>(word >> 32);
  }
  GDAKIT_HOST_DEVICE constexpr std::uint8_t opcode() const {
    return static_cast<std::uint8_t>(word >> 16);
  }
  GDAKIT_HOST_DEVICE constexpr std::uint16_t wqe_index() const {
    return static_cast<std::uint16_t>(word);
  }
};

}  // namespace gdakit
