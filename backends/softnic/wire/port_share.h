// How the NICs of several PEs of a host share one UDP port.
//
//   | index |        rest        |   a QPN: which NIC of the port, and which of its queue pairs
//    `bits`    24 - `bits`
//
// The system hands each datagram to the socket of the NIC that its destination QPN names
// (UdpSocket::open_shared). So each NIC has queue pairs of its own numbers alone, a buffer that no
// other fills, and reads nothing that comes for another one. They share no socket to send by: by
// the port that a packet comes from its receiver knows the sender.
#pragma once

#include <bit>
#include <cstdint>

namespace gdakit::softnic {

struct PortShare {
  std::uint32_t index = 0;
  std::uint32_t bits = 0;  // 0: the NIC has the port for itself

  static PortShare of(std::uint32_t index, std::uint32_t nics) {
    return {index, static_cast<std::uint32_t>(std::bit_width(nics - 1))};
  }

  // The NIC's QPNs.
  std::uint32_t first_qpn() const { return index * qpns(); }
  std::uint32_t qpns() const { return 1u << (24 - bits); }
};

}  // namespace gdakit::softnic
