// A name in the system's list of abstract sockets, as bind() and connect() take it.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>

namespace gdakit::softnic::uverbs {

struct SocketName {
  explicit SocketName(const std::string& name) {
    address.sun_family = AF_UNIX;
    if (name.size() + 1 > sizeof address.sun_path) return;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }

  sockaddr_un address{};
  socklen_t bytes = 0;  // 0: the name is too long
};

}  // namespace gdakit::softnic::uverbs
