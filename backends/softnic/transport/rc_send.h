// The sending half of a reliable connection: what has been started, sent and acknowledged. What
// happens to it is in requester.h.
//
//   flights.head()          cursor               flights.tail()
//      v                       v                       v
//      | sent, not acknowledged  | to be sent (again)  |  the next WQE of the send queue
//
// A flight is a WQE that has been started and has not completed; flights complete in order. The
// cursor is the flight whose packets go out next: the tail, but while packets are sent again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/queues/growing_fifo.h"
#include "backends/softnic/queues/request.h"
#include "backends/softnic/queues/send_queue.h"
#include "backends/softnic/transport/connection.h"
#include "backends/softnic/transport/dc_initiator.h"
#include "backends/softnic/transport/gather.h"
#include "backends/softnic/transport/round_trip.h"
#include "backends/softnic/wire/wire.h"

namespace gdakit::softnic {

struct Flight {
  DmaOp op;                 // what must be done before it completes
  std::uint32_t index = 0;  // of the WQE: the low half
  std::uint32_t length = 0;
  std::uint32_t first_psn = 0;
  std::uint32_t last_psn = 0;   // known once `sent`
  std::uint32_t responses = 0;  // READ: PSNs of the responses that are here
  std::uint8_t scatter = 0;     // READ and atomic: which scatter list
  RequestKind kind = RequestKind::nop;
  format::Opcode opcode = format::Opcode::nop;
  format::Completion completion = format::Completion::on_error;
  std::uint8_t wqebbs = 0;
  bool sent = false;      // all its packets, once
  bool answered = false;  // READ and atomic: all responses are here
  Fault fault;
};
static_assert(sizeof(Flight) == 40);

struct ScatterSge {
  std::uint64_t iova = 0;
  std::uint32_t size = 0;
  MemoryKey lkey = 0;
};

// Where the responses of one READ or atomic go. Keys are looked up again with each response.
struct ScatterList {
  std::uint8_t atomic_size = 0;
  std::vector<ScatterSge> sges;
};

struct RcSend {
  // `window` WQEs at most are started and not completed.
  RcSend(Connection& way, SendQueue& source, std::uint32_t window)
      : qp(way.qp),
        connection(way),
        queue(source),
        flights(static_cast<std::uint32_t>(std::min<std::uint64_t>(window, qp.send_depth()))) {}

  // The WQE of a flight.
  std::uint64_t index_of(const Flight& flight) const {
    const std::uint64_t completed = queue.completed();
    return completed + (flight.index - static_cast<std::uint32_t>(completed));
  }
  // When the requester is to be told the time; 0: never. Who may not send is not late with answers.
  std::uint64_t next_time_ns() const {
    if (blocked_until_ns != 0) return blocked_until_ns;
    if (timer_ns != 0 || dc == nullptr || !flights.empty()) return timer_ns;
    return dc->idle_until_ns;
  }

  QpCommon& qp;
  Connection& connection;
  SendQueue& queue;

  GrowingFifo<Flight> flights;
  std::uint64_t cursor = 0;    // number of a flight; flights.tail(): a WQE not yet started
  bool loaded = false;         // `request` is the cursor's WQE, and these say how far it is:
  std::uint64_t removals = 0;  // of keys, when its memory was found
  Gather gather;
  std::uint32_t psn = 0;  // of the cursor's next packet
  Request request;

  std::uint32_t next_psn = 0;     // of the first packet never sent
  std::uint32_t unacked_psn = 0;  // everything before is acknowledged
  std::uint32_t asked_psn = 0;    // everything before is to be answered or acknowledged
  std::uint32_t large_psn = 0;    // everything sent from here on, if anything, is small
  bool stopped = false;           // no WQE is started: one has failed, or the state is sqd
  bool abandoned = false;         // the queue pair has failed: there are no flights any more
  bool in_doubt = false;          // something was lost or late; no progress since
  bool gap_seen = false;  // a lost packet has been sent or asked for again; no progress since
  // Everything sent from here on, if anything, is by value, and so a peer may have kept it.
  std::uint32_t reference_psn = 0;
  std::unique_ptr<DcInitiator> dc;   // of an initiator of DC alone
  std::optional<Recall> withdrawal;  // of all that was sent, before the first CQE with an error

  std::uint32_t unfinished_reads = 0;  // READs and atomics among the flights
  std::uint32_t next_scatter = 0;
  std::vector<ScatterList> scatters;  // from the first of those on

  std::uint64_t timer_ns = 0;          // when it is sent again; 0: no timer runs
  std::uint64_t late_ns = 0;           // when that is a retry; 0: not known
  RoundTrip round_trip;                // with adaptive retransmission
  std::uint64_t blocked_until_ns = 0;  // RNR wait; 0: none
  std::uint32_t retries = 0;
  std::uint32_t rnr_retries = 0;

  // Selective repeat: behind the packets that go out again, the requester goes on here.
  struct Place {
    std::uint64_t cursor;
    std::uint32_t psn;
  };
  std::optional<Place> ahead;
  // One goes out again for a gap; twice as many, if it begins where the last ones ended.
  std::uint32_t repeats = 0;
  std::uint32_t repeated_psn = 0;  // behind the last of them
};

}  // namespace gdakit::softnic
