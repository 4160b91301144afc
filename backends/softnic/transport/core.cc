#include "backends/softnic/transport/core.h"

#include <algorithm>
#include <bit>

#include "core/base/assert.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kMostUnasked = 64;

}  // namespace

Core::Core(DmaPort& dma_port, Wire& packet_wire, std::uint32_t buffers, EventSink* sink,
           const NumberTable<Srq>& srqs)
    : QueueCore(dma_port, sink),
      wire(packet_wire),
      orders_ends(dma_port.orders_ends()),
      psn_bytes(packet_wire.psn_bytes()),
      value_mtu(packet_wire.value_mtu()),
      srqs_(srqs),
      buffers_(buffers, packet_wire.value_mtu()) {
  // A PSN's payload can travel by value, wherever it lies.
  GDAKIT_ASSERT(is_power_of_two(psn_bytes) && psn_bytes <= value_mtu);
}

void Core::begin(Connection& connection) const {
  const Path& way = connection.qp.settings.path;
  const WirePath path = wire.path(way.endpoint);
  GDAKIT_ASSERT(path.mtu >= psn_bytes && path.mtu <= wire.mtu());
  GDAKIT_ASSERT(path.psn_window >= 2 && path.psn_window <= path.small_psn_window &&
                path.small_psn_window <= kMaxPsnWindow);
  connection.psn_bytes = way.mtu != 0 ? way.mtu : psn_bytes;
  connection.longest = path.mtu - path.mtu % connection.psn_bytes;
  connection.psn_window = static_cast<std::int32_t>(path.psn_window);
  connection.small_psn_window = static_cast<std::int32_t>(path.small_psn_window);
  connection.ack_every = std::bit_floor(std::min(kMostUnasked, path.psn_window / 2));
  connection.adaptive_retransmission = adaptive_retransmission && path.loses_packets;
  connection.selective_repeat = selective_repeat && path.loses_packets;
  connection.over_udp = path.over_udp;
  if (congestion_control) connection.congestion = std::make_unique<Congestion>();
}

// Every packet has one PSN, and no window holds it up.
void Core::begin_unreliable(Connection& connection) const {
  const Path& way = connection.qp.settings.path;
  connection.psn_bytes = connection.longest = way.mtu != 0 ? way.mtu : psn_bytes;
  connection.over_udp = wire.path(way.endpoint).over_udp;
}

}  // namespace gdakit::softnic
