// The sending half of a queue pair whose packets nobody acknowledges (UC, UD). What happens to it
// is in unreliable_requester.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "backends/softnic/objects/addresses.h"
#include "backends/softnic/queues/request.h"
#include "backends/softnic/queues/send_queue.h"
#include "backends/softnic/transport/connection.h"
#include "backends/softnic/transport/gather.h"

namespace gdakit::softnic {

struct UnreliableSend {
  UnreliableSend(Connection& way, SendQueue& source) : qp(way.qp), connection(way), queue(source) {}

  // Everything that was started has completed.
  bool idle() const { return !loaded; }

  QpCommon& qp;
  Connection& connection;
  SendQueue& queue;

  bool loaded = false;  // a WQE is being sent: `request`
  Request request;
  std::uint32_t index = 0;     // of that WQE: the low half
  Fault fault;                 // that it fails with
  DmaOp op;                    // what must be done before it completes, its packets apart
  bool sent = false;           // the wire or the outbox has all its packets
  std::uint64_t removals = 0;  // of keys, when its memory was found
  Gather gather;
  // Of a datagram: who it is for, which are several of a multicast group, and how many of those it
  // has been sent to. Nobody: it is lost.
  std::vector<Receiver> to;
  std::size_t reached = 0;

  std::uint32_t next_psn = 0;
  bool stopped = false;                // in state sqd: no WQE is started
  std::uint64_t flush_end = 0;         // what was announced before the queue was brought back
  bool flushes_record = false;         // ... and what the record says, which is on its way
  bool flushing = false;               // what was started has been given up
  std::uint64_t no_room_since_ns = 0;  // for the next packet of the WQE; 0: none has waited
};

}  // namespace gdakit::softnic
