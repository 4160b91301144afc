#include "core/host/team_table.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "core/base/bits.h"
#include "core/host/bootstrap/host_name.h"
#include "core/host/bootstrap/same_on_all_pes.h"

namespace gdakit {
namespace {

constexpr std::uint64_t kLine = 256;  // the parts of a place share no line

std::string arguments_text(const TeamRequest& request) {
  switch (request.kind) {
    case TeamRequest::split_strided:
      return "split_strided from " + std::to_string(request.arguments[0]) + ", stride " +
             std::to_string(request.arguments[1]) + ", size " +
             std::to_string(request.arguments[2]);
    case TeamRequest::split_2d:
      return "split_2d with xrange " + std::to_string(request.arguments[0]);
    case TeamRequest::destroy: return "destroy_team";
    default: return "nothing: a collective of the team has failed there";
  }
}

std::uint64_t free_on_all(const std::vector<TeamRequest>& requests) {
  std::uint64_t free = ~std::uint64_t{0};
  for (const TeamRequest& request : requests) free &= request.free_places;
  return free;
}

// Of each PE, how many before it are on its host.
std::vector<int> numbers_on_hosts(const std::vector<HostName>& hosts) {
  std::map<decltype(HostName::text), int> so_far;
  std::vector<int> numbers;
  for (const HostName& host : hosts) numbers.push_back(so_far[host.text]++);
  return numbers;
}

Error differ(const std::string& call, int pe, const TeamRequest& its, int other,
             const TeamRequest& others) {
  return Error(Code::invalid_argument,
               call + ": PE " + std::to_string(pe) + " called " + arguments_text(its) +
                   " where PE " + std::to_string(other) + " called " + arguments_text(others) +
                   "; all members of a team must ask for the same");
}

bool same_call(const TeamRequest& a, const TeamRequest& b) {
  return a.kind == b.kind &&
         std::equal(std::begin(a.arguments), std::end(a.arguments), b.arguments);
}

// The numbers that a split_strided names in a parent of `n` members.
Result<std::vector<std::size_t>> named_by(const TeamRequest& request, std::int64_t n) {
  const std::int64_t start = request.arguments[0];
  const std::int64_t stride = request.arguments[1];
  const std::int64_t size = request.arguments[2];
  const std::int64_t last = start + stride * (size - 1);
  if (size < 1 || (stride == 0 && size > 1) || start < 0 || start >= n || last < 0 || last >= n) {
    return Error(Code::invalid_argument,
                 arguments_text(request) + ": the parent has members 0 to " +
                     std::to_string(n - 1) + "; all of the new team's must be among them");
  }
  std::vector<std::size_t> named;
  for (std::int64_t i = 0; i < size; ++i) {
    named.push_back(static_cast<std::size_t>(start + i * stride));
  }
  return named;
}

// The messages of a collective are arranged and counted by them, and places lie where they do on
// other PEs.
Result<void> agree_on_options(Bootstrap& bootstrap, const Options& options) {
  const auto decimal = [](std::uint64_t value) { return std::to_string(value); };
  Result<void> same =
      agree_on(bootstrap, "GDAKIT_COLLECTIVES", options.collectives, collective_choice_name);
  if (same) same = agree_on(bootstrap, "GDAKIT_PLACEMENT", options.placement, placement_name);
  if (same) same = agree_on(bootstrap, "GDAKIT_TEAMS", options.teams, decimal);
  if (same) same = agree_on(bootstrap, "GDAKIT_TEAM_SCRATCH", options.team_scratch, decimal);
  return same;
}

}  // namespace

Result<std::unique_ptr<TeamTable>> TeamTable::create(const Options& options, Bootstrap& bootstrap,
                                                     SymmetricHeap& heap, MemoryProvider& memory,
                                                     const std::vector<bool>& reachable) {
  if (Result<void> same = agree_on_options(bootstrap, options); !same) return same.error();
  std::unique_ptr<TeamTable> table(new TeamTable(bootstrap.rank(), bootstrap.size(), memory));
  if (Result<void> made = table->make_memory(options, heap); !made) return made.error();
  if (Result<void> made = table->make_predefined(bootstrap, reachable); !made) return made.error();
  return table;
}

Result<void> TeamTable::make_memory(const Options& options, SymmetricHeap& heap) {
  const auto n = static_cast<std::uint64_t>(size_);
  teams_.resize(options.teams);
  scratch_bytes_ = round_up(std::max(options.team_scratch, least_scratch(n)), kLine);
  symmetric_bytes_ = round_up(n * sizeof(std::uint64_t), kLine) + scratch_bytes_ +
                     round_up(2 * (1 + n) * sizeof(TeamRequest), kLine);
  own_bytes_ = words_offset(0) + round_up(sizeof(TeamWords), kLine);
  Result<void*> symmetric = heap.allocate_own(teams_.size() * symmetric_bytes_, "teams");
  if (!symmetric) return symmetric.error().within("memory for teams (GDAKIT_TEAM_SCRATCH)");
  symmetric_ = static_cast<std::byte*>(*symmetric);
  auto own = memory_.allocate(teams_.size() * own_bytes_, Place::device);
  if (!own) return own.error();
  own_ = std::move(*own);
  auto table = memory_.allocate(teams_.size() * sizeof(TeamView), Place::device);
  if (!table) return table.error();
  table_ = std::move(*table);
  return {};
}

Result<void> TeamTable::make_predefined(Bootstrap& bootstrap, const std::vector<bool>& reachable) {
  const Result<std::vector<HostName>> hosts = allgather_value(bootstrap, this_host());
  if (!hosts) return hosts.error();
  const std::vector<int> number_on_host = numbers_on_hosts(*hosts);
  std::array<std::vector<std::int32_t>, kPredefinedTeams> members;
  for (int pe = 0; pe < size_; ++pe) {
    const auto index = static_cast<std::size_t>(pe);
    const bool near = (*hosts)[index] == (*hosts)[static_cast<std::size_t>(rank_)];
    members[static_cast<std::size_t>(kTeamWorld.id)].push_back(pe);
    if (reachable[index]) members[static_cast<std::size_t>(kTeamShared.id)].push_back(pe);
    if (near) members[static_cast<std::size_t>(kTeamNode.id)].push_back(pe);
    if (number_on_host[index] == number_on_host[static_cast<std::size_t>(rank_)]) {
      members[static_cast<std::size_t>(kTeamSameNodeNumber.id)].push_back(pe);
    }
  }
  for (int place = 0; place < kPredefinedTeams; ++place) {
    Result<Team> made = put(place, std::move(members[static_cast<std::size_t>(place)]));
    if (!made) return made.error();
  }
  return {};
}

// Fills a place. Empty `members` leave a place without a team.
Result<Team> TeamTable::put(int place, std::vector<std::int32_t> members) {
  const auto index = static_cast<std::uint64_t>(place);
  const auto n = static_cast<std::uint64_t>(size_);
  std::vector<std::int32_t> lists(2 * n, -1);  // members, then numbers
  std::copy(members.begin(), members.end(), lists.begin());
  for (std::size_t i = 0; i < members.size(); ++i) {
    lists[n + static_cast<std::uint64_t>(members[i])] = static_cast<std::int32_t>(i);
  }
  if (Result<void> done =
          own_->write(index * own_bytes_, lists.data(), lists.size() * sizeof(std::int32_t));
      !done) {
    return done.error();
  }
  std::byte* const own = static_cast<std::byte*>(own_->data()) + index * own_bytes_;
  std::byte* const symmetric = symmetric_ + index * symmetric_bytes_;
  std::byte* const counts = own + round_up(2 * n * sizeof(std::int32_t), kLine);
  TeamView view{};
  view.my_pe = lists[n + static_cast<std::uint64_t>(rank_)];
  view.n_pes = static_cast<std::int32_t>(members.size());
  view.members = reinterpret_cast<const std::int32_t*>(own);
  view.numbers = view.members + n;
  view.arrived = reinterpret_cast<std::uint64_t*>(symmetric);
  view.scratch = symmetric + round_up(n * sizeof(std::uint64_t), kLine);
  view.scratch_bytes = scratch_bytes_;
  view.peers = reinterpret_cast<TeamPeer*>(counts);
  view.words =
      reinterpret_cast<TeamWords*>(static_cast<std::byte*>(own_->data()) + words_offset(index));
  if (Result<void> done = table_->write(index * sizeof(TeamView), &view, sizeof(view)); !done) {
    return done.error();
  }
  // A new team begins with an even turn on all members.
  const TeamWords words{};
  if (Result<void> done = own_->write(words_offset(index), &words, sizeof(words)); !done) {
    return done.error();
  }
  teams_[index].members = std::move(members);
  teams_[index].exchanges = 0;
  return Team{place};
}

std::uint64_t TeamTable::words_offset(std::size_t place) const {
  const auto n = static_cast<std::uint64_t>(size_);
  return place * own_bytes_ + round_up(2 * n * sizeof(std::int32_t), kLine) +
         round_up(n * sizeof(TeamPeer), kLine);
}

Result<BrokenTeam> TeamTable::find_broken(const std::function<bool(int)>& is_lost) const {
  for (std::size_t place = 0; place < teams_.size(); ++place) {
    if (std::ranges::any_of(teams_[place].members, is_lost)) continue;
    const Team team{static_cast<std::int32_t>(place)};
    const Result<Status> status = error_of(team);
    if (!status) return status.error();
    if (!status->ok()) return BrokenTeam{team, *status};
  }
  return BrokenTeam{};
}

Result<Status> TeamTable::error_of(Team team) const {
  if (members(team).empty()) return Status{};
  TeamWords words{};
  Result<void> read =
      own_->read(words_offset(static_cast<std::size_t>(team.id)), &words, sizeof(words));
  if (!read) return read.error();
  return bit_cast<Status>(words.error);
}

const std::vector<std::int32_t>& TeamTable::members(Team team) const {
  static const std::vector<std::int32_t> kNobody;
  const bool known = team.id >= 0 && static_cast<std::size_t>(team.id) < teams_.size();
  return known ? teams_[static_cast<std::size_t>(team.id)].members : kNobody;
}

int TeamTable::my_pe(Team team) const {
  const std::vector<std::int32_t>& all = members(team);
  const auto found = std::find(all.begin(), all.end(), rank_);
  return found == all.end() ? -1 : static_cast<int>(found - all.begin());
}

int TeamTable::n_pes(Team team) const {
  return my_pe(team) < 0 ? -1 : static_cast<int>(members(team).size());
}

int TeamTable::translate(Team team, int pe, Team in) const {
  if (my_pe(in) < 0 || pe < 0 || pe >= n_pes(team)) return -1;
  const std::vector<std::int32_t>& there = members(in);
  const auto found =
      std::find(there.begin(), there.end(), members(team)[static_cast<std::size_t>(pe)]);
  return found == there.end() ? -1 : static_cast<int>(found - there.begin());
}

TeamRequest* TeamTable::next_exchange(Team team) {
  const auto n = static_cast<std::uint64_t>(size_);
  const auto index = static_cast<std::uint64_t>(team.id);
  std::byte* const first = symmetric_ + (index + 1) * symmetric_bytes_ -
                           round_up(2 * (1 + n) * sizeof(TeamRequest), kLine);
  const std::uint64_t turn = teams_[index].exchanges++ % 2;
  return reinterpret_cast<TeamRequest*>(first) + turn * (1 + n);
}

std::uint64_t TeamTable::free_places() const {
  std::uint64_t free = 0;
  for (std::size_t i = 0; i < teams_.size(); ++i) {
    if (teams_[i].members.empty() && !teams_[i].lost) free |= std::uint64_t{1} << i;
  }
  return free;
}

Result<void> TeamTable::check_member(const std::string& call, Team team) const {
  if (my_pe(team) >= 0) return {};
  return Error(Code::invalid_argument, call + ": there is no team " + std::to_string(team.id) +
                                           " of which PE " + std::to_string(rank_) +
                                           " is a member");
}

// What each member of `parent` asks for, by its number there.
Result<std::vector<TeamRequest>> TeamTable::ask(const std::string& call, Team parent,
                                                TeamRequest mine,
                                                const TeamExchange& exchange) const {
  if (Result<void> member = check_member(call, parent); !member) return member.error();
  mine.free_places = free_places();
  Result<std::vector<TeamRequest>> all = exchange(parent, mine);
  if (!all) return all.error().within(call);
  return all;
}

// The places that are free on all members of `parent`, who must ask for what this PE does.
Result<std::uint64_t> TeamTable::agree(const std::string& call, Team parent,
                                       const TeamRequest& mine,
                                       const TeamExchange& exchange) const {
  const Result<std::vector<TeamRequest>> all = ask(call, parent, mine, exchange);
  if (!all) return all.error();
  for (std::size_t i = 0; i < all->size(); ++i) {
    if (same_call((*all)[i], mine)) continue;
    return differ(call, members(parent)[i], (*all)[i], rank_, mine);
  }
  return free_on_all(*all);
}

// Takes the lowest free place.
Result<int> TeamTable::place_of(const std::string& call, std::uint64_t* free_places) const {
  if (*free_places == 0) {
    return Error(Code::exhausted, call + ": all " + std::to_string(teams_.size()) +
                                      " places for teams are taken; destroy teams, or set "
                                      "GDAKIT_TEAMS to more");
  }
  const int place = lowest_bit(*free_places);
  *free_places &= *free_places - 1;
  return place;
}

// All whom one member names must have asked for the same team. So no two teams have a member in
// common, and one place serves them all.
Result<void> TeamTable::check_split(const std::string& call, Team parent,
                                    const std::vector<TeamRequest>& requests) const {
  const std::vector<std::int32_t>& pes = members(parent);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    if (requests[i].kind != TeamRequest::split_strided) {
      return differ(call, pes[i], requests[i], rank_,
                    requests[static_cast<std::size_t>(my_pe(parent))]);
    }
    const auto named = named_by(requests[i], static_cast<std::int64_t>(pes.size()));
    if (!named) return named.error();
    for (const std::size_t other : *named) {
      if (same_call(requests[i], requests[other])) continue;
      return differ(call, pes[i], requests[i], pes[other], requests[other]);
    }
  }
  return {};
}

Result<Team> TeamTable::split_strided(Team parent, int start, int stride, int size,
                                      const TeamExchange& exchange) {
  const std::string call = "split_strided";
  const TeamRequest mine{TeamRequest::split_strided, {start, stride, size}, 0};
  const Result<std::vector<TeamRequest>> all = ask(call, parent, mine, exchange);
  if (!all) return all.error();
  if (Result<void> good = check_split(call, parent, *all); !good) return good.error();
  std::uint64_t free = free_on_all(*all);
  const Result<int> place = place_of(call, &free);
  if (!place) return place.error();
  const auto named = named_by(mine, n_pes(parent));
  if (!named) return named.error();
  std::vector<std::int32_t> chosen;
  for (const std::size_t number : *named) chosen.push_back(members(parent)[number]);
  if (std::find(chosen.begin(), chosen.end(), rank_) == chosen.end()) return kTeamInvalid;
  return put(*place, std::move(chosen));
}

Result<TeamGrid> TeamTable::split_2d(Team parent, int xrange, const TeamExchange& exchange) {
  const std::string call = "split_2d";
  Result<std::uint64_t> free =
      agree(call, parent, {TeamRequest::split_2d, {xrange, 0, 0}, 0}, exchange);
  if (!free) return free.error();
  if (xrange < 1) {
    return Error(Code::invalid_argument,
                 "split_2d with xrange " + std::to_string(xrange) + ": give at least 1");
  }
  const std::vector<std::int32_t> all = members(parent);
  const int me = my_pe(parent);
  std::vector<std::int32_t> row;
  std::vector<std::int32_t> column;
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    if (i / xrange == me / xrange) row.push_back(all[static_cast<std::size_t>(i)]);
    if (i % xrange == me % xrange) column.push_back(all[static_cast<std::size_t>(i)]);
  }
  // Rows have no member in common, so that one place serves them all; likewise columns.
  const Result<int> x = place_of(call, &*free);
  if (!x) return x.error();
  const Result<int> y = place_of(call, &*free);
  if (!y) return y.error();
  Result<Team> made_x = put(*x, std::move(row));
  if (!made_x) return made_x.error();
  Result<Team> made_y = put(*y, std::move(column));
  if (!made_y) return made_y.error();
  return TeamGrid{*made_x, *made_y};
}

Result<void> TeamTable::destroy(Team team, const TeamExchange& exchange) {
  const std::string call = "destroy_team";
  if (team.id >= 0 && team.id < kPredefinedTeams) {
    return Error(Code::invalid_argument, call + ": team " + std::to_string(team.id) +
                                             " is predefined and stays until the job ends");
  }
  const Result<Status> error = error_of(team);
  if (!error) return error.error().within(call);
  if (!error->ok()) {
    teams_[static_cast<std::size_t>(team.id)].lost = true;
  } else {
    const Result<std::uint64_t> agreed =
        agree(call, team, {TeamRequest::destroy, {team.id, 0, 0}, 0}, exchange);
    if (!agreed) return agreed.error();
  }
  Result<Team> emptied = put(team.id, {});
  if (!emptied) return emptied.error();
  return {};
}

}  // namespace gdakit
