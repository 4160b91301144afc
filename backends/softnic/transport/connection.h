// The way to one peer: who it is, and packets whose payload is still being read or that the wire
// had no room for.
#pragma once

#include <cstdint>

#include "backends/softnic/dma/dma.h"
#include "backends/softnic/objects/attributes.h"
#include "backends/softnic/queues/growing_fifo.h"
#include "backends/softnic/queues/qp_common.h"
#include "backends/softnic/wire/packet.h"

namespace gdakit::softnic {

inline constexpr std::uint32_t kOutbox = 8;

struct Outgoing {
  Packet packet;
  std::uint8_t* buffer = nullptr;
  DmaOp op;
};

struct Connection {
  // The queue pair outlives it.
  explicit Connection(QpCommon& common) : qp(common), outbox(kOutbox) {}

  QpCommon& qp;
  Endpoint remote_endpoint = 0;
  QpNumber remote_qpn = 0;
  GrowingFifo<Outgoing> outbox;
};

}  // namespace gdakit::softnic
