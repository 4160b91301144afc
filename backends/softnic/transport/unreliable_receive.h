// The receiving half of a queue pair that answers nothing (UC, UD). What happens to it is in
// unreliable_responder.h.
#pragma once

#include <array>
#include <cstdint>

#include "backends/softnic/queues/fifo.h"
#include "backends/softnic/queues/receive_source.h"
#include "backends/softnic/transport/connection.h"
#include "core/format/cqe.h"

namespace gdakit::softnic {

inline constexpr std::uint32_t kArrivals = 64;

// A packet whose bytes are on their way to memory.
struct Arrival {
  DmaOp op;
  format::Cqe64 cqe;                                // of the message that it ends
  bool completes = false;                           // ... which makes that CQE
  std::array<std::uint8_t, format::kGrhBytes> grh;  // of a datagram, read by DMA
};

struct UnreliableReceive {
  enum class Message : std::uint8_t { none, write, send };

  // `from`: null if it has no receive WQEs.
  UnreliableReceive(Connection& way, ReceiveSource* from)
      : qp(way.qp), connection(way), source(from), arrivals(kArrivals) {}

  // As RcReceive's.
  bool holds_receives() const { return claimed || !arrivals.empty(); }

  QpCommon& qp;
  Connection& connection;
  ReceiveSource* source;

  // UC: the message of which packets have come, all of them so far.
  Message message = Message::none;
  std::uint32_t expected_psn = 0;
  std::uint32_t rkey = 0;
  std::uint64_t address = 0;    // write: of the next byte
  std::uint64_t remaining = 0;  // write: bytes still to come
  std::uint32_t received = 0;   // bytes

  bool claimed = false;  // `wqe` is the message's; of one that is given up it is the next one's
  ReceiveWqe wqe;
  std::uint32_t first_segment = 0;  // of it
  Fault fault;                      // of the receive WQE: with it the queue pair fails

  Fifo<Arrival> arrivals;
};

}  // namespace gdakit::softnic
