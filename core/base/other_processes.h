// What ThreadSanitizer is told about messages between processes. It sees one process alone: that a
// thread wrote, said so to another process, and heard from there in another thread, is no order for
// it. Whoever sends what orders memory (a bootstrap's call, packets on a wire) tells before,
// whoever receives it hears after. In an ordinary build both are nothing: sockets and the atomics
// of shared memory order what the hardware does.
//
// All messages are one to it, so a race between threads whose process has sent and received
// meanwhile goes unreported.
#pragma once

#include <atomic>

#include "core/base/annotate.h"

namespace gdakit {

namespace detail {
inline std::atomic<unsigned> messages_to_other_processes{0};
}  // namespace detail

inline void tell_other_processes() {
  if constexpr (kThreadSanitizer) {
    detail::messages_to_other_processes.fetch_add(1, std::memory_order_release);
  }
}

inline void hear_other_processes() {
  if constexpr (kThreadSanitizer) {
    static_cast<void>(detail::messages_to_other_processes.load(std::memory_order_acquire));
  }
}

}  // namespace gdakit
