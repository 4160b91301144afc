// Datagrams of a test's own making.
#pragma once

#include <cstdint>
#include <string>
#include <sys/socket.h>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/wire/roce_packet.h"
#include "backends/softnic/wire/udp_socket.h"

namespace gdakit::softnic::test {

// A plain socket whose datagrams are whatever bytes.
class Sender {
 public:
  explicit Sender(const std::string& address = "127.0.0.1:0")
      : socket_(std::move(*UdpSocket::open(*UdpAddress::parse(address)))) {}
  const UdpAddress& address() const { return socket_.address(); }
  void send(const UdpAddress& to, const std::vector<std::uint8_t>& bytes) {
    const SocketAddress there(to);
    EXPECT_EQ(::sendto(socket_.get(), bytes.data(), bytes.size(), 0, &there.any, there.size()),
              static_cast<ssize_t>(bytes.size()));
  }

 private:
  UdpSocket socket_;
};

inline std::vector<std::uint8_t> encoded(const roce::RocePacket& packet, const UdpAddress& from,
                                         const UdpAddress& to) {
  std::vector<std::uint8_t> bytes(roce::size_of(packet));
  roce::encode(packet, way_between(from, to), bytes);
  return bytes;
}

}  // namespace gdakit::softnic::test
