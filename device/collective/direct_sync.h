// Sync among direct peers: the messages of messenger.h, by few looks at memory. Behind a fence, and
// behind a word that was waited for, a GPU's nearest cache is empty, and each look takes as long as
// memory does; so all that a thread needs is read before the fence.
#pragma once

#include "device/collective/session.h"

namespace gdakit::collective {

// Up to so many members everyone tells everyone: one message's time in place of several.
inline constexpr int kLinearSync = 8;

GDAKIT_HOST_DEVICE inline bool is_linear_sync(CollectiveAlgorithm algorithm, int members) {
  return algorithm == CollectiveAlgorithm::automatic ? members <= kLinearSync
                                                     : algorithm == CollectiveAlgorithm::linear;
}

// Whether direct_sync serves the team: no queue is ever posted to, and the group has a thread for
// each other member.
template <class M, class Group>
GDAKIT_DEVICE bool can_sync_directly(const M& m, const DeviceContext& context, Group group,
                                     const TeamView& team) {
  const auto others = static_cast<std::uint32_t>(team.n_pes - 1);
  return context.heap.direct_only && others > 0 && others <= share_of(m, group).step &&
         is_linear_sync(context.algorithm, team.n_pes);
}

// One thread's part: a message to a member, and one from it.
class Handshake {
 public:
  // Reads all that it takes.
  template <class M>
  GDAKIT_DEVICE Handshake(M& m, const DeviceContext& context, const TeamView& team, int member)
      : team_(team),
        pe_(team.members[member]),
        peer_(team.peers[pe_]),
        there_(
            direct::at(context.heap, context.heap.direct_bases[pe_], &team.arrived[context.my_pe])),
        here_(&team.arrived[pe_]),
        sent_(m.load_weak(&peer_.sent) + 1),
        received_(m.load_weak(&peer_.received) + 1) {}

  template <class M>
  GDAKIT_DEVICE Status shake(M& m, const DeviceContext& context) const {
    m.store(order::RelaxedSystem{}, there_, sent_);
    m.store_weak(&peer_.sent, sent_);
    m.store_weak(&peer_.received, received_);
    m.store_weak(&peer_.posted, 0);
    return await_count(m, context, team_, here_, received_, pe_);
  }

 private:
  const TeamView& team_;
  std::int32_t pe_;
  TeamPeer& peer_;
  std::uint64_t* there_;
  const std::uint64_t* here_;
  std::uint64_t sent_;
  std::uint64_t received_;
};

// All members meet, and see what this PE's direct puts stored before. As a barrier it also makes
// these complete, like quiet: for those who do not come.
template <class M, class Group>
GDAKIT_DEVICE Status direct_sync(M& m, const DeviceContext& context, Group group,
                                 const TeamView& team, bool is_barrier) {
  const auto number = static_cast<int>(share_of(m, group).first);
  const bool tells = number < team.n_pes - 1;
  const int member = tells ? (team.my_pe + 1 + number) % team.n_pes : team.my_pe;
  if (meet_any(m, group, team_error(m, team) != 0)) return agree_on_error(m, group, team);
  const Handshake hands(m, context, team, member);  // behind what any thread did with the team
  // Each thread, as in quiet and fence.
  if (is_barrier) {
    m.fence(order::DirectComplete{});
  } else {
    m.fence(order::DirectBeforeLater{});
  }
  const Status status = tells ? hands.shake(m, context) : Status{};
  if (!status) break_team(m, team, status);
  return meet_any(m, group, !status) ? agree_on_error(m, group, team) : Status{};
}

}  // namespace gdakit::collective
