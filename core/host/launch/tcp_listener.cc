#include "core/host/launch/tcp_listener.h"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace gdakit {
namespace {

using AddressList = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Result<UniqueFileDescriptor> listen_on(const addrinfo& address, const std::string& name) {
  UniqueFileDescriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return Error::from_errno("socket for " + name, errno);
  // Otherwise the port of a job that has just ended could not be used again for a minute.
  const int on = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  // Those of IPv4 reach a socket of IPv6, too, which some systems must be told.
  const int off = 0;
  if (address.ai_family == AF_INET6) {
    ::setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
  }
  if (::bind(socket.get(), address.ai_addr, address.ai_addrlen) != 0) {
    return Error::from_errno("bind to " + name, errno);
  }
  if (::listen(socket.get(), SOMAXCONN) != 0) return Error::from_errno("listen on " + name, errno);
  return socket;
}

bool v6_only(int socket) {
  int only = 0;
  socklen_t length = sizeof(only);
  return ::getsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &only, &length) == 0 && only != 0;
}

}  // namespace

Result<UniqueFileDescriptor> open_listener(const std::string& host, std::uint16_t port) {
  if (host.empty()) {
    // Both families at once, or IPv4 where the system has no other.
    Result<UniqueFileDescriptor> both = open_listener("::", port);
    return both || both.error().system_code() == EADDRINUSE ? std::move(both)
                                                            : open_listener("0.0.0.0", port);
  }
  const std::string name = host + ":" + std::to_string(port);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return Error(Code::not_found,
                 "the address " + name + " to listen on was not found: " + ::gai_strerror(error));
  }
  const AddressList addresses(found, ::freeaddrinfo);
  return listen_on(*addresses, name);
}

Result<UniqueFileDescriptor> adopt_listener(int descriptor) {
  int listening = 0;
  socklen_t length = sizeof(listening);
  const std::string name = "file descriptor " + std::to_string(descriptor);
  if (::getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) != 0) {
    return Error::from_errno("GDAKIT_LISTEN_FD: " + name + " is no socket", errno);
  }
  if (listening == 0) {
    return Error(Code::invalid_argument, "GDAKIT_LISTEN_FD: " + name + " does not listen");
  }
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  UniqueFileDescriptor copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!copy) return Error::from_errno("GDAKIT_LISTEN_FD: duplicate " + name, errno);
  return copy;
}

Result<ListenerAddress> listener_address(int descriptor) {
  sockaddr_storage storage{};
  socklen_t length = sizeof(storage);
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
    return Error::from_errno("getsockname of the listening socket", errno);
  }
  char text[INET6_ADDRSTRLEN] = {};
  ListenerAddress address;
  if (storage.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &storage, sizeof(in));
    // A socket that listens on every address is reached through the loopback one.
    if (in.sin_addr.s_addr == htonl(INADDR_ANY)) in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ::inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
    address.port = ntohs(in.sin_port);
  } else if (storage.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &storage, sizeof(in));
    if (IN6_IS_ADDR_UNSPECIFIED(&in.sin6_addr)) {
      std::strcpy(text, v6_only(descriptor) ? "::1" : "127.0.0.1");
    } else {
      ::inet_ntop(AF_INET6, &in.sin6_addr, text, sizeof(text));
    }
    address.port = ntohs(in.sin6_port);
  } else {
    return Error(Code::invalid_argument, "the listening socket is not a TCP socket");
  }
  address.host = text;
  address.family = storage.ss_family;
  return address;
}

}  // namespace gdakit
