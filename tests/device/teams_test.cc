// Teams: who is a member, what splits give, and collectives on teams that overlap or follow each
// other on one place.
#include "tests/device/teams.h"

#include <numeric>

#include "tests/device/collectives_kernels.h"

namespace gdakit {
namespace {

using test::Checks;
using test::contains;
using test::expect_job;
using test::has_members;
using test::job_options;
using test::mismatch;
using test::same;

// The sum of the members' numbers in the job, found by a reduction on the team.
struct SumOfMembers {
  Team team;
  std::int64_t* mine;
  std::int64_t* sum;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto members = pe.block().team(team);
    expect(pe, members.reduce(sum, mine, 1, Sum{}).ok());
    expect(pe, members.world_pe(members.my_pe()) == pe.my_pe());
    expect(pe, members.barrier().ok());
  }
};

// In a kernel: member i of one team is member expected[i] of the other; -1: none of it.
struct TranslatedMembers {
  Team from;
  Team to;
  int expected[3];
  int members;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    for (int i = 0; i < members; ++i) expect(pe, pe.team(from).translate(i, to) == expected[i]);
  }
};

// Memory for SumOfMembers; collective.
struct Summing {
  std::int64_t* mine;
  std::int64_t* sum;

  static Result<Summing> make(Context& c) {
    Result<std::int64_t*> memory = c.allocate<std::int64_t>(2);
    if (!memory) return memory.error();
    if (auto done = test::upload(c, *memory, {std::int64_t{c.my_pe()}}); !done) return done.error();
    return Summing{*memory, *memory + 1};
  }

  Result<void> check(Context& c, Team team, const std::vector<int>& members, Checks& checks) const {
    if (auto has = has_members(c, team, members); !has) return has;
    const SumOfMembers kernel{team, mine, sum, checks.expect()};
    if (auto done = c.launch(kernel, {.threads = 40}); !done) return done;
    const auto expected = std::accumulate(members.begin(), members.end(), std::int64_t{0});
    return test::is(c, sum, expected, "sum of members");
  }
};

// A job whose PEs have memory for SumOfMembers.
template <class Body>
void expect_team_job(int n_pes, const Options& options, Body body) {
  expect_job(n_pes, options, [body](Context& c) -> Result<void> {
    auto summing = Summing::make(c);
    if (!summing) return summing.error();
    auto checks = Checks::make(c);
    if (!checks) return checks.error();
    if (auto done = body(c, *summing, *checks); !done) return done;
    return c.barrier();
  });
}

TEST(Teams, ThePredefinedOnesHaveTheirMembers) {
  const Options options = job_options();
  const bool direct = options.transport == TransportChoice::direct;
  expect_team_job(3, options, [direct](Context& c, Summing& summing, Checks& checks) {
    const std::vector<int> sharing = direct ? std::vector{0, 1, 2} : std::vector{c.my_pe()};
    Result<void> done = summing.check(c, kTeamWorld, {0, 1, 2}, checks);
    if (done) done = summing.check(c, kTeamShared, sharing, checks);
    if (done) done = summing.check(c, kTeamNode, {0, 1, 2}, checks);  // PEs of one process
    if (done) done = summing.check(c, kTeamSameNodeNumber, {c.my_pe()}, checks);
    if (done) done = same(c.team_translate_pe(kTeamWorld, 3, kTeamWorld), -1, "a PE too far");
    if (done) done = same(c.team_my_pe(kTeamInvalid), -1, "my_pe of no team");
    return done;
  });
}

TEST(Teams, SplitStridedTakesEveryOtherMember) {
  expect_team_job(5, job_options(),
                  [](Context& c, Summing& summing, Checks& checks) -> Result<void> {
                    const Result<Team> even = c.split_strided(kTeamWorld, 0, 2, 3);
                    if (!even) return even.error();
                    const Result<Team> odd = c.split_strided(kTeamWorld, 3, -2, 2);  // downwards
                    if (!odd) return odd.error();
                    const bool is_even = c.my_pe() % 2 == 0;
                    if ((*even == kTeamInvalid) == is_even || (*odd == kTeamInvalid) != is_even) {
                      return mismatch("members and others have changed places");
                    }
                    if (!is_even) return summing.check(c, *odd, {3, 1}, checks);
                    if (auto done = summing.check(c, *even, {0, 2, 4}, checks); !done) return done;
                    const Result<Team> last_two =
                        c.split_strided(*even, 1, 1, 2);  // by members of the team alone
                    if (!last_two) return last_two.error();
                    return c.my_pe() == 0 ? same(last_two->id, -1, "PE 0's new team")
                                          : summing.check(c, *last_two, {2, 4}, checks);
                  });
}

TEST(Teams, SplitStridedTakesOtherMembersOnOtherPes) {
  expect_team_job(5, job_options(),
                  [](Context& c, Summing& summing, Checks& checks) -> Result<void> {
                    const int me = c.my_pe();
                    // PE 4 asks for a team that it is none of.
                    const Result<Team> mine = c.split_strided(kTeamWorld, me % 2, 2, 2);
                    if (!mine) return mine.error();
                    if (me == 4) return same(mine->id, -1, "PE 4's team");
                    return summing.check(c, *mine, {me % 2, me % 2 + 2}, checks);
                  });
}

TEST(Teams, Split2dGivesRowsAndColumns) {
  expect_team_job(7, job_options(),
                  [](Context& c, Summing& summing, Checks& checks) -> Result<void> {
                    const Result<TeamGrid> grid = c.split_2d(kTeamWorld, 3);
                    if (!grid) return grid.error();
                    const std::vector<std::vector<int>> rows{{0, 1, 2}, {3, 4, 5}, {6}};
                    const std::vector<std::vector<int>> columns{{0, 3, 6}, {1, 4}, {2, 5}};
                    const auto me = static_cast<std::size_t>(c.my_pe());
                    if (auto done = summing.check(c, grid->x, rows[me / 3], checks); !done)
                      return done;
                    return summing.check(c, grid->y, columns[me % 3], checks);
                  });
}

// A row and a column share the PE in which they cross, and nobody else.
TEST(Teams, TranslateMembersOfARowToThoseOfAColumn) {
  expect_team_job(6, job_options(), [](Context& c, Summing&, Checks& checks) -> Result<void> {
    const Result<TeamGrid> grid = c.split_2d(kTeamWorld, 3);
    if (!grid) return grid.error();
    TranslatedMembers kernel{grid->x, grid->y, {-1, -1, -1}, 3, checks.expect()};
    kernel.expected[c.my_pe() % 3] = c.my_pe() / 3;
    for (int i = 0; i < 3; ++i) {
      const int there = c.team_translate_pe(grid->x, i, grid->y);
      if (auto done = same(there, kernel.expected[i], "column of member"); !done) return done;
    }
    if (auto done = c.launch(kernel, {.threads = 1}); !done) return done;
    return checks.all_held(3);
  });
}

TEST(Teams, SayWhatIsWrongWithASplit) {
  expect_team_job(
      3, job_options(), [](Context& c, Summing& summing, Checks& checks) -> Result<void> {
        Result<void> done = contains(c.split_strided(kTeamWorld, 1, 1, 3), "members 0 to 2");
        if (done) done = contains(c.split_strided(kTeamWorld, -1, 1, 1), "members 0 to 2");
        if (done) done = contains(c.split_strided(kTeamWorld, 0, 0, 2), "stride 0");
        if (done) done = contains(c.split_strided(kTeamWorld, 0, 1, 0), "size 0");
        if (done) done = contains(c.split_2d(kTeamWorld, 0), "xrange 0");
        if (done) done = contains(c.split_strided(kTeamWorld, 0, 1, 1 + c.my_pe()), "same");
        if (done) done = contains(c.split_strided(kTeamWorld, c.my_pe() % 2, 1, 2), "same");
        if (done)
          done = contains(c.split_strided(kTeamWorld, c.my_pe(), 1, 1 + c.my_pe() / 2),
                          "members 0 to 2");
        if (done) done = contains(c.split_strided(Team{7}, 0, 1, 1), "no team 7");
        if (done) done = contains(c.split_strided(Team{-5}, 0, 1, 1), "no team -5");
        if (done) done = contains(c.destroy_team(kTeamNode), "predefined");
        if (done) done = contains(c.destroy_team(Team{6}), "no team 6");
        return done ? summing.check(c, kTeamWorld, {0, 1, 2}, checks) : done;  // nothing was harmed
      });
}

TEST(Teams, RunOutAndComeBack) {
  Options options = job_options();
  options.teams = 6;
  expect_team_job(2, options, [](Context& c, Summing& summing, Checks& checks) -> Result<void> {
    const Result<Team> first = c.split_strided(kTeamWorld, 0, 1, 2);
    const Result<Team> second = c.split_strided(kTeamWorld, 1, -1, 2);
    if (!first || !second) return mismatch("two teams did not fit");
    if (auto full = contains(c.split_2d(kTeamWorld, 1), "GDAKIT_TEAMS"); !full) return full;
    if (auto done = c.destroy_team(*first); !done) return done;
    if (auto gone = contains(c.destroy_team(*first), "no team"); !gone) return gone;
    const Result<Team> third = c.split_strided(kTeamWorld, 0, 1, 2);
    if (!third) return third.error();
    if (auto done = summing.check(c, *third, {0, 1}, checks); !done) return done;
    return summing.check(c, *second, {1, 0}, checks);
  });
}

// A place is given to teams of changing members, and its scratch memory is used by each.
TEST(Teams, FollowEachOtherOnOnePlace) {
  Options options = job_options();
  options.teams = 5;
  expect_team_job(3, options, [](Context& c, Summing& summing, Checks& checks) -> Result<void> {
    for (int round = 0; round < 40; ++round) {
      const int left_out = round % 3;
      std::vector<int> members;
      for (int i = 1; i <= 2; ++i) members.push_back((left_out + i) % 3);
      const int stride = members[1] - members[0];
      const Result<Team> team = c.split_strided(kTeamWorld, members[0], stride, 2);
      if (!team) return team.error();
      if (*team == kTeamInvalid) continue;
      if (auto done = same(team->id, kPredefinedTeams, "place"); !done) return done;
      for (int repeat = 0; repeat <= round % 3; ++repeat) {
        if (auto done = summing.check(c, *team, members, checks); !done) return done;
      }
      if (auto done = c.destroy_team(*team); !done) return done;
    }
    return {};
  });
}

// Block b works with team b; PE 1 is in both.
struct Overlapping {
  Team teams[2];
  std::int32_t* values;  // 2 blocks * 4
  int rounds;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.block().team(teams[m.block_index()]);
    if (team.n_pes() < 0) return;
    std::int32_t* const mine = values + 4 * m.block_index();
    bool good = true;
    for (std::int32_t round = 1; round <= rounds; ++round) {
      if (m.thread_index() == 0) m.store_weak(mine, round * (1 + team.my_pe()));
      good = team.reduce(mine + 1, mine, 1, Sum{}).ok() && good;
      good = m.load_weak(mine + 1) == 3 * round && good;
      good = team.fcollect(mine + 2, mine, 1).ok() && good;
      good = m.load_weak(mine + 2) == round && m.load_weak(mine + 3) == 2 * round && good;
      good = team.sync().ok() && good;
    }
    expect(pe, good);
  }
};

TEST(Teams, OverlapAndWorkAtTheSameTime) {
  expect_job(3, job_options(), [](Context& c) -> Result<void> {
    const Result<Team> low = c.split_strided(kTeamWorld, 0, 1, 2);
    if (!low) return low.error();
    const Result<Team> high = c.split_strided(kTeamWorld, 1, 1, 2);
    if (!high) return high.error();
    auto checks = Checks::make(c);
    if (!checks) return checks.error();
    Result<std::int32_t*> values = c.allocate<std::int32_t>(8);
    if (!values) return values.error();
    const Overlapping kernel{{*low, *high}, *values, test::sized(300, 10), checks->expect()};
    const LaunchShape shape{.blocks = 2, .threads = 33, .cooperative = true};
    if (auto done = c.launch(kernel, shape); !done) return done;
    return checks->all_held(c.my_pe() == 1 ? 66 : 33);
  });
}

}  // namespace
}  // namespace gdakit
