// Datagrams that go to a UDP socket, and come from it, many in one system call.
//
// Datagrams of one size to one peer, and a shorter one behind them, go to the system as one
// message, a train, which it cuts up as late as it can (UDP_SEGMENT), a NIC's hardware if that
// knows how:
//
//   | datagram | datagram | datagram | shorter |      one message, four datagrams
//
// Over IPv4 the system numbers a train's datagrams from 0 on in their headers (identification), as
// it has 0 in the header of a datagram that goes alone. What comes is joined likewise, where the
// system can and the socket has asked for it (UDP_GRO).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <sys/socket.h>
#include <sys/uio.h>

#include "backends/softnic/wire/packet_tag.h"
#include "backends/softnic/wire/roce_headers.h"
#include "backends/softnic/wire/udp_address.h"

namespace gdakit::softnic {

// The longest datagram that these carry: the longest MTU, its headers, and a tag.
inline constexpr std::size_t kDatagramBytes = roce::kMostMtu + 96 + kTagBytes;
// The longest message of a socket, however many datagrams it is.
inline constexpr std::size_t kMessageBytes = 1 << 16;

// Room for what travels beside a message: its traffic class, the size of its datagrams, and the
// socket's count of losses.
struct MessageDetails {
  alignas(cmsghdr) std::array<std::byte, 96> bytes;
};

// Datagrams that wait for the system.
class SendBatch {
 public:
  static constexpr std::uint32_t kMostInTrain = 64;  // as many as every system takes

  // `cuts`: the system knows trains.
  explicit SendBatch(bool cuts);

  // Without room for another datagram.
  bool full() const { return end_ + kDatagramBytes > kBytes || tail_ == kMessages; }
  bool empty() const { return tail_ == head_; }

  struct Room {
    std::span<std::uint8_t> bytes;
    std::uint32_t number = 0;  // in its train
  };
  // Where the next datagram, of so many bytes, is to be written before the next call. `to` stays
  // where it is until the batch is empty.
  Room add(std::size_t size, const SocketAddress& to, std::uint8_t traffic_class);

  struct Sent {
    std::size_t datagrams = 0;
    std::size_t refused = 0;  // for good: too long for its way, or no way
  };
  // Hands over what the system has room for. A train that the system does not cut is refused, which
  // is a loss like any other; from then on datagrams go alone.
  Sent send(int socket);

  bool cuts() const { return cuts_; }

 private:
  static constexpr std::size_t kBytes = 256 << 10;  // stays within caches
  static constexpr std::size_t kMessages = 128;
  struct Train {
    std::size_t begin = 0;
    std::size_t bytes = 0;
    std::size_t datagram_bytes = 0;  // of each, but for the last
    std::uint32_t datagrams = 0;
    bool ended = false;  // by a shorter one
    const SocketAddress* to = nullptr;
    std::uint8_t traffic_class = 0;
    iovec piece{};
    MessageDetails details;
  };

  bool joins(std::size_t size, const SocketAddress& to, std::uint8_t traffic_class) const;
  void prepare(std::size_t number);

  bool cuts_;
  std::unique_ptr<std::uint8_t[]> bytes_;
  std::size_t end_ = 0;  // of the bytes in use
  std::array<Train, kMessages> trains_;
  std::array<mmsghdr, kMessages> messages_{};
  std::size_t head_ = 0;
  std::size_t tail_ = 0;
};

// What recvmmsg has filled. Places are given to it by number, and taken from it as they are filled.
class ReceiveBatch {
 public:
  struct Message {
    std::uint32_t place = 0;
    UdpAddress from;
    std::uint32_t size = 0;
    std::uint32_t datagram_bytes = 0;  // of each, but for the last, which may be shorter
    std::uint8_t traffic_class = 0;
    std::optional<std::uint32_t> lost;  // by the socket's buffer since it was made, as of now

    std::uint32_t datagrams() const {
      return size == 0 ? 1 : (size + datagram_bytes - 1) / datagram_bytes;
    }
  };

  ReceiveBatch();

  bool full() const { return armed_ == kMost; }
  // The place has kMessageBytes.
  void add(std::uint32_t place, std::uint8_t* bytes);
  // Messages that have come, in their order: their places are the caller's again.
  std::span<const Message> receive(int socket);

 private:
  static constexpr std::size_t kMost = 16;
  struct Position {
    std::uint32_t place = 0;
    iovec piece{};
    SocketAddress from;
    MessageDetails details;
  };

  void arm(std::size_t position);
  static void read_details(const msghdr& header, Message& message);

  std::array<Position, kMost> positions_;
  std::array<mmsghdr, kMost> messages_{};
  std::array<Message, kMost> received_;
  std::size_t armed_ = 0;  // positions [0, armed_) have a place
};

}  // namespace gdakit::softnic
