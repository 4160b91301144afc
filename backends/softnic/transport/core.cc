#include "backends/softnic/transport/core.h"

#include "core/base/assert.h"

namespace gdakit::softnic {

Core::Core(DmaPort& dma_port, Wire& packet_wire, std::uint32_t buffers, EventSink* sink)
    : QueueCore(dma_port, sink),
      wire(packet_wire),
      orders_ends(dma_port.orders_ends()),
      psn_bytes(packet_wire.psn_bytes()),
      mtu(packet_wire.mtu() - packet_wire.mtu() % psn_bytes),
      value_mtu(packet_wire.value_mtu()),
      buffers_(buffers, packet_wire.value_mtu()) {
  // A PSN's payload can travel by value, wherever it lies.
  GDAKIT_ASSERT(psn_bytes <= value_mtu);
}

}  // namespace gdakit::softnic
