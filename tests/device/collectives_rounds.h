// Rounds of all collective operations, back to back, whose results the kernel looks at while other
// members go ahead.
#pragma once

#include "tests/device/collectives_kernels.h"

namespace gdakit::test {

// Memory of one team for rounds, which take turns at the two destinations: a member that is a round
// ahead writes into the other one.
struct RoundMemory {
  static constexpr int kMostMembers = 8;
  static constexpr int kPieces = 9;  // of a destination

  std::int32_t* words;

  // Collective.
  static Result<RoundMemory> make(Context& c) {
    Result<std::int32_t*> made = c.allocate<std::int32_t>(kMostMembers * (1 + 2 * kPieces));
    if (!made) return made.error();
    return RoundMemory{*made};
  }

  GDAKIT_DEVICE std::int32_t* source() const { return words; }
  // Piece `number` of a round's destination, a word for each member.
  GDAKIT_DEVICE std::int32_t* dest(std::int32_t round, int number) const {
    return words + kMostMembers * (1 + kPieces * (round % 2) + number);
  }
};

// One member's part in one round; by all threads of a group, whose TeamHandle is `Group`.
template <class Pe, class Group>
class CollectiveTurn {
 public:
  GDAKIT_DEVICE CollectiveTurn(Pe& pe, Group& group, const RoundMemory& memory, std::int32_t round)
      : pe_(pe),
        group_(group),
        memory_(memory),
        round_(round),
        n_(group.n_pes()),
        me_(group.my_pe()) {}

  // Every operation once, with nothing between them; whether each left what it should.
  GDAKIT_DEVICE bool run() {
    std::int32_t* const source = memory_.source();
    if (pe_.machine().thread_index() == 0) {
      for (int to = 0; to < n_; ++to) pe_.machine().store_weak(source + to, word(me_, to));
      const int next = (me_ + 1) % n_;
      pe_.put_value(at(0), word(me_, next), group_.world_pe(next));
    }
    const auto given = static_cast<std::size_t>(gives(me_));
    bool good = group_.sync().ok();
    good = group_.broadcast(at(1), source, 1, round_ % n_).ok() && good;
    good = group_.fcollect(at(2), source, 1).ok() && good;
    good = group_.collect(at(3), source, given).ok() && good;
    good = group_.alltoall(at(4), source, 1).ok() && good;
    good = group_.alltoalls(at(5), source, 2, 1, 1).ok() && good;  // the sixth piece, too
    good = group_.reduce(at(7), source, 1, Sum{}).ok() && good;
    good = group_.reduce_scatter(at(8), source, 1, Sum{}).ok() && good;
    good = group_.barrier().ok() && good;
    return good && looks_right();
  }

 private:
  GDAKIT_DEVICE std::int32_t* at(int piece) const { return memory_.dest(round_, piece); }
  // What member `from` gives to member `to`.
  GDAKIT_DEVICE std::int32_t word(int from, int to) const { return round_ * 64 + from * 8 + to; }
  // How many words a member gives to collect.
  GDAKIT_DEVICE int gives(int member) const { return (round_ + member) % 2; }

  GDAKIT_DEVICE bool is(int piece, int index, std::int32_t expected) const {
    return pe_.machine().load_weak(at(piece) + index) == expected;
  }

  GDAKIT_DEVICE bool looks_right() const {
    bool good = is(0, 0, word((me_ + n_ - 1) % n_, me_)) && is(1, 0, word(round_ % n_, 0));
    std::int32_t sum = 0;
    std::int32_t scattered = 0;
    int collected = 0;
    for (int i = 0; i < n_; ++i) {
      good = is(2, i, word(i, 0)) && is(4, i, word(i, me_)) && is(5, 2 * i, word(i, me_)) && good;
      if (gives(i) == 1) good = is(3, collected++, word(i, 0)) && good;
      sum += word(i, 0);
      scattered += word(i, me_);
    }
    return is(7, 0, sum) && is(8, 0, scattered) && good;
  }

  Pe& pe_;
  Group& group_;
  const RoundMemory& memory_;
  std::int32_t round_;
  int n_;
  int me_;
};

// `rounds` of them on each of the teams in turn; who is no member of one leaves it out.
template <By kBy>
struct CollectiveRounds {
  static constexpr int kMostTeams = 2;

  Team teams[kMostTeams];
  RoundMemory memory[kMostTeams];
  int team_count;
  std::int32_t rounds;
  Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    bool good = true;
    for (std::int32_t round = 0; round < rounds; ++round) {
      for (int i = 0; i < team_count; ++i) {
        if (pe.team(teams[i]).n_pes() < 0) continue;
        by_group<kBy>(pe, teams[i], [&](auto& group) {
          good = CollectiveTurn(pe, group, memory[i], round).run() && good;
        });
      }
    }
    expect(pe, good);
  }
};

// Runs them; collective.
template <By kBy>
Result<void> run_rounds(Context& c, const std::vector<Team>& teams, std::int32_t rounds) {
  auto checks = Checks::make(c);
  if (!checks) return checks.error();
  CollectiveRounds<kBy> kernel{{}, {}, 0, rounds, checks->expect()};
  for (const Team team : teams) {
    const Result<RoundMemory> memory = RoundMemory::make(c);
    if (!memory) return memory.error();
    kernel.teams[kernel.team_count] = team;
    kernel.memory[kernel.team_count++] = *memory;
  }
  Result<void> done = c.launch(kernel, {.threads = kThreads<kBy>});
  if (done) done = checks->all_held(kThreads<kBy>);
  if (!done) return done.error().within(std::string("by a ") + name_of(kBy));
  return {};
}

}  // namespace gdakit::test
