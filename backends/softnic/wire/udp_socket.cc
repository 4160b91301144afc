#include "backends/softnic/wire/udp_socket.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <netinet/udp.h>
#include <string>
#include <utility>

#include "backends/softnic/wire/port_share.h"
#include "backends/softnic/wire/roce_packet.h"
#include "core/base/assert.h"

namespace gdakit::softnic {
namespace {

bool set(int socket, int level, int name, int value) {
  return ::setsockopt(socket, level, name, &value, sizeof value) == 0;
}

// No datagram is cut up on its way, and one of IPv4 has identification 0, which the invariant CRC
// counts on. What others say in ICMP of the path's MTU is not believed: anybody can say it.
bool forbid_fragments(int socket, bool is_v6) {
  if (!is_v6) return set(socket, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE);
  return set(socket, IPPROTO_IPV6, IPV6_V6ONLY, 1) &&
         set(socket, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE);
}

// Traffic classes and what the socket's buffer had no room for come along with each datagram.
bool ask_for_details(int socket, bool is_v6) {
  return (is_v6 ? set(socket, IPPROTO_IPV6, IPV6_RECVTCLASS, 1)
                : set(socket, IPPROTO_IP, IP_RECVTOS, 1)) &&
         set(socket, SOL_SOCKET, SO_RXQ_OVFL, 1);
}

// A system that does not know how to join datagrams hands out each by itself.
void ask_for_joined(int socket) { set(socket, IPPROTO_UDP, UDP_GRO, 1); }

// Beyond the limit for everybody if the process may.
void ask_for_buffers(int socket, int bytes) {
  if (!set(socket, SOL_SOCKET, SO_RCVBUFFORCE, bytes)) {
    set(socket, SOL_SOCKET, SO_RCVBUF, bytes);
  }
  if (!set(socket, SOL_SOCKET, SO_SNDBUFFORCE, bytes)) {
    set(socket, SOL_SOCKET, SO_SNDBUF, bytes);
  }
}

UniqueFileDescriptor new_socket(bool is_v6) {
  return UniqueFileDescriptor(
      ::socket(is_v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
}

bool bind_to(int socket, const UdpAddress& address) {
  const SocketAddress own(address);
  return ::bind(socket, &own.any, own.size()) == 0;
}

Error unreachable(const UdpAddress& address, int system_code) {
  std::string remedy;
  if (system_code == EADDRINUSE) {
    remedy =
        "; each NIC needs an address or a port of its own, and gets a free one by port 0, or "
        "where no port is named";
  } else if (system_code == EADDRNOTAVAIL) {
    remedy = ", which is no address of this host's interfaces";
  }
  return Error::from_errno("a NIC cannot be reached at " + address.text() + remedy, system_code);
}

Error unshared(const UdpAddress& address, int system_code) {
  return Error::from_errno("the system does not share out what comes to " + address.text(),
                           system_code);
}

Result<UniqueFileDescriptor> bound_socket(const UdpAddress& address, std::uint32_t buffer_bytes,
                                          bool shares) {
  if (address.is_unspecified()) {
    return Error(Code::invalid_argument,
                 address.text() + " stands for all interfaces; a NIC has the address of one");
  }
  const bool is_v6 = address.ip.is_v6;
  UniqueFileDescriptor socket = new_socket(is_v6);
  if (!socket || !forbid_fragments(socket.get(), is_v6) || !ask_for_details(socket.get(), is_v6) ||
      (shares && !set(socket.get(), SOL_SOCKET, SO_REUSEPORT, 1))) {
    const int system_code = errno;
    return Error::from_errno("a UDP socket cannot be made", system_code);
  }
  ask_for_buffers(socket.get(), static_cast<int>(buffer_bytes));
  if (!bind_to(socket.get(), address)) return unreachable(address, errno);
  return socket;
}

// None (0.0.0.0) if it is no socket of IP.
UdpAddress bound_address(int socket) {
  SocketAddress bound;
  socklen_t size = sizeof bound;
  const bool is_known = ::getsockname(socket, &bound.any, &size) == 0;
  const sa_family_t family = bound.any.sa_family;
  return is_known && (family == AF_INET || family == AF_INET6) ? bound.address() : UdpAddress();
}

// By a datagram's second word, which ends in BTH's destination QPN.
bool steer(int socket, const PortShare& share) {
  std::array<sock_filter, 4> steps = {{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 4),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffffff),
      BPF_STMT(BPF_ALU | BPF_RSH | BPF_K, 24 - share.bits),
      BPF_STMT(BPF_RET | BPF_A, 0),
  }};
  const sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
  return ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &program, sizeof program) == 0;
}

}  // namespace

Result<UdpSocket> UdpSocket::open(const UdpAddress& address, std::uint32_t buffer_bytes) {
  Result<UniqueFileDescriptor> socket = bound_socket(address, buffer_bytes, /*shares=*/false);
  if (!socket) return socket.error();
  ask_for_joined(socket->get());
  const UdpAddress bound = bound_address(socket->get());
  return UdpSocket(std::move(*socket), bound);
}

// The first takes the address from everybody else before it lets the others have it.
Result<std::vector<UdpSocket>> UdpSocket::open_shared(const UdpAddress& address,
                                                      std::uint32_t count,
                                                      std::uint32_t buffer_bytes) {
  GDAKIT_ASSERT(count >= 2);
  UdpAddress at = address;
  std::vector<UdpSocket> sockets;
  for (std::uint32_t i = 0; i < count; ++i) {
    Result<UniqueFileDescriptor> socket = bound_socket(at, buffer_bytes, /*shares=*/i != 0);
    if (!socket) return socket.error();
    if (i == 0 && !set(socket->get(), SOL_SOCKET, SO_REUSEPORT, 1)) return unshared(address, errno);
    at = bound_address(socket->get());
    sockets.push_back(UdpSocket(std::move(*socket), at));
  }
  if (!steer(sockets.front().get(), PortShare::of(0, count))) return unshared(at, errno);
  return sockets;
}

Result<UdpSocket> UdpSocket::adopt(UniqueFileDescriptor socket) {
  int type = 0;
  socklen_t size = sizeof type;
  const bool is_datagram =
      ::getsockopt(socket.get(), SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_DGRAM;
  const UdpAddress address = bound_address(socket.get());
  if (is_datagram && !address.is_unspecified()) return UdpSocket(std::move(socket), address);
  return Error(Code::invalid_argument, "a descriptor of another process is no UDP socket");
}

UniqueFileDescriptor UdpSocket::duplicate() const {
  return UniqueFileDescriptor(::fcntl(socket_.get(), F_DUPFD_CLOEXEC, 0));
}

std::uint32_t UdpSocket::receive_buffer() const {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &bytes, &size);
  return static_cast<std::uint32_t>(bytes);
}

// A system that does not tell has a short queue.
bool UdpSocket::is_half_full() const {
  std::array<std::uint32_t, SK_MEMINFO_VARS> bytes = {};
  socklen_t size = sizeof bytes;
  ::getsockopt(socket_.get(), SOL_SOCKET, SO_MEMINFO, bytes.data(), &size);
  return bytes[SK_MEMINFO_RMEM_ALLOC] > bytes[SK_MEMINFO_RCVBUF] / 2;
}

bool UdpSocket::cuts_messages() const {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  return ::getsockopt(socket_.get(), IPPROTO_UDP, UDP_SEGMENT, &bytes, &size) == 0;
}

Result<PathProbe> PathProbe::open(const UdpAddress& from) {
  UdpAddress own = from;
  own.port = 0;
  UniqueFileDescriptor socket = new_socket(own.ip.is_v6);
  // It takes a port while it is connected alone.
  if (!socket || !set(socket.get(), IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)) {
    return Error::from_errno("a UDP socket cannot be made", errno);
  }
  if (!bind_to(socket.get(), own)) return unreachable(own, errno);
  return PathProbe(std::move(socket), from);
}

// By connecting the socket, which looks up the way.
Result<std::uint32_t> PathProbe::longest_packet_to(const UdpAddress& to) const {
  const bool is_v6 = from_.ip.is_v6;
  const std::string what = to.text() + " cannot be reached from " + from_.text();
  if (to.ip.is_v6 != is_v6) {
    return Error(Code::invalid_argument,
                 what + ": give all NICs addresses of IPv4, or all of IPv6");
  }
  const SocketAddress there(to);
  int bytes = 0;
  socklen_t size = sizeof bytes;
  const int level = is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, name = is_v6 ? IPV6_MTU : IP_MTU;
  const bool is_told = ::connect(socket_.get(), &there.any, there.size()) == 0 &&
                       ::getsockopt(socket_.get(), level, name, &bytes, &size) == 0;
  const int system_code = errno;
  sockaddr nowhere{};
  nowhere.sa_family = AF_UNSPEC;
  ::connect(socket_.get(), &nowhere, sizeof nowhere);
  if (!is_told) return Error::from_errno(what, system_code);
  return static_cast<std::uint32_t>(bytes);
}

std::uint32_t longest_roce_mtu(std::uint32_t ip_packet_bytes, std::uint32_t tag_bytes) {
  // Of a packet with payload: IPv6, UDP, BTH, RETH, ImmDt, ICRC and tag.
  const std::uint32_t around = 40 + 8 + 12 + 16 + 4 + 4 + tag_bytes;
  if (ip_packet_bytes < around + roce::kLeastMtu) return 0;
  return std::min(roce::kMostMtu, std::bit_floor(ip_packet_bytes - around));
}

}  // namespace gdakit::softnic
