// Direct peers: PEs whose heap this PE's threads map, and so serve by loads, stores and atomics of
// their own in place of the NIC. Which PEs these are the transport map says
// (core/host/transport_map.h); HeapView::direct_bases has the addresses.
//
// When the call of a direct operation returns, nothing of it is to be waited for: it needs no
// queue, and its ticket has index 0. Stores to a direct peer keep no order:
// order::DirectBeforeLater stands where another PE may learn of them, that is before signals and
// collectives' counts, and in quiet and fence.
#pragma once

#include "device/group.h"

namespace gdakit::direct {

// Whether the bytes from `address` on lie in the heap.
GDAKIT_HOST_DEVICE inline bool is_in_heap(const HeapView& heap, std::uint64_t address,
                                          std::uint64_t bytes) {
  return address >= heap.base && address <= heap.end && bytes <= heap.end - address;
}
GDAKIT_HOST_DEVICE inline bool is_in_heap(const HeapView& heap, const void* object,
                                          std::uint64_t bytes) {
  return is_in_heap(heap, reinterpret_cast<std::uint64_t>(object), bytes);
}

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

// One word of `bytes` bytes, if that is what it is and both sides are aligned to it.
template <Way kWay, class M>
GDAKIT_DEVICE bool copy_as_word(M& m, void* to, const void* from, std::uint64_t bytes) {
  const std::uint64_t ends =
      reinterpret_cast<std::uint64_t>(to) | reinterpret_cast<std::uint64_t>(from);
  if (bytes > 8 || (bytes & (bytes - 1)) != 0 || ends % bytes != 0) return false;
  switch (bytes) {
    case 8: copy_word<kWay, std::uint64_t>(m, to, from); break;
    case 4: copy_word<kWay, std::uint32_t>(m, to, from); break;
    case 2: copy_word<kWay, std::uint16_t>(m, to, from); break;
    default: copy_word<kWay, std::uint8_t>(m, to, from); break;
  }
  return true;
}

// One access, or several: the side of the peer as it is now, whatever a cache still holds of it.
template <Way kWay, class M>
GDAKIT_DEVICE void copy_piece(M& m, void* to, const void* from, std::uint64_t bytes) {
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

// One thread's share of `count` units, neighbours side by side, between addresses that are aligned
// to a unit. Loads of several units are under way at a time.
template <Way kWay, class M>
GDAKIT_DEVICE void copy_units(M& m, Share share, void* to, const void* from, std::uint64_t count) {
  constexpr std::uint32_t kAtOnce = 8;
  // The compiler must know of the alignment to keep what is held in registers.
  auto* const target = static_cast<Unit*>(__builtin_assume_aligned(to, kUnit));
  const auto* const source = static_cast<const Unit*>(__builtin_assume_aligned(from, kUnit));
  const std::uint64_t step = share.step;
  std::uint64_t i = share.first;
  if (count <= step) {  // at most one each: few instructions, and none for those without
    if (i < count) copy_piece<kWay>(m, &target[i], &source[i], kUnit);
    return;
  }
  for (; i + (kAtOnce - 1) * step < count; i += kAtOnce * step) {
    Unit held[kAtOnce];
    GDAKIT_UNROLL
    for (std::uint32_t k = 0; k < kAtOnce; ++k) {
      copy_piece<kWay>(m, &held[k], &source[i + k * step], kUnit);
    }
    GDAKIT_UNROLL
    for (std::uint32_t k = 0; k < kAtOnce; ++k) m.copy(&target[i + k * step], &held[k], kUnit);
  }
  Unit held[kAtOnce] = {};
  GDAKIT_UNROLL
  for (std::uint32_t k = 0; k < kAtOnce; ++k) {
    if (i + k * step < count) copy_piece<kWay>(m, &held[k], &source[i + k * step], kUnit);
  }
  GDAKIT_UNROLL
  for (std::uint32_t k = 0; k < kAtOnce; ++k) {
    if (i + k * step < count) m.copy(&target[i + k * step], &held[k], kUnit);
  }
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
  const std::uint64_t units = (bytes - head) / kUnit;
  const std::uint64_t tail = head + units * kUnit;
  if (share.first == 0) {
    if (head != 0) copy_piece<kWay>(m, to, from, head);
    if (tail != bytes) copy_piece<kWay>(m, to + tail, from + tail, bytes - tail);
  }
  if (units != 0) copy_units<kWay>(m, share, to + head, from + head, units);
}

// Copies by all threads of the group, after what any of them did before the call and before what
// any does after it.
template <Way kWay, class M, class Group>
GDAKIT_DEVICE void copy(M& m, Group group, void* to, const void* from, std::uint64_t bytes) {
  if constexpr (std::is_same_v<Group, ThreadGroup>) {
    if (copy_as_word<kWay>(m, to, from, bytes)) return;
  }
  meet(m, group);
  copy_shares<kWay>(m, share_of(m, group), static_cast<std::byte*>(to),
                    static_cast<const std::byte*>(from), bytes);
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
