// How the two ends of a run meet, beside the NIC: a pair of sockets.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "core/base/file_descriptor.h"

namespace gdakit::verify {

// Ends the whole program with status 1, whichever thread finds it.
[[noreturn, gnu::format(printf, 1, 2)]] void give_up(const char* format, ...);

class Meeting {
 public:
  explicit Meeting(UniqueFileDescriptor socket) : socket_(std::move(socket)) {}

  static std::array<UniqueFileDescriptor, 2> make_sockets();

  // The other end's value for this one. Gives up if the other end is gone.
  template <typename T>
  T swap(const T& value) const {
    static_assert(std::is_trivially_copyable_v<T>);
    T other{};
    swap_bytes(&value, &other, sizeof value);
    return other;
  }
  // Returns when both ends are here.
  void wait() const { swap('w'); }
  int socket() const { return socket_.get(); }  // hangs up when the other end is gone

 private:
  void swap_bytes(const void* out, void* in, std::size_t bytes) const;

  UniqueFileDescriptor socket_;
};

}  // namespace gdakit::verify
