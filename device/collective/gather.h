// Fcollect (allgather) and collect: every member's bytes, one behind the other, on all members.
#pragma once

#include "device/collective/session.h"

namespace gdakit::collective {

inline constexpr int kLinearFcollect = 8;                  // members
inline constexpr std::uint64_t kRingFcollect = 64 * 1024;  // bytes of a member

template <class S>
GDAKIT_DEVICE_CALL void fcollect_linear(S& session, std::byte* dest, const std::byte* source,
                                        std::uint64_t bytes) {
  std::byte* const mine = dest + bytes * static_cast<std::uint64_t>(session.me());
  session.send_each([&](int) { return Message{mine, source, bytes}; });
  session.receive_each();
  session.complete_each();
}

// Dissemination: this member has the blocks of `have` members from its own on and sends them
// `have` members back, until it has all. This member's block is in `dest`.
template <class S>
GDAKIT_DEVICE_CALL void fcollect_disseminate(S& session, std::byte* dest, std::uint64_t bytes) {
  const int n = session.n();
  const int me = session.me();
  for (int have = 1; have < n; have *= 2) {
    const int count = have < n - have ? have : n - have;
    const int to = session.before_me(have);
    // Blocks me .. me + count - 1, round the team: those up to the last block, then the rest.
    const int first = count < n - me ? count : n - me;
    std::byte* const at = dest + bytes * static_cast<std::uint64_t>(me);
    session.send_to(to, {at, at, bytes * static_cast<std::uint64_t>(first)});
    session.send_to(to, {dest, dest, bytes * static_cast<std::uint64_t>(count - first)});
    const int from = session.after_me(have);
    if (!session.receive_from(from) || !session.receive_from(from)) return;
  }
  session.by_one([&] {
    Status status;
    for (int have = 1; have < n && status.ok(); have *= 2) {
      status = session.complete(session.before_me(have));
    }
    return status;
  });
}

// Blocks go round: each member passes on what it got last. This member's block is in `dest`.
template <class S>
GDAKIT_DEVICE_CALL void fcollect_ring(S& session, std::byte* dest, std::uint64_t bytes) {
  const int next = session.after_me(1);
  const int last = session.before_me(1);
  for (int step = 0; step < session.n() - 1; ++step) {
    std::byte* const block = dest + bytes * static_cast<std::uint64_t>(session.before_me(step));
    session.send_to(next, {block, block, bytes});
    if (!session.receive_from(last)) return;
  }
  session.by_one([&] { return session.complete(next); });
}

GDAKIT_HOST_DEVICE constexpr CollectiveAlgorithm fcollect_algorithm(CollectiveAlgorithm wanted,
                                                                    int n, std::uint64_t bytes) {
  if (wanted != CollectiveAlgorithm::automatic) return wanted;
  if (n <= kLinearFcollect) return CollectiveAlgorithm::linear;
  return bytes < kRingFcollect ? CollectiveAlgorithm::logarithmic : CollectiveAlgorithm::ring;
}

// `bytes` of every member: member i's come to dest + i * bytes on all members.
template <class S>
GDAKIT_DEVICE Status fcollect(S& session, void* dest, const void* source, std::uint64_t bytes) {
  if (bytes == 0) return session.nothing();
  const auto all = bytes * static_cast<std::uint64_t>(session.n());
  if (!session.begin({dest, all}, {source, bytes})) return session.status();
  auto* const to = static_cast<std::byte*>(dest);
  session.copy(to + bytes * static_cast<std::uint64_t>(session.me()), source, bytes);
  const auto algorithm = fcollect_algorithm(session.algorithm(), session.n(), bytes);
  if (session.n() == 1 || algorithm == CollectiveAlgorithm::linear) {
    fcollect_linear(session, to, static_cast<const std::byte*>(source), bytes);
  } else if (session.agree()) {  // the block that was copied is to be sent
    if (algorithm == CollectiveAlgorithm::ring) {
      fcollect_ring(session, to, bytes);
    } else {
      fcollect_disseminate(session, to, bytes);
    }
  }
  session.agree();
  return session.status();
}

// The same for members that may give different numbers of bytes, 0 included.
template <class S>
GDAKIT_DEVICE_CALL Status collect(S& session, void* dest, const void* source, std::uint64_t bytes) {
  // Whether `dest` has room, all members find out alike once they know the sizes.
  if (!session.begin({dest, 0}, {source, bytes})) return session.status();
  auto& m = session.machine();
  const int n = session.n();
  const std::uint64_t turn = session.take_turns(1);
  const auto size_of = [&](int member) {
    return reinterpret_cast<std::uint64_t*>(session.part(turn, member, n));
  };
  std::uint64_t* const mine = size_of(session.me());
  session.by_one([&] {
    m.store_weak(mine, bytes);
    return Status{};
  });
  if (!session.agree()) return session.status();
  session.send_each([&](int) { return Message{mine, mine, sizeof(*mine)}; });
  session.receive_each();
  if (!session.agree()) return session.status();
  std::uint64_t before = 0;
  std::uint64_t all = 0;
  for (int member = 0; member < n; ++member) {
    if (member == session.me()) before = all;
    all += m.load_weak(size_of(member));
  }
  if (!session.may_use({dest, all}, {source, bytes})) return session.status();
  std::byte* const at = static_cast<std::byte*>(dest) + before;
  session.send_each([&](int) { return Message{at, source, bytes}; });
  session.copy(at, source, bytes);
  session.receive_each();
  session.complete_each();
  session.agree();
  return session.status();
}

}  // namespace gdakit::collective
