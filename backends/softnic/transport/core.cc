#include "backends/softnic/transport/core.h"

#include <algorithm>
#include <bit>

#include "core/base/assert.h"

namespace gdakit::softnic {
namespace {

constexpr std::uint32_t kMostUnasked = 64;

}  // namespace

Core::Core(DmaPort& dma_port, Wire& packet_wire, std::uint32_t buffers, EventSink* sink)
    : QueueCore(dma_port, sink),
      wire(packet_wire),
      orders_ends(dma_port.orders_ends()),
      psn_bytes(packet_wire.psn_bytes()),
      value_mtu(packet_wire.value_mtu()),
      psn_window(static_cast<std::int32_t>(packet_wire.psn_window())),
      small_psn_window(static_cast<std::int32_t>(packet_wire.small_psn_window())),
      ack_every_(std::bit_floor(std::min(kMostUnasked, packet_wire.psn_window() / 2))),
      buffers_(buffers, packet_wire.value_mtu()) {
  // A PSN's payload can travel by value, wherever it lies.
  GDAKIT_ASSERT(is_power_of_two(psn_bytes) && psn_bytes <= value_mtu);
  GDAKIT_ASSERT(small_psn_window >= psn_window &&
                small_psn_window <= static_cast<std::int32_t>(kMaxPsnWindow));
  GDAKIT_ASSERT(psn_window >= 2 && psn_window <= static_cast<std::int32_t>(kMaxPsnWindow));
}

void Core::begin(Connection& connection) const {
  const std::uint32_t path_mtu = connection.qp.settings.path.mtu;
  connection.psn_bytes = path_mtu != 0 ? path_mtu : psn_bytes;
  connection.longest = wire.mtu() - wire.mtu() % connection.psn_bytes;
  if (congestion_control) connection.congestion = std::make_unique<Congestion>();
}

}  // namespace gdakit::softnic
