// Meetings of talks: all PEs' players of one number come together, by a collective of a team of
// their own. Players of other numbers go on meanwhile, by the same queues.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/pe.h"
#include "sim/world/scenarios/talk_program.h"

namespace gdakit::sim::scenarios {

// The PEs of the team by which players of this number meet, by rank: those of number 0 in reverse.
std::vector<std::int32_t> meeting_members(std::uint32_t pes, std::uint32_t number);
inline Team meeting_team(std::uint32_t number) { return {static_cast<std::int32_t>(number) + 1}; }

// Words that a member of such a meeting reads, of `own`.
std::uint32_t words_read(const TalkStep& step, std::uint32_t pes);
// What the meeting brings to the player of that number of a PE.
std::vector<std::uint64_t> words_brought(const TalkStep& step, std::uint32_t pes,
                                         std::uint32_t number, std::uint32_t pe);

// The collective itself.
template <class Handle>
Status meet(Handle& team, std::uint64_t* dest, const std::uint64_t* source, const TalkStep& step) {
  const std::size_t count = step.count;
  switch (step.meeting) {
    case TalkMeeting::barrier: return team.barrier();
    case TalkMeeting::sync: return team.sync();
    case TalkMeeting::broadcast:
      return team.broadcast(dest, source, count, static_cast<int>(step.root));
    case TalkMeeting::fcollect: return team.fcollect(dest, source, count);
    case TalkMeeting::alltoall: return team.alltoall(dest, source, count);
    case TalkMeeting::reduce: break;
  }
  return team.reduce(dest, source, count, Sum{});
}

}  // namespace gdakit::sim::scenarios
