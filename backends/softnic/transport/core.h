// What the parts of an engine share: its port, its wire, its keys, the time, and the ways to send a
// packet (payload.cc) and to write a CQE (cqe_writer.cc).
#pragma once

#include <cstdint>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/memory/keys.h"
#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/transport/buffer_pool.h"
#include "backends/softnic/transport/qp.h"
#include "backends/softnic/wire/wire.h"
#include "core/base/bits.h"

namespace gdakit::softnic {

// What a turn of work on something came to.
struct Turn {
  bool worked = false;   // something has changed
  bool pending = false;  // it waits for DMA or for room on the wire: look again soon

  Turn& operator|=(Turn other) {
    worked |= other.worked;
    pending |= other.pending;
    return *this;
  }
};

class Core {
 public:
  Core(DmaPort& dma_port, Wire& packet_wire, std::uint32_t buffers, bool short_cqes);

  // How many PSNs a payload takes, of a packet or of all of a READ's responses.
  std::uint32_t psns_of(std::uint64_t payload) const {
    // A division takes as long as much of what else is done for a short packet.
    if (payload <= psn_bytes) return 1;
    return static_cast<std::uint32_t>(divide_up(payload, psn_bytes));
  }
  bool done(DmaOp op) { return op.id == 0 || port.done(op); }
  // `last` is the last operation of a series: what must be done for all of the series to be.
  DmaOp all_of(DmaOp last) { return ordered || last.id == 0 ? last : port.fence(); }

  // Sends the packet for `qp`, behind what its outbox holds. A payload in fragments goes by
  // reference or, where the wire wants it so, is read into a buffer first. False: no room now,
  // nothing has happened.
  bool send(Qp& qp, Packet& packet);
  // Sends what waits in the outbox; in state err drops it.
  Turn drain_outbox(Qp& qp);
  // Gives up what waits in the outbox; no DMA may write to it any more.
  void give_back_buffers(Qp& qp);

  // False: the CQ's last CQE is still on its way; try again. A CQE for an overrun CQ is lost, and
  // the CQ then is marked so.
  bool post_cqe(Cq& cq, format::Cqe64& cqe);

  // Reads a dword of a doorbell record, if that is wanted. True when it has arrived: `producer` is
  // what it says, unless a doorbell has said more meanwhile.
  bool poll_record(RecordRead& record, DmaAddress address, std::uint64_t& producer,
                   std::uint64_t depth);

  DmaPort& port;
  Wire& wire;
  const bool ordered;
  const bool orders_ends;
  const std::uint32_t psn_bytes;
  const std::uint32_t mtu;  // by reference: the wire's, in whole PSNs
  const std::uint32_t value_mtu;
  KeyTable keys;
  Counters counters;
  std::uint64_t now_ns = 0;
  bool cq_overrun = false;  // of some CQ, since the engine looked

 private:
  bool send_now(const Packet& packet);
  bool send_by_value(Qp& qp, Packet& packet);
  bool has_room(Cq& cq);
  void write_cqe(Cq& cq, const format::Cqe64& cqe);

  const bool short_cqes_;
  BufferPool buffers_;
};

// How far `value`, the low 16 bits of a producer counter, is ahead of `producer`; 0 if it is not,
// or is further than the queue is deep.
constexpr std::uint64_t producer_advance(std::uint64_t producer, std::uint16_t value,
                                         std::uint64_t depth) {
  const std::uint16_t distance =
      static_cast<std::uint16_t>(value - static_cast<std::uint16_t>(producer));
  return distance <= depth ? distance : 0;
}

}  // namespace gdakit::softnic
