// Datagrams that go to a UDP socket, and come from it, in one system call.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <sys/socket.h>
#include <sys/uio.h>
#include <vector>

#include "backends/softnic/wire/roce_headers.h"
#include "backends/softnic/wire/udp_address.h"

namespace gdakit::softnic {

// The longest packet that these carry, from the BTH to the ICRC: the longest MTU and its headers.
inline constexpr std::size_t kDatagramBytes = roce::kMostMtu + 96;

// Room for what travels beside a datagram: its traffic class and the socket's count of losses.
struct DatagramDetails {
  alignas(cmsghdr) std::array<std::byte, 64> bytes;
};

// A ring of datagrams that wait for the system.
class SendRing {
 public:
  SendRing();

  bool full() const { return tail_ - head_ == kPlaces; }
  bool empty() const { return tail_ == head_; }
  // Where the next datagram is to be written.
  std::span<std::uint8_t> room() { return places_[tail_ % kPlaces].bytes; }
  // The next datagram is there. `to` stays where it is until the ring is empty.
  void push(std::size_t size, const SocketAddress& to, std::uint8_t traffic_class);

  struct Sent {
    std::size_t datagrams = 0;
    std::size_t refused = 0;  // for good: too long for its way, or no way
  };
  // Hands over what the system has room for.
  Sent send(int socket);

 private:
  static constexpr std::size_t kPlaces = 128;
  struct Place {
    iovec piece;
    DatagramDetails details;
    std::array<std::uint8_t, kDatagramBytes> bytes;
  };

  std::vector<Place> places_;
  std::array<mmsghdr, kPlaces> messages_{};
  std::uint64_t head_ = 0;
  std::uint64_t tail_ = 0;
};

// What recvmmsg has filled. Places are given to it by number, and taken from it as they are filled.
class ReceiveBatch {
 public:
  struct Datagram {
    std::uint32_t place = 0;
    UdpAddress from;
    std::uint32_t size = 0;
    bool is_cut = false;  // it was longer than the place
    std::uint8_t traffic_class = 0;
    std::optional<std::uint32_t> lost;  // by the socket's buffer since it was made, as of now
  };

  ReceiveBatch();

  bool full() const { return armed_ == kMost; }
  void add(std::uint32_t place, std::span<std::uint8_t> bytes);
  // Datagrams that have come, in their order: their places are the caller's again.
  std::span<const Datagram> receive(int socket);

 private:
  static constexpr std::size_t kMost = 64;
  struct Position {
    std::uint32_t place = 0;
    iovec piece{};
    SocketAddress from;
    DatagramDetails details;
  };

  void arm(std::size_t position);
  static void read_details(const msghdr& header, Datagram& datagram);

  std::array<Position, kMost> positions_;
  std::array<mmsghdr, kMost> messages_{};
  std::array<Datagram, kMost> received_;
  std::size_t armed_ = 0;  // positions [0, armed_) have a place
};

}  // namespace gdakit::softnic
