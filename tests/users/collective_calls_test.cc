// Collectives and strided transfers in reports: what they are called there, and that what the
// protocol does in them stays out.
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/test.h"

namespace gdakit::users {
namespace {

using sim::Event;
using sim::Exploration;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::UnorderedElementsAreArray;
using Word = std::uint64_t;

// An operation of a kernel's own.
struct Either {
  GDAKIT_HOST_DEVICE Word operator()(Word a, Word b) const { return a | b; }
};

struct Collectives {
  Word* dest;
  Word* source;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.machine().store_weak(source, 1 + Word(pe.my_pe()));
    auto team = pe.team(kTeamWorld);
    team.sync();
    team.broadcast(dest, source, 1, 1);
    team.fcollect(dest, source, 1);
    team.collect(dest, source, 1);
    team.alltoall(dest, source, 1);
    team.alltoalls(dest, source, 1, 1, 1);
    team.barrier();
    team.reduce(dest, source, 1, Sum{});
    team.reduce(dest, source, 1, Max{});
    team.reduce(dest, source, 1, Either{});
    team.reduce(dest, source, 1, ElementType::uint64, ReduceOp::prod);
    team.barrier();
    team.reduce_scatter(dest, source, 1, Xor{});
    team.reduce_scatter(dest, source, 1, ElementType::uint32, ReduceOp::bit_and);
    pe.team(Team{1}).barrier();
    pe.team(Team{1}).broadcast(dest, source, 1, 0);
    pe.block().team(kTeamWorld).reduce(dest, source, 1, Sum{});
  }
};

// What of PE 0's last reduction is compared with `wanted`.
Exploration explored_collectives(Word wanted) {
  sim::World world("collectives", {.pes = 2, .teams = {{1, 0}}});
  const Collectives kernel{world.allocate<Word>("dest", 2), world.allocate<Word>("source", 2)};
  world.launch({.blocks = 1, .threads = 1}, kernel);
  world.check(
      [=](sim::After& after) { after.expect_eq("the sum", after.value(0, kernel.dest), wanted); });
  return sim::explore_in_test(world, {.schedules = 20, .shrink = false});
}

std::set<std::string> calls_of(const Exploration& found) {
  std::set<std::string> calls;
  for (const Event& event : found.failure->trace.events) {
    if (event.kind == sim::EventKind::call) calls.insert(event.what);
  }
  return calls;
}

TEST(NotedCollectives, DoWhatTeamHandlesDo) {
  const Exploration found = explored_collectives(3);
  EXPECT_TRUE(found.passed()) << found.report();
}

TEST(NotedCollectives, StandInTheTraceWithWhatTheyMove) {
  const Exploration found = explored_collectives(4);
  ASSERT_FALSE(found.passed());
  const std::set<std::string> calls = {
      "sync",
      "barrier",
      "broadcast 8 bytes from PE 1",
      "fcollect 8 bytes of each PE",
      "collect 8 bytes of this PE",
      "alltoall 8 bytes to each PE",
      "alltoalls 1 x 8 bytes to each PE",
      "reduce 1 x 8 bytes by sum",
      "reduce 1 x 8 bytes by maximum",
      "reduce 1 x 8 bytes by its own operation",
      "reduce 1 x 8 bytes by product",
      "reduce_scatter 1 x 8 bytes by xor",
      "reduce_scatter 1 x 4 bytes by and",
      "barrier in team 1",
      "broadcast 8 bytes from PE 1 in team 1",
  };
  EXPECT_THAT(calls_of(found), UnorderedElementsAreArray(calls));
}

struct Broadcast {
  static constexpr std::uint32_t kLine = __LINE__ + 7;
  Word* dest;
  Word* source;
  Word* taken;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    pe.machine().store_weak(source, 7 + Word(pe.my_pe()));
    pe.team(kTeamWorld).broadcast(dest, source, 1, 0);
    pe.machine().store_weak(taken, pe.machine().load_weak(dest));
  }
};

TEST(NotedCollectives, StandInTheReportForTheirParts) {
  sim::World world("broadcast", {.pes = 2});
  const Broadcast kernel{world.allocate<Word>("dest", 1), world.allocate<Word>("source", 1),
                         world.allocate<Word>("taken", 1)};
  world.launch({.blocks = 1, .threads = 1}, kernel);
  world.check([=](sim::After& after) { after.expect_eq("it", after.value(1, kernel.taken), 8); });
  const Exploration found = sim::explore_in_test(world, {.schedules = 20});
  ASSERT_FALSE(found.passed());
  const std::string report = found.report();
  EXPECT_THAT(report, ContainsRegex("PE 1 block 0 thread 0 +broadcast 8 bytes from PE 0 +"
                                    "PE 1 dest +collective_calls_test.cc:" +
                                    std::to_string(Broadcast::kLine)));
  for (const char* own : {" record", "CQE", "WQE", "packet", "team 0", "messenger.h"}) {
    EXPECT_THAT(report, Not(HasSubstr(own))) << report;
  }
}

struct Lonely {
  static constexpr std::uint32_t kLine = __LINE__ + 3;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) pe.team(kTeamWorld).barrier();
  }
};

TEST(NotedCollectives, AreNamedByAHang) {
  sim::World world("lonely", {.pes = 2});
  world.launch({.blocks = 1, .threads = 1}, Lonely{});
  const Exploration found = sim::explore_in_test(world, {.schedules = 5});
  ASSERT_FALSE(found.passed());
  EXPECT_THAT(found.failure->result.text, HasSubstr(", in barrier at collective_calls_test.cc:" +
                                                    std::to_string(Lonely::kLine)));
}

struct Strided {
  Word* to;
  Word* from;
  Word* old;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    if (pe.my_pe() != 0) return;
    pe.iput(to, from, 2, 1, 2, 1);
    pe.iget_nbi(from, to, 1, 2, 2, 1);
    pe.atomic_fetch_add_nbi(old, to, 5, 1);
    pe.quiet();
  }
};

TEST(NotedCalls, SayHowManyElementsAreMoved) {
  sim::World world("strided", {.pes = 2});
  const Strided kernel{world.allocate<Word>("to", 3), world.allocate<Word>("from", 2),
                       world.allocate<Word>("old", 1)};
  world.launch({.blocks = 1, .threads = 1}, kernel);
  world.check([=](sim::After& after) { after.expect_eq("it", after.value(1, kernel.to), 6); });
  const Exploration found = sim::explore_in_test(world, {.schedules = 20});
  ASSERT_FALSE(found.passed());
  EXPECT_THAT(calls_of(found), UnorderedElementsAreArray(
                                   {"iput 2 x 8 bytes to PE 1", "iget_nbi 2 x 8 bytes from PE 1",
                                    "atomic_fetch_add_nbi 5 on PE 1", "quiet"}));
  for (const char* own : {" record", "CQE", "WQE", "packet"}) {
    EXPECT_THAT(found.report(), Not(HasSubstr(own))) << found.report();
  }
}

}  // namespace
}  // namespace gdakit::users
