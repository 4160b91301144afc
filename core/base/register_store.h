// How a thread of a CPU stores to a register of a NIC.
#pragma once

#include <atomic>
#include <cstdint>

namespace gdakit {

// Whether a page of registers of this process is write-combining (BlueFlame): who takes such a page
// sets it, before anybody stores there. Such a store may pass earlier ones, and wait in a buffer of
// its core.
inline std::atomic<bool> registers_combine_writes{false};

// Behind all stores that this thread has made, as a release is. Where writes are combined a full
// fence stands on either side: on x86 it is an instruction that empties the core's buffers. Other
// processors promise that of other fences, and have not been tried.
inline void store_register(std::uint64_t* to, std::uint64_t value) {
  const bool combines = registers_combine_writes.load(std::memory_order_relaxed);
  if (combines) [[unlikely]]
    std::atomic_thread_fence(std::memory_order_seq_cst);
  __atomic_store_n(to, value, __ATOMIC_RELEASE);
  if (combines) [[unlikely]]
    std::atomic_thread_fence(std::memory_order_seq_cst);
}

}  // namespace gdakit
