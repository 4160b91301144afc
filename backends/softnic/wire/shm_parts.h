// What lies in the memory of a segment (shm_wire.h) besides packets.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "backends/softnic/wire/shm_wire.h"
#include "core/base/bits.h"

namespace gdakit::softnic {

struct RingWords {
  RingIndices indices;
  RecallWords recall;
};

constexpr std::size_t kClaimBytes = 64;

// Who has an endpoint. A process that was killed leaves its claim behind, and so does one that has
// become another program by exec, whose number lives on: of that one the lock is gone, which it had
// on the claim's first byte by a file that closes then.
struct Claim {
  std::atomic<std::int32_t> owner{0};   // a process; 0: nobody
  std::atomic<std::int32_t> locked{0};  // the owner, once it has the lock
};
static_assert(sizeof(Claim) <= kClaimBytes);

inline Claim& claim_of(const ShmSegment& segment, Endpoint endpoint) {
  return *reinterpret_cast<Claim*>(segment.at(segment.layout().claim(endpoint)));
}

// One word for 64 places.
using CallerBits = std::atomic<std::uint64_t>;
constexpr std::size_t caller_words(std::uint32_t endpoints) { return divide_up(endpoints, 64); }

inline CallerBits* caller_bits(const ShmSegment& segment, Endpoint endpoint) {
  return reinterpret_cast<CallerBits*>(segment.at(segment.layout().callers(endpoint)));
}

inline VoidBits* void_bits(const ShmSegment& segment, Endpoint from, Endpoint to) {
  return reinterpret_cast<VoidBits*>(segment.at(segment.layout().void_bits(from, to)));
}

inline RingWords* ring_words(const ShmSegment& segment, Endpoint from, Endpoint to) {
  return reinterpret_cast<RingWords*>(segment.at(segment.layout().words(from, to)));
}

}  // namespace gdakit::softnic
