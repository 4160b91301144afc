// Alltoall: each member has a block for every member, itself included.
#pragma once

#include "device/collective/session.h"

namespace gdakit::collective {

// Block j of `source`, of `bytes`, comes to block me() of `dest` on member j.
template <class S>
GDAKIT_DEVICE_CALL Status alltoall(S& session, void* dest, const void* source,
                                   std::uint64_t bytes) {
  if (bytes == 0) return session.nothing();
  const auto all = bytes * static_cast<std::uint64_t>(session.n());
  if (!session.begin({dest, all}, {source, all})) return session.status();
  const auto block = [bytes](auto* memory, int number) {
    return memory + bytes * static_cast<std::uint64_t>(number);
  };
  std::byte* const mine = block(static_cast<std::byte*>(dest), session.me());
  const auto* const from = static_cast<const std::byte*>(source);
  session.send_each([&](int peer) { return Message{mine, block(from, peer), bytes}; });
  session.copy(mine, block(from, session.me()), bytes);
  session.receive_each();
  session.complete_each();
  session.agree();
  return session.status();
}

// How the elements of an alltoalls lie: strides in elements.
struct Strides {
  std::uint32_t element_bytes;
  std::ptrdiff_t dest;
  std::ptrdiff_t source;

  // From the first to the last of `count` elements, at least 1; ~0 where that does not fit.
  GDAKIT_HOST_DEVICE std::uint64_t extent(std::uint64_t count, std::ptrdiff_t stride) const {
    const std::uint64_t most = ~std::uint64_t{0} / element_bytes - 1;
    const auto step = static_cast<std::uint64_t>(stride);
    return count - 1 > most / step ? ~std::uint64_t{0} : ((count - 1) * step + 1) * element_bytes;
  }
};

// Blocks of `count` elements: element i of block j begins (j * count + i) strides behind the first.
template <class S>
GDAKIT_DEVICE_CALL Status alltoalls(S& session, void* dest, const void* source,
                                    const Strides& strides, std::uint64_t count) {
  if (count == 0) return session.nothing();
  const std::uint64_t all = count * static_cast<std::uint64_t>(session.n());
  const Buffer whole_dest{dest, strides.extent(all, strides.dest)};
  if (!session.begin(whole_dest, {source, strides.extent(all, strides.source)})) {
    return session.status();
  }
  const auto element = [&](auto* memory, std::ptrdiff_t stride, int block, std::uint64_t i) {
    const std::uint64_t number = count * static_cast<std::uint64_t>(block) + i;
    return memory + static_cast<std::ptrdiff_t>(number) * stride *
                        static_cast<std::ptrdiff_t>(strides.element_bytes);
  };
  auto* const to = static_cast<std::byte*>(dest);
  const auto* const from = static_cast<const std::byte*>(source);
  const int me = session.me();
  session.send_each([&](int peer) {
    return StridedMessage{element(to, strides.dest, me, 0),
                          element(from, strides.source, peer, 0),
                          strides.dest,
                          strides.source,
                          count,
                          strides.element_bytes};
  });
  const Share share = session.share();
  for (std::uint64_t i = share.first; i < count; i += share.step) {
    session.machine().copy(element(to, strides.dest, me, i), element(from, strides.source, me, i),
                           strides.element_bytes);
  }
  session.receive_each();
  session.complete_each();
  session.agree();
  return session.status();
}

}  // namespace gdakit::collective
