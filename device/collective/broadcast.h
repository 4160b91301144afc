// Broadcast: one member's bytes for all members.
#pragma once

#include "device/collective/session.h"

namespace gdakit::collective {

inline constexpr int kLinearBroadcast = 4;                   // members
inline constexpr std::uint64_t kRingBroadcast = 256 * 1024;  // bytes from which the ring pays

// Member numbers as seen from the root, who is 0.
template <class S>
struct FromRoot {
  S& session;
  int root;

  GDAKIT_DEVICE int me() const { return session.wrap(session.me() - root + session.n()); }
  GDAKIT_DEVICE int member(int number) const { return session.wrap(number + root); }
};

template <class S>
GDAKIT_DEVICE_CALL void broadcast_linear(S& session, std::byte* dest, const std::byte* source,
                                         std::uint64_t bytes, int root) {
  if (session.me() != root) {
    session.by_one([&] { return session.receive(root); });
    return;
  }
  session.send_each([&](int) { return Message{dest, source, bytes}; });
  session.complete_each();
}

// A binomial tree: member v has its bytes from the member whose number lacks v's highest bit.
template <class S>
GDAKIT_DEVICE_CALL void broadcast_tree(S& session, std::byte* dest, const std::byte* source,
                                       std::uint64_t bytes, int root) {
  const FromRoot<S> tree{session, root};
  const int me = tree.me();
  int reach = 1;
  while (reach <= me) reach *= 2;
  const std::byte* const from = me == 0 ? source : dest;
  if (me != 0 && !session.receive_from(tree.member(me - reach / 2))) return;
  int top = reach;
  while (me + 2 * top < session.n()) top *= 2;
  for (int step = top; step >= reach; step /= 2) {  // the largest subtree first
    if (me + step < session.n()) session.send_to(tree.member(me + step), {dest, from, bytes});
  }
  session.by_one([&] {
    Status status;
    for (int step = reach; me + step < session.n() && status.ok(); step *= 2) {
      status = session.complete(tree.member(me + step));
    }
    return status;
  });
}

// The bytes of each of `n` parts, the last of which may be smaller; a multiple of 16.
GDAKIT_HOST_DEVICE constexpr std::uint64_t part_of(std::uint64_t bytes, std::uint64_t n) {
  return round_up((bytes + n - 1) / n, std::uint64_t{16});
}

// The root gives each member a part; then the parts go round, and stop before the root.
template <class S>
GDAKIT_DEVICE_CALL void broadcast_ring(S& session, std::byte* dest, const std::byte* source,
                                       std::uint64_t bytes, int root) {
  const FromRoot<S> ring{session, root};
  const int n = session.n();
  const int me = ring.me();
  const std::byte* const from = me == 0 ? source : dest;
  const std::uint64_t part = part_of(bytes, static_cast<std::uint64_t>(n));
  const auto send = [&](int to, int number) {
    const std::uint64_t at = part * static_cast<std::uint64_t>(number);
    const std::uint64_t left = at < bytes ? bytes - at : 0;
    session.send_to(ring.member(to), {dest + at, from + at, left < part ? left : part});
  };
  if (me != 0 && !session.receive_from(root)) return;
  for (int to = 1; me == 0 && to < n; ++to) send(to, to);
  for (int step = 0; step < n - 1; ++step) {
    if (me + 1 < n) send(me + 1, (me - step + n) % n);
    if (me != 0 && !session.receive_from(ring.member(me - 1))) return;
  }
  const int last = me == 0 ? n : me + 2;  // the root has sent to all
  session.by_one([&] {
    Status status;
    for (int to = me + 1; to < n && to < last && status.ok(); ++to) {
      status = session.complete(ring.member(to));
    }
    return status;
  });
}

GDAKIT_HOST_DEVICE constexpr CollectiveAlgorithm broadcast_algorithm(CollectiveAlgorithm wanted,
                                                                     int n, std::uint64_t bytes) {
  if (wanted != CollectiveAlgorithm::automatic) return wanted;
  if (n > 2 && bytes >= kRingBroadcast) return CollectiveAlgorithm::ring;
  return n <= kLinearBroadcast ? CollectiveAlgorithm::linear : CollectiveAlgorithm::logarithmic;
}

// `bytes` of `source` on `root` come to `dest` on all members, the root included.
template <class S>
GDAKIT_DEVICE Status broadcast(S& session, void* dest, const void* source, std::uint64_t bytes,
                               int root) {
  if (bytes == 0) return session.nothing();
  const std::uint64_t given = session.me() == root ? bytes : 0;
  if (!session.begin({dest, bytes}, {source, given})) return session.status();
  auto* const to = static_cast<std::byte*>(dest);
  const auto* const from = static_cast<const std::byte*>(source);
  switch (broadcast_algorithm(session.algorithm(), session.n(), bytes)) {
    case CollectiveAlgorithm::ring: broadcast_ring(session, to, from, bytes, root); break;
    case CollectiveAlgorithm::logarithmic: broadcast_tree(session, to, from, bytes, root); break;
    default: broadcast_linear(session, to, from, bytes, root);
  }
  if (session.me() == root) session.copy(dest, source, bytes);
  session.agree();
  return session.status();
}

}  // namespace gdakit::collective
