// What the transports of an engine share: all that its queues share, its wire, and the ways to send
// a packet (payload.cc).
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "backends/softnic/objects/addresses.h"
#include "backends/softnic/objects/number_table.h"
#include "backends/softnic/queues/queue_core.h"
#include "backends/softnic/queues/srq.h"
#include "backends/softnic/transport/buffer_pool.h"
#include "backends/softnic/transport/connection.h"
#include "backends/softnic/wire/wire.h"
#include "core/base/bits.h"

namespace gdakit::softnic {

class Core : public QueueCore {
 public:
  // `srqs`: those that packets of XRC may name, which come and go.
  Core(DmaPort& dma_port, Wire& packet_wire, std::uint32_t buffers, EventSink* sink,
       const NumberTable<Srq>& srqs);

  // The path of the queue pair is known.
  void begin(Connection& connection) const;
  // ... of one whose packets nobody acknowledges.
  void begin_unreliable(Connection& connection) const;

  // Sends the packet behind what the outbox holds. A payload in fragments goes by reference or,
  // where the wire wants it so or they are too many, is read into a buffer first. False: no room
  // now, nothing has happened.
  bool send(Connection& connection, Packet& packet);
  // Whether the last send has returned false since memory of its payload is not there, in a region
  // that is paged on demand: then it does not help to try again. Tells it once.
  bool was_absent() { return std::exchange(absent_, false); }
  // Sends what waits in the outbox; in state err drops it, and likewise what the wire has no room
  // for if it `may_lose` that.
  Turn drain_outbox(Connection& connection, bool may_lose = false);
  // Sends the CNP that is due, if there is room.
  Turn send_cnp(Connection& connection);
  // Gives up what waits in the outbox; no DMA may write to it any more.
  void give_back_buffers(Connection& connection);

  // Of an initiator of DC: later than all before, also of those who had this NIC's place. A quarter
  // of a millisecond, modulo 2^32: which of two is later is plain if they are less than six days
  // apart.
  std::uint32_t next_epoch() {
    last_epoch_ = std::max(last_epoch_ + 1, now_ns >> 18);
    return static_cast<std::uint32_t>(last_epoch_);
  }

  // The shared receive queue of this number. Null: there is none.
  Srq* srq(SrqNumber number) const { return srqs_.find(number); }

  Wire& wire;
  const bool orders_ends;         // of the port: DmaPort::orders_ends
  const std::uint32_t psn_bytes;  // the wire's: paths may have less
  const std::uint32_t value_mtu;
  AddressResolver* addresses = nullptr;  // null: no datagram finds its way
  std::vector<Fragment> pieces;          // of the payload that is to be gathered
  std::unordered_set<Endpoint> overdue;  // the wire has long had no room for packets to them
  // Of queue pairs that are connected from now on, the first and the last of them where packets get
  // lost (connection.h).
  bool adaptive_retransmission = false;
  bool congestion_control = false;
  bool selective_repeat = false;
  std::uint64_t dc_idle_ns = 0;  // an initiator of DC keeps a connection for that long without work

 private:
  bool send_now(Connection& connection, const Packet& packet);
  bool send_or_keep(Connection& connection, Packet& packet);
  static bool has_room(const Connection& connection, const Packet& packet);
  static bool read_on_demand_pieces(std::uint8_t* buffer, std::span<const Fragment> from);
  bool send_by_value(Connection& connection, Packet& packet, std::span<const Fragment> from);

  const NumberTable<Srq>& srqs_;
  BufferPool buffers_;
  bool absent_ = false;
  std::uint64_t last_epoch_ = 0;
};

}  // namespace gdakit::softnic
