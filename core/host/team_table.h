// The teams of one PE: who their members are, and what kernels need of them (device/team.h).
//
//   place 0   TeamView  members  numbers  counts | symmetric: arrived  scratch  exchange
//   place 1   ...
//
// All symmetric memory is made with the job, for as many teams as the options allow, because a new
// team is made by its parent's members alone. They agree on a place that is free on each of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/base/options.h"
#include "core/base/result.h"
#include "core/host/bootstrap/bootstrap.h"
#include "core/host/memory/memory_provider.h"
#include "core/host/symmetric_heap.h"
#include "device/status.h"
#include "device/team.h"

namespace gdakit {

// What a member tells the others of its parent team when a team is made or given back.
struct TeamRequest {
  // 0, which fresh memory holds, is none of them.
  enum Kind : std::int32_t { split_strided = 1, split_2d, destroy };

  std::int32_t kind;
  std::int32_t arguments[3];
  std::uint64_t free_places;  // bit i: place i is free here
};

// Gives `mine` to all members of `team` and returns what each gave, by its number there.
using TeamExchange =
    std::function<Result<std::vector<TeamRequest>>(Team team, const TeamRequest& mine)>;

// The two teams of a split in two dimensions.
struct TeamGrid {
  Team x;  // those in the same row
  Team y;  // those in the same column
};

// A team with which a collective has failed on this PE, and how.
struct BrokenTeam {
  Team team = kTeamInvalid;  // there is none
  Status status;
};

class TeamTable {
 public:
  // Collective. Makes the memory and the predefined teams. `reachable`: by PE, whether this PE can
  // load from and store to its memory.
  static Result<std::unique_ptr<TeamTable>> create(const Options& options, Bootstrap& bootstrap,
                                                   SymmetricHeap& heap, MemoryProvider& memory,
                                                   const std::vector<bool>& reachable);

  const TeamView* views() const { return static_cast<const TeamView*>(table_->data()); }
  std::uint32_t count() const { return static_cast<std::uint32_t>(teams_.size()); }

  // The members' numbers in the job; empty if there is no such team or this PE is no member.
  const std::vector<std::int32_t>& members(Team team) const;
  int my_pe(Team team) const;  // -1 if this PE is no member
  int n_pes(Team team) const;
  int translate(Team team, int pe, Team in) const;

  // Where an exchange among the members of `team` begins and ends: this PE's request, then
  // everyone's, symmetric. Alternates, so that a member that is ahead does not overwrite the last.
  TeamRequest* next_exchange(Team team);

  // Collective over `parent` (OpenSHMEM 1.5 section 9.4). A member of the parent that is none of
  // the new team gets kTeamInvalid. Members may ask for different teams at once, the rows of a
  // grid: all whom one of them names must ask for the same. Errors, on all members: one of those
  // asked for another, or a request names PEs that the parent does not have (invalid_argument); no
  // place left (exhausted).
  Result<Team> split_strided(Team parent, int start, int stride, int size,
                             const TeamExchange& exchange);
  // Member i stands in row i / xrange, at column i % xrange; the last row may be shorter.
  Result<TeamGrid> split_2d(Team parent, int xrange, const TeamExchange& exchange);
  // Collective over `team`, but where it is broken: there it is gone at once, and its place is not
  // used again. Errors: a predefined team, or one that is not there.
  Result<void> destroy(Team team, const TeamExchange& exchange);

  // The first broken team. It stays broken until it is destroyed. Reads the GPU's memory.
  // ... but for those with a member for whom is_lost(pe) holds.
  Result<BrokenTeam> find_broken(const std::function<bool(int)>& is_lost) const;

 private:
  struct Entry {
    std::vector<std::int32_t> members;
    std::uint64_t exchanges = 0;
    bool lost = false;  // messages of a broken team may still come to its memory
  };
  TeamTable(int rank, int size, MemoryProvider& memory)
      : rank_(rank), size_(size), memory_(memory) {}

  Result<void> make_memory(const Options& options, SymmetricHeap& heap);
  Result<void> make_predefined(Bootstrap& bootstrap, const std::vector<bool>& reachable);
  Result<std::vector<TeamRequest>> ask(const std::string& call, Team parent, TeamRequest mine,
                                       const TeamExchange& exchange) const;
  Result<std::uint64_t> agree(const std::string& call, Team parent, const TeamRequest& mine,
                              const TeamExchange& exchange) const;
  Result<void> check_split(const std::string& call, Team parent,
                           const std::vector<TeamRequest>& requests) const;
  Result<int> place_of(const std::string& call, std::uint64_t* free_places) const;
  Result<Team> put(int place, std::vector<std::int32_t> members);
  Result<Status> error_of(Team team) const;  // ok unless the team is broken here
  Result<void> check_member(const std::string& call, Team team) const;
  std::uint64_t free_places() const;
  std::uint64_t words_offset(std::size_t place) const;  // of its TeamWords in own_

  int rank_;
  int size_;
  MemoryProvider& memory_;
  std::uint64_t symmetric_bytes_ = 0;  // of one place
  std::uint64_t own_bytes_ = 0;
  std::uint64_t scratch_bytes_ = 0;
  std::byte* symmetric_ = nullptr;
  std::unique_ptr<MemoryBlock> table_;  // TeamView[count()]
  std::unique_ptr<MemoryBlock> own_;    // members, numbers, counts, words of each place
  std::vector<Entry> teams_;
};

}  // namespace gdakit
