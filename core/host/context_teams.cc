// The calls of Context that make teams: the members of the parent tell each other what they ask for
// by a collective on it.
#include "core/host/context.h"
#include "core/host/team_kernels.h"

namespace gdakit {

TeamExchange Context::team_exchange() {
  return [this](Team team, const TeamRequest& mine) -> Result<std::vector<TeamRequest>> {
    TeamRequest* const memory = teams_->next_exchange(team);
    std::vector<TeamRequest> all(static_cast<std::size_t>(team_n_pes(team)));
    if (auto done = upload(memory, &mine, 1); !done) return done.error();
    if (auto done = enqueue_exchange(*this, team, memory + 1, memory, sizeof(TeamRequest)); !done) {
      return done.error();
    }
    if (auto done = wait_for(stream()); !done) return done.error();
    // Its own: reports of other operations, which this PE alone has, would part the members.
    if (const auto status = bit_cast<Status>(host_result()); !status) return error_of(status);
    if (auto done = download(all.data(), memory + 1, all.size()); !done) return done.error();
    return all;
  };
}

Result<Team> Context::split_strided(Team parent, int start, int stride, int size) {
  return teams_->split_strided(parent, start, stride, size, team_exchange());
}

Result<TeamGrid> Context::split_2d(Team parent, int xrange) {
  return teams_->split_2d(parent, xrange, team_exchange());
}

Result<void> Context::destroy_team(Team team) { return teams_->destroy(team, team_exchange()); }

}  // namespace gdakit
