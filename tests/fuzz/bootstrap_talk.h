// What both sides of the bootstrap's protocol may say, made of a fuzz input.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <sys/socket.h>
#include <thread>
#include <utility>

#include "core/base/file_descriptor.h"
#include "core/host/bootstrap/tcp_wire.h"
#include "core/host/launch/launch_info.h"
#include "core/host/launch/tcp_listener.h"
#include "tests/fuzz/target.h"
#include "tests/softnic/fuzz_input.h"

namespace gdakit::fuzz {

inline constexpr JobSecret kSecret = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

template <class T>
void append(Bytes& to, const T& value) {
  to.resize(to.size() + sizeof value);
  std::memcpy(to.data() + to.size() - sizeof value, &value, sizeof value);
}

// All of `value`, whatever signals come meanwhile. False: the other side says no more.
template <class T>
bool hear(int socket, T& value) {
  auto* const bytes = reinterpret_cast<char*>(&value);
  for (std::size_t heard = 0; heard < sizeof value;) {
    const ssize_t size = ::recv(socket, bytes + heard, sizeof value - heard, 0);
    if (size > 0) {
      heard += static_cast<std::size_t>(size);
    } else if (size == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

// A listening socket. Thousands of runs use up the ports of a host, which come back.
inline UniqueFileDescriptor listen_here() {
  for (int tries = 0;; ++tries) {
    Result<UniqueFileDescriptor> listener = open_listener("127.0.0.1", 0);
    if (listener) return std::move(*listener);
    if (tries == 1000) throw std::runtime_error(listener.error().message());
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

// Bytes without form, at most 255.
inline Bytes some_bytes(softnic::test::Input& input) {
  Bytes bytes(input.take<std::uint8_t>());
  for (std::byte& byte : bytes) byte = input.take<std::byte>();
  return bytes;
}

// A frame whose header says what the input says, and whose payload is as long as that or not.
inline Bytes some_frame(softnic::test::Input& input, std::uint64_t sequence) {
  constexpr std::array<std::uint16_t, 12> kTypes = {1, 2, 3, 4, 5, 16, 17, 18, 19, 0, 6, 0xffff};
  const Bytes payload = some_bytes(input);
  tcp_wire::FrameHeader header{};
  header.type = Be16(kTypes[input.below(kTypes.size())]);
  header.purpose = Be16(static_cast<std::uint16_t>(input.below(9)));
  header.detail = Be32(input.below(4) == 0 ? input.take<std::uint32_t>() : input.below(4));
  header.sequence = Be64(input.below(8) == 0 ? input.take<std::uint64_t>() : sequence);
  const bool lies = input.below(8) == 0;
  header.length = Be64(lies ? input.take<std::uint64_t>() >> input.below(64) : payload.size());
  Bytes frame;
  append(frame, header);
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

}  // namespace gdakit::fuzz
