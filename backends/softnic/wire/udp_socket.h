// A UDP socket for RoCEv2: bound to one address, whose datagrams travel whole. Where the system
// knows how, it joins datagrams that come one behind the other (udp_batch.h).
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "backends/softnic/wire/udp_address.h"
#include "core/base/file_descriptor.h"
#include "core/base/kept_file.h"
#include "core/base/result.h"

namespace gdakit::softnic {

class UdpSocket {
 public:
  static constexpr std::uint32_t kBufferBytes = 4 << 20;

  // Port 0: one that is free. The system may give other buffers than are asked for. Errors: an
  // address that stands for all interfaces, is none of this host's or is taken.
  static Result<UdpSocket> open(const UdpAddress& address,
                                std::uint32_t buffer_bytes = kBufferBytes);

  // Sockets of one address, `count` of them, at least 2. The system hands a datagram to the one
  // that the upper bits of its destination QPN say (port_share.h), and to any of them if they say
  // none. Nobody else gets the address, but processes of this user that ask for a part of it.
  // Datagrams do not come joined: they may be of different NICs. Errors: as open(); a system that
  // cannot do it.
  static Result<std::vector<UdpSocket>> open_shared(const UdpAddress& address, std::uint32_t count,
                                                    std::uint32_t buffer_bytes = kBufferBytes);
  // Another process's socket, by what duplicate() gave there. An error if it is no UDP socket.
  static Result<UdpSocket> adopt(UniqueFileDescriptor socket);

  // One more descriptor of it; none without room for one.
  UniqueFileDescriptor duplicate() const;

  int get() const { return socket_.get(); }
  const UdpAddress& address() const { return address_; }

  // What the system counts received datagrams against until they are fetched, in bytes: a datagram
  // counts as twice its bytes and 1 KiB more, at most; those that come joined count as less.
  std::uint32_t receive_buffer() const;

  // Whether more than half of that is in use, as far as the system tells.
  bool is_half_full() const;

  // Whether the system cuts long messages into datagrams (UDP_SEGMENT), as far as it tells.
  bool cuts_messages() const;

 private:
  UdpSocket(UniqueFileDescriptor socket, const UdpAddress& address)
      : socket_(keep_file(std::move(socket))), address_(address) {}

  KeptFile socket_;
  UdpAddress address_;
};

// Asks the system for ways from an address of this host. Nothing is sent.
class PathProbe {
 public:
  // Errors: as of UdpSocket::open().
  static Result<PathProbe> open(const UdpAddress& from);

  // The longest IP packet, in bytes, that the first hop towards `to` carries. Opens no file. An
  // error if there is no way there. From one thread at a time.
  Result<std::uint32_t> longest_packet_to(const UdpAddress& to) const;

 private:
  PathProbe(UniqueFileDescriptor socket, const UdpAddress& from)
      : socket_(keep_file(std::move(socket))), from_(from) {}

  KeptFile socket_;
  UdpAddress from_;
};

// The longest MTU of RoCEv2, that is, payload of one packet, that IP packets of so many bytes hold:
// a power of two from 256 to 4096, or 0 if none does. So many bytes behind each packet are a tag's.
std::uint32_t longest_roce_mtu(std::uint32_t ip_packet_bytes, std::uint32_t tag_bytes = 0);

}  // namespace gdakit::softnic
