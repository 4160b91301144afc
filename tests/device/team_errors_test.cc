// Teams that are refused, or fail.
#include "tests/device/teams.h"

namespace gdakit {
namespace {

using test::Checks;
using test::contains;
using test::expect_job;
using test::has_members;
using test::job_options;
using test::mismatch;

struct BadCalls {
  Team foreign;  // of which this PE is no member
  std::int32_t* memory;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    const auto refused = [](Status status) { return status.code == StatusCode::invalid_argument; };
    auto all = pe.warp().team(kTeamWorld);
    expect(pe, refused(pe.warp().team(foreign).sync()));
    expect(pe, refused(pe.warp().team(kTeamInvalid).barrier()));
    expect(pe, refused(all.broadcast(memory, memory, 1, pe.n_pes())));
    expect(pe, refused(all.alltoalls(memory, memory, 0, 1, 1)));
    expect(pe, pe.team(foreign).my_pe() == -1 && pe.team(foreign).n_pes() == -1);
    expect(pe, all.sync().ok());  // the team is unharmed
  }
};

TEST(Teams, RefuseWhatCannotBe) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    const Result<Team> first = c.split_strided(kTeamWorld, 0, 1, 1);
    if (!first) return first.error();
    const Result<Team> second = c.split_strided(kTeamWorld, 1, 1, 1);
    if (!second) return second.error();
    auto checks = Checks::make(c);
    if (!checks) return checks.error();
    Result<std::int32_t*> memory = c.allocate<std::int32_t>(4);
    if (!memory) return memory.error();
    const BadCalls kernel{c.my_pe() == 0 ? Team{5} : kTeamInvalid, *memory, checks->expect()};
    const Result<void> ran = c.launch(kernel, {.threads = 32});
    if (ran) return mismatch("the bad argument was not reported");
    return checks->all_held(6 * 32);
  });
}

// Every collective with memory of which a part lies outside of the heap.
struct BadMemory {
  std::int64_t* memory;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto* const end = reinterpret_cast<std::int64_t*>(pe.context().heap.end);
    for (std::int64_t* const dest : {end + 512, end - 1}) {
      expect_refusals(pe, dest, memory, dest == end - 1 ? 2 : 1);
    }
    expect_refusals(pe, memory, end + 512, 1);
    // Only together do the members give too much.
    if (pe.n_pes() == 2) {
      expect(pe, refused(all(pe).collect(end - 2, memory, pe.my_pe() == 0 ? 3 : 1)));
    }
    expect(pe, all(pe).sync().ok());  // the team is unharmed
  }

 private:
  template <class Pe>
  GDAKIT_DEVICE static auto all(Pe& pe) {
    return pe.block().team(kTeamWorld);
  }
  GDAKIT_DEVICE static bool refused(Status status) {
    return status.code == StatusCode::invalid_address;
  }
  template <class Pe>
  GDAKIT_DEVICE_CALL void expect_refusals(Pe& pe, std::int64_t* dest, const std::int64_t* source,
                                          std::size_t count) const {
    // Who is not the root does not look at the source.
    if (pe.n_pes() == 1 || source == memory) {
      expect(pe, refused(all(pe).broadcast(dest, source, count, 0)));
    }
    expect(pe, refused(all(pe).fcollect(dest, source, count)));
    expect(pe, refused(all(pe).collect(dest, source, count)));
    expect(pe, refused(all(pe).alltoall(dest, source, count)));
    expect(pe, refused(all(pe).alltoalls(dest, source, 2, 3, count)));
    expect(pe, refused(all(pe).reduce(dest, source, count, Sum{})));
    expect(pe, refused(all(pe).reduce_scatter(dest, source, count, Sum{})));
  }
};

TEST(Teams, RefuseMemoryOutsideOfTheHeap) {
  for (const int n : {1, 2}) {
    expect_job(n, job_options(), [n](Context& c) -> Result<void> {
      auto checks = Checks::make(c);
      if (!checks) return checks.error();
      Result<std::int64_t*> memory = c.allocate<std::int64_t>(64);
      if (!memory) return memory.error();
      const Result<void> ran = c.launch(BadMemory{*memory, checks->expect()}, {.threads = 35});
      if (ran) return mismatch("the bad addresses were not reported");
      return checks->all_held(35 * 22);
    });
  }
}

struct PutToNobody {
  std::int64_t* word;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.put_value(word, 1, 99);
  }
};

TEST(Teams, AreMadeWhateverElseAPeHasReported) {
  expect_job(2, job_options(), [](Context& c) -> Result<void> {
    Result<std::int64_t*> word = c.allocate<std::int64_t>(1);
    if (!word) return word.error();
    if (c.my_pe() == 0 && c.launch(PutToNobody{*word}, {})) return mismatch("a put to PE 99");
    const Result<Team> team = c.split_strided(kTeamWorld, 0, 1, 2);
    if (!team) return team.error();
    if (auto has = has_members(c, *team, {0, 1}); !has) return has;
    return c.destroy_team(*team);
  });
}

struct SyncAlone {
  Team team;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.team(team).sync();
  }
};

TEST(Teams, ThatAreBrokenCanBeDestroyed) {
  Options options = job_options();
  options.watchdog = test::patience(std::chrono::milliseconds(300));
  expect_job(2, options, [](Context& c) -> Result<void> {
    const Result<Team> broken = c.split_strided(kTeamWorld, 0, 1, 2);
    if (!broken) return broken.error();
    if (c.my_pe() == 1) {
      if (c.launch(SyncAlone{*broken}, {})) return mismatch("PE 0 has not come");
      c.clear_reports();
      if (auto said = contains(c.check_device(), "is broken"); !said) return said;
      if (auto gone = c.destroy_team(*broken); !gone) return gone;
      if (auto well = c.check_device(); !well) return well;
    }
    if (auto met = c.barrier(); !met) return met;
    if (c.my_pe() == 0) {
      auto said = contains(c.destroy_team(*broken), "a collective of the team has failed there");
      if (!said) return said;
    }
    const Result<Team> next = c.split_strided(kTeamWorld, 0, 1, 2);
    if (!next) return next.error();
    if (*next == *broken) return mismatch("the broken team's memory was used again");
    return has_members(c, *next, {0, 1});
  });
}

struct OneDoesNotCome {
  int missing;
  test::Expect expect;

  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.my_pe() == missing) return;
    auto all = pe.block().team(kTeamWorld);
    const Status first = all.sync();
    expect(pe, first.code == StatusCode::stalled && first.peer == missing);
    expect(pe, all.barrier() == first);  // at once: the team is broken here
    int* const nothing = nullptr;        // nor does a call without elements succeed
    expect(pe, all.broadcast(nothing, nothing, 0, 0) == first);
    expect(pe, all.fcollect(nothing, nothing, 0) == first);
    expect(pe, all.collect(nothing, nothing, 0) == first);
    expect(pe, all.alltoall(nothing, nothing, 0) == first);
    expect(pe, all.alltoalls(nothing, nothing, 1, 1, 0) == first);
    expect(pe, all.reduce(nothing, nothing, 0, Sum{}) == first);
    expect(pe, all.reduce_scatter(nothing, nothing, 0, Sum{}) == first);
  }
};

TEST(Teams, NameTheMemberThatDoesNotCome) {
  Options options = job_options();
  options.watchdog = test::patience(std::chrono::milliseconds(300));
  expect_job(3, options, [](Context& c) -> Result<void> {
    auto checks = Checks::make(c);
    if (!checks) return checks.error();
    const Result<void> ran = c.launch(OneDoesNotCome{2, checks->expect()}, {.threads = 35});
    if (c.my_pe() == 2) return ran;
    if (auto said = contains(ran, "to blame: PE 2"); !said) return said;
    c.clear_reports();  // of what the host does with the team it is told nevertheless
    if (auto said = contains(c.check_device(), "team 0 is broken"); !said) return said;
    return checks->all_held(9 * 35);
  });
}

}  // namespace
}  // namespace gdakit
