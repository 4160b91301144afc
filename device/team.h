// Teams: numbered subsets of the PEs of a job, which collective operations are made among.
//
//   kTeamWorld            all PEs
//   kTeamShared           those whose memory this PE can load from and store to
//   kTeamNode             those of this PE's host
//   kTeamSameNodeNumber   those that have the same number in their kTeamNode
//
// Context::split_strided and split_2d make more. A Team is a name that host and kernels pass by
// value; it has the same id on all members, and other PEs may use that id for another team.
#pragma once

#include "device/views.h"

namespace gdakit {

struct Team {
  std::int32_t id = -1;

  friend GDAKIT_HOST_DEVICE constexpr bool operator==(Team a, Team b) { return a.id == b.id; }
  friend GDAKIT_HOST_DEVICE constexpr bool operator!=(Team a, Team b) { return a.id != b.id; }
};

inline constexpr Team kTeamInvalid{-1};
inline constexpr Team kTeamWorld{0};
inline constexpr Team kTeamShared{1};
inline constexpr Team kTeamNode{2};
inline constexpr Team kTeamSameNodeNumber{3};
inline constexpr std::int32_t kPredefinedTeams = 4;

// The team as this PE sees it; null unless there is such a team and this PE is a member.
GDAKIT_HOST_DEVICE inline const TeamView* find_team(const DeviceContext& context, Team team) {
  if (team.id < 0 || static_cast<std::uint32_t>(team.id) >= context.team_count) return nullptr;
  const TeamView& view = context.teams[team.id];
  return view.n_pes > 0 && view.my_pe >= 0 ? &view : nullptr;
}

// This PE's number in the team; -1 if it is no member.
GDAKIT_HOST_DEVICE inline int team_my_pe(const DeviceContext& context, Team team) {
  const TeamView* const view = find_team(context, team);
  return view == nullptr ? -1 : view->my_pe;
}

// How many members the team has; -1 if this PE is none of them.
GDAKIT_HOST_DEVICE inline int team_n_pes(const DeviceContext& context, Team team) {
  const TeamView* const view = find_team(context, team);
  return view == nullptr ? -1 : view->n_pes;
}

// The number that member `pe` of `team` has in `in`; -1 if it is no member there, or the arguments
// name nothing. This PE must be a member of both.
GDAKIT_HOST_DEVICE inline int team_translate_pe(const DeviceContext& context, Team team, int pe,
                                                Team in) {
  const TeamView* const from = find_team(context, team);
  const TeamView* const to = find_team(context, in);
  if (from == nullptr || to == nullptr || pe < 0 || pe >= from->n_pes) return -1;
  return to->numbers[from->members[pe]];
}

}  // namespace gdakit
