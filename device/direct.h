// Direct peers: PEs whose heap this PE's threads map, and so serve by loads, stores and atomics of
// their own in place of the NIC. Which PEs these are the transport map says
// (core/host/transport_map.h); HeapView::direct_bases has the addresses.
//
// When the call of a direct operation returns, nothing of it is to be waited for: it needs no
// queue, and its ticket has index 0. Stores to a direct peer keep no order:
// order::DirectBeforeLater stands where another PE may learn of them, that is before signals and
// collectives' counts, and in fence; order::DirectComplete in quiet and the barriers.
#pragma once

#include "device/group.h"

namespace gdakit::direct {

// The object at `symmetric` in the heap that is mapped at `base`.
template <class T>
GDAKIT_HOST_DEVICE T* at(const HeapView& heap, std::uint64_t base, T* symmetric) {
  const std::uint64_t offset = reinterpret_cast<std::uint64_t>(symmetric) - heap.base;
  return reinterpret_cast<T*>(base + offset);
}

// An unsigned integer for a value of 1, 2, 4 or 8 bytes.
template <std::size_t bytes>
using WordOf = std::conditional_t<
    bytes == 8, std::uint64_t,
    std::conditional_t<bytes == 4, std::uint32_t,
                       std::conditional_t<bytes == 2, std::uint16_t, std::uint8_t>>>;

// Which side of a copy is another PE's memory.
enum class Way : std::uint8_t { put, get };

// One word. The side of the peer is accessed by one strong access, so that a thread that polls sees
// all of it or nothing.
template <Way kWay, class W, class M>
GDAKIT_DEVICE void copy_word(M& m, void* to, const void* from) {
  auto* const target = static_cast<W*>(to);
  const auto* const source = static_cast<const W*>(from);
  if constexpr (kWay == Way::put) {
    m.store(order::RelaxedSystem{}, target, m.load_weak(source));
  } else {
    m.store_weak(target, m.load(order::DirectFetched{}, source));
  }
}

// The bits that either address has: where both are aligned to a power of two, those below it are 0.
GDAKIT_HOST_DEVICE inline std::uint64_t common_bits(const void* to, const void* from) {
  return reinterpret_cast<std::uint64_t>(to) | reinterpret_cast<std::uint64_t>(from);
}

// Whether a copy is one of a word, both sides aligned to it.
GDAKIT_HOST_DEVICE inline bool is_word(const void* to, const void* from, std::uint64_t bytes) {
  const std::uint64_t below = bytes - 1;  // a division would take as long as all the rest
  return below < 8 && (bytes & below) == 0 && (common_bits(to, from) & below) == 0;
}
template <Way kWay, class M>
GDAKIT_DEVICE void copy_as_word(M& m, void* to, const void* from, std::uint64_t bytes) {
  switch (bytes) {
    case 8: return copy_word<kWay, std::uint64_t>(m, to, from);
    case 4: return copy_word<kWay, std::uint32_t>(m, to, from);
    case 2: return copy_word<kWay, std::uint16_t>(m, to, from);
    default: return copy_word<kWay, std::uint8_t>(m, to, from);
  }
}

// One access, or several: the side of the peer as it is now, whatever a cache still holds of it.
template <Way kWay, class M, class T>
GDAKIT_DEVICE void copy_piece(M& m, T* to, const T* from, std::uint64_t bytes) {
  if constexpr (kWay == Way::get) {
    m.copy_in(to, from, bytes);
  } else {
    m.copy(to, from, bytes);
  }
}

// What one thread moves at once: the widest access there is.
inline constexpr std::uint64_t kUnit = 16;
struct alignas(kUnit) Unit {
  std::byte bytes[kUnit];
};
// Machines see by the type that the address is aligned.
GDAKIT_HOST_DEVICE inline Unit* units(void* aligned) { return static_cast<Unit*>(aligned); }
GDAKIT_HOST_DEVICE inline const Unit* units(const void* aligned) {
  return static_cast<const Unit*>(aligned);
}

// What is left, from unit `i` on, of one thread's share of `count` units, neighbours side by side,
// between addresses that are aligned to a unit. Loads of several units are under way at a time, of
// half as many each time when the end is near: to ask for each unit whether it is there takes
// longer.
template <Way kWay, std::uint32_t kAtOnce = 8, class M>
GDAKIT_DEVICE void copy_units(M& m, std::uint64_t i, std::uint64_t step, Unit* to, const Unit* from,
                              std::uint64_t count) {
  for (; i + (kAtOnce - 1) * step < count; i += kAtOnce * step) {
    Unit held[kAtOnce];
    GDAKIT_UNROLL
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      copy_piece<kWay>(m, &held[k], &from[i + k * step], kUnit);
    }
    GDAKIT_UNROLL
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      copy_piece<Way::put>(m, &to[i + k * step], &held[k], kUnit);
    }
  }
  if constexpr (kAtOnce > 1) copy_units<kWay, kAtOnce / 2>(m, i, step, to, from, count);
}

// One thread's share of a copy. `m` is a copy: a reference in a call would keep the caller's in
// memory.
template <Way kWay, class M>
GDAKIT_DEVICE_CALL void copy_shares(M m, Share share, std::byte* to, const std::byte* from,
                                    std::uint64_t bytes) {
  const auto target = reinterpret_cast<std::uint64_t>(to);
  if ((target ^ reinterpret_cast<std::uint64_t>(from)) % kUnit != 0) {
    for (std::uint64_t at = share.first * kUnit; at < bytes; at += share.step * kUnit) {
      copy_piece<kWay>(m, to + at, from + at, bytes - at < kUnit ? bytes - at : kUnit);
    }
    return;
  }
  std::uint64_t head = (kUnit - target % kUnit) % kUnit;
  if (head > bytes) head = bytes;
  const std::uint64_t count = (bytes - head) / kUnit;
  const std::uint64_t tail = head + count * kUnit;
  if (share.first == 0) {
    if (head != 0) copy_piece<kWay>(m, to, from, head);
    if (tail != bytes) copy_piece<kWay>(m, to + tail, from + tail, bytes - tail);
  }
  if (count != 0) {
    copy_units<kWay>(m, share.first, share.step, units(to + head), units(from + head), count);
  }
}

// Whether a copy is at most one unit for each thread.
GDAKIT_HOST_DEVICE inline bool is_unit_each(Share share, const void* to, const void* from,
                                            std::uint64_t bytes) {
  const bool aligned = ((common_bits(to, from) | bytes) & (kUnit - 1)) == 0;
  return aligned & (bytes <= share.step * kUnit);
}
// Whether one of them is this thread's, and its copy.
GDAKIT_HOST_DEVICE inline bool has_unit(Share share, std::uint64_t bytes) {
  return share.first * kUnit < bytes;
}
template <Way kWay, class M>
GDAKIT_DEVICE void copy_unit(M& m, Share share, void* to, const void* from) {
  copy_piece<kWay>(m, &units(to)[share.first], &units(from)[share.first], kUnit);
}

// The same by few instructions where that can be: a word, or at most a unit for each thread.
template <Way kWay, class M>
GDAKIT_DEVICE void copy_share(M& m, Share share, void* to, const void* from, std::uint64_t bytes) {
  if (is_word(to, from, bytes)) {
    if (share.first == 0) copy_as_word<kWay>(m, to, from, bytes);
  } else if (is_unit_each(share, to, from, bytes)) {
    if (has_unit(share, bytes)) copy_unit<kWay>(m, share, to, from);
  } else {
    copy_shares<kWay>(m, share, static_cast<std::byte*>(to), static_cast<const std::byte*>(from),
                      bytes);
  }
}

// Copies by all threads of the group, after what any of them did before the call and before what
// any does after it. How it is done for a unit of each thread, the usual small message, they know
// before they meet: while they wait it takes no time.
template <Way kWay, class M, class Group>
GDAKIT_DEVICE void copy(M& m, Group group, void* to, const void* from, std::uint64_t bytes) {
  const Share share = share_of(m, group);
  const bool together = !std::is_same_v<Group, ThreadGroup>;
  const bool by_units = together & is_unit_each(share, to, from, bytes);
  const bool mine = by_units & has_unit(share, bytes);
  meet(m, group);
  if (mine) {
    copy_unit<kWay>(m, share, to, from);
  } else if (!by_units) {
    copy_share<kWay>(m, share, to, from, bytes);
  }
  meet(m, group);
}

// One value of 1, 2, 4 or 8 bytes, by one strong access where it is aligned to its size.
template <class M, class T>
GDAKIT_DEVICE void store_value(M& m, T* to, T value) {
  using W = WordOf<sizeof(T)>;
  if (alignof(T) < sizeof(T) && reinterpret_cast<std::uint64_t>(to) % sizeof(T) != 0) {
    return m.copy(to, &value, sizeof(T));
  }
  m.store(order::RelaxedSystem{}, reinterpret_cast<W*>(to), bit_cast<W>(value));
}
template <class M, class T>
GDAKIT_DEVICE T load_value(M& m, const T* from) {
  using W = WordOf<sizeof(T)>;
  if (alignof(T) < sizeof(T) && reinterpret_cast<std::uint64_t>(from) % sizeof(T) != 0) {
    T value{};
    m.copy_in(&value, from, sizeof(T));
    return value;
  }
  return bit_cast<T>(m.load(order::DirectFetched{}, reinterpret_cast<const W*>(from)));
}

}  // namespace gdakit::direct
