// The way to one peer: who it is, how packets to it are cut, and those whose payload is still being
// read or that the wire had no room for.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/queues/growing_fifo.h"
#include "backends/softnic/queues/qp_common.h"
#include "backends/softnic/transport/congestion.h"
#include "backends/softnic/wire/packet.h"

namespace gdakit::softnic {

inline constexpr std::uint32_t kOutbox = 8;

struct Outgoing {
  Packet packet;
  std::uint8_t* buffer = nullptr;  // of its payload, if there is any
  DmaOp op;
};

struct Connection {
  // The queue pair outlives it.
  explicit Connection(QpCommon& common) : qp(common), outbox(kOutbox) {}

  // How many PSNs a payload takes, of a packet or of all of a READ's responses.
  std::uint32_t psns_of(std::uint64_t payload) const {
    if (payload <= psn_bytes) return 1;
    return static_cast<std::uint32_t>((payload + psn_bytes - 1) >> std::countr_zero(psn_bytes));
  }

  // Within a message, whether a packet with these PSNs asks for an acknowledge: twice in a window,
  // so that the window moves on while packets go out, and not with each packet.
  bool reaches_ack(std::uint32_t psn, std::uint32_t psns) const {
    return (psn ^ psn_add(psn, psns)) >= ack_every;
  }

  // Whether packets are to wait for the rate that congestion leaves.
  bool held_back(std::uint64_t now_ns) const {
    return congestion != nullptr && congestion->holds(now_ns);
  }
  bool gives_way_to_requests() const {
    return congestion != nullptr && congestion->gives_way_to_requests();
  }

  QpCommon& qp;
  QpNumber remote_qpn = 0;
  // Of payload, from state rtr on:
  std::uint32_t psn_bytes = 0;  // that a PSN stands for, at most: a power of two
  std::uint32_t longest = 0;    // of a packet by reference: whole PSNs
  // As the wire says of the way to the peer (WirePath), from state rtr on:
  std::int32_t psn_window = 0;
  std::int32_t small_psn_window = 0;
  std::uint32_t ack_every = 0;  // PSNs; a power of two
  bool over_udp = false;
  // Requests are sent again as soon as an answer is late by what was measured.
  bool adaptive_retransmission = false;
  bool selective_repeat = false;  // the peer keeps what comes before a missing packet, as this side
  GrowingFifo<Outgoing> outbox;
  std::unique_ptr<Congestion> congestion;  // from state rtr on, with congestion control
  // A NAK that ends the connection goes when the outbox is empty: no request joins it any more.
  bool ends = false;
  // What the wire has no room for is lost: the peer has taken nothing for long.
  bool loses_unsent = false;
};

}  // namespace gdakit::softnic
