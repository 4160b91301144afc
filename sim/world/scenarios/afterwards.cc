// Teams whose members are refused, fail or are lost: what every thread is told then, and what the
// team is good for afterwards.
#include <array>
#include <limits>

#include "device/watchdog.h"
#include "sim/world/kernel_channel.h"
#include "sim/world/scenarios/elsewhere.h"
#include "sim/world/scenarios/group_of.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// What was refused is reported, and no queue of PE 0 has suffered, of which there is one to each
// PE.
void expect_healthy(After& after, std::uint32_t pes) {
  const PeState state = after.pe_state(0);
  after.expect(is_complete_report(state.fault.state) && !is_complete_report(state.stall.state),
               "the misuse is reported, and no stall");
  for (std::uint32_t pe = 0; pe < pes; ++pe) {
    const QueueState queue = after.queue_state(0, 0, pe);
    after.expect(queue.error == 0 && queue.posted == queue.reserved,
                 "the queues of PE 0 are healthy, and all is announced");
  }
}

// The collectives that have a dest and a source.
enum class Kind : std::uint8_t {
  broadcast,  // of the last member
  fcollect,
  collect,
  alltoall,
  alltoalls,
  reduce,
  reduce_by_name,  // of a type and an operation that are known when it runs
  scatter,
  scatter_by_name,
};
constexpr std::size_t kKinds = 9;

template <class Team>
Status call(Team& team, Kind kind, Word* dest, const Word* source, std::size_t count) {
  switch (kind) {
    case Kind::broadcast: return team.broadcast(dest, source, count, team.n_pes() - 1);
    case Kind::fcollect: return team.fcollect(dest, source, count);
    case Kind::collect: return team.collect(dest, source, count);
    case Kind::alltoall: return team.alltoall(dest, source, count);
    case Kind::alltoalls: return team.alltoalls(dest, source, 1, 1, count);
    case Kind::reduce: return team.reduce(dest, source, count, Sum{});
    case Kind::reduce_by_name:
      return team.reduce(dest, source, count, ElementType::uint64, ReduceOp::sum);
    case Kind::scatter: return team.reduce_scatter(dest, source, count, Sum{});
    case Kind::scatter_by_name:
      return team.reduce_scatter(dest, source, count, ElementType::uint64, ReduceOp::sum);
  }
  return {};
}

// Two members make collectives of two words with bad memory: dest or source lie elsewhere, or their
// last word does. Each is refused, and a good one behind it succeeds. Threads make those that move
// words, and warps those that combine them.
template <bool kCombines>
struct RefusesMemory {
  using Group = std::conditional_t<kCombines, WarpGroup, ThreadGroup>;
  static constexpr std::size_t kFirst = std::size_t(kCombines ? Kind::reduce : Kind::broadcast);
  static constexpr std::size_t kEnd = kCombines ? kKinds : std::size_t(Kind::reduce);
  static constexpr std::size_t kCount = 2;
  static constexpr std::size_t kRoom = 2 * kCount;

  const Witness* witness;
  std::array<Word*, kKinds> dest;  // kRoom each
  Word* source;                    // kRoom
  Word* buffer_end;                // of one that is registered and lies outside of the heap
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = group_of<Group>(pe).team(kTeamWorld);
    if (m.thread_index() == 0) {
      for (std::size_t i = 0; i < kRoom; ++i) m.store_weak(source + i, element(pe.my_pe(), i));
    }
    for (std::size_t i = kFirst; i < kEnd; ++i) act(team, Kind(i));
  }

  static std::size_t words_there(Kind kind) {
    return kind >= Kind::fcollect && kind <= Kind::alltoalls ? kRoom : kCount;
  }
  static std::size_t words_here(Kind kind) {
    const bool one_for_each = kind == Kind::alltoall || kind == Kind::alltoalls;
    return one_for_each || kind >= Kind::scatter ? kRoom : kCount;
  }
  // What word i of the dest of member `me` is in the end.
  static Word wanted(Kind kind, std::uint32_t me, std::size_t i) {
    const auto sender = static_cast<std::uint32_t>(i / kCount);
    const std::size_t mine = kCount * me + i % kCount;
    switch (kind) {
      case Kind::broadcast: return element(1, i);
      case Kind::fcollect:
      case Kind::collect: return element(sender, i % kCount);
      case Kind::alltoall:
      case Kind::alltoalls: return element(sender, mine);
      case Kind::reduce:
      case Kind::reduce_by_name: return element(0, i) + element(1, i);
      default: return element(0, mine) + element(1, mine);
    }
  }

 private:
  static Word element(std::uint32_t pe, std::size_t i) { return 10 * Word(1 + pe) + i; }

  template <class Team>
  void act(Team& team, Kind kind) const {
    const auto refused = [&](Word* to, const Word* from, const char* what) {
      witness->expect(call(team, kind, to, from, kCount).code == StatusCode::invalid_address, what);
    };
    Word* const to = dest[std::size_t(kind)];
    refused(stranger(), source, "a dest that is in no heap is refused");
    refused(to + kRoom + 1 - words_there(kind), source, "so is one of which the last word is not");
    // The source of a broadcast is the root's alone to look at.
    if (kind != Kind::broadcast || team.my_pe() == 1) {
      refused(to, stranger(), "so is a source that is not registered");
      refused(to, buffer_end + 1 - words_here(kind), "so is one of which the last word is not");
    }
    witness->expect(call(team, kind, to, source, kCount).ok(), "a good one behind them succeeds");
  }
};

template <bool kCombines>
WorldPointer refuses_memory(const SubjectOptions& options, Reached reached) {
  using Kernel = RefusesMemory<kCombines>;
  WorldOptions shape = options_for(options);
  shape.check_memory = true;
  shape.local_buffers = 1;
  shape.expect_quiet = false;  // the misuse is reported
  auto world = world_of(kCombines ? "team-refuses-sums" : "team-refuses-memory", shape, reached);
  std::array<Word*, kKinds> dest;
  for (Word*& one : dest) one = world->allocate<Word>("dest", Kernel::kRoom);
  auto* source = world->allocate<Word>("source", Kernel::kRoom);
  Word* const buffer_end = static_cast<Word*>(world->local_buffer(0)) + kLocalBufferBytes / 8;
  world->launch({.blocks = 1, .threads = kCombines ? 2u : 1u},
                Kernel{world->witness(), dest, source, buffer_end});
  world->check([=](After& after) {
    for (std::uint32_t pe = 0; pe < 2; ++pe) {
      for (std::size_t i = Kernel::kFirst; i < Kernel::kEnd; ++i) {
        for (std::size_t word = 0; word < Kernel::words_there(Kind(i)); ++word) {
          after.expect(after.value(pe, dest[i] + word) == Kernel::wanted(Kind(i), pe, word),
                       "every good collective has done its work");
        }
      }
    }
    expect_healthy(after, 2);
  });
  return world;
}

// A team of PEs 0 and 2 of three is asked for what there is not: other roots, strides, numbers of
// elements and operations. PE 1, who is no member, may do nothing with it.
struct RefusesArguments {
  const Witness* witness;
  Word* source;
  Word* dest;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(Team{1});
    if (pe.my_pe() == 1) return outside(team);
    roots(team);
    others(team);
    m.store_weak(source, Word(1 + pe.my_pe()));
    witness->expect(team.broadcast(dest, source, 1, 1).ok(), "a good broadcast succeeds");
    witness->expect(m.load_weak(dest) == 3, "the word of PE 2 is there");
    witness->expect(team.sync().ok(), "a sync succeeds");
  }

 private:
  void refused(Status status, const char* what) const {
    witness->expect(status.code == StatusCode::invalid_argument, what);
  }
  template <class Team>
  void roots(Team& team) const {
    constexpr int kNone[] = {-1, 2, 3, std::numeric_limits<int>::max(),
                             std::numeric_limits<int>::min()};
    for (const int root : kNone) {
      const Status nothing = team.broadcast(dest, source, 0, root);
      refused(nothing, "a root that is no member is refused");
      if (nothing.ok()) return;  // elements would go to nobody knows where
      refused(team.broadcast(dest, source, 1, root), "so it is where there are elements");
    }
  }
  template <class Team>
  void others(Team& team) const {
    for (std::size_t i = 0; i < kKinds; ++i) {
      refused(call(team, Kind(i), dest, source, ~std::size_t{0} / 2), "no heap has so many words");
    }
    for (const int stride : {0, -1}) {
      refused(team.alltoalls(dest, source, stride, 1, 1), "there is no such stride of dest");
      refused(team.alltoalls(dest, source, 1, stride, 1), "there is no such stride of source");
    }
    for (const ReduceOp op : {ReduceOp::bit_and, ReduceOp::bit_or, ReduceOp::bit_xor}) {
      refused(team.reduce(dest, source, 1, ElementType::float32, op), "floats have no bits");
      refused(team.reduce_scatter(dest, source, 1, ElementType::half, op), "nor have halves");
    }
  }
  template <class Team>
  void outside(Team& team) const {
    for (std::size_t i = 0; i < kKinds; ++i) {
      for (const std::size_t count : {0, 1}) {
        refused(call(team, Kind(i), dest, source, count), "a PE that is no member is refused");
      }
    }
    refused(team.sync(), "it is refused a sync");
    refused(team.barrier(), "it is refused a barrier");
  }
};

WorldPointer refuses_arguments(const SubjectOptions& options, Reached reached) {
  WorldOptions shape = options_for(options);
  shape.pes = 3;
  shape.teams = {{0, 2}};
  shape.expect_quiet = false;  // the misuse is reported
  auto world = world_of("team-refuses-arguments", shape, reached);
  auto* source = world->allocate<Word>("source", 1);
  auto* dest = world->allocate<Word>("dest", 1);
  world->launch({.blocks = 1, .threads = 1}, RefusesArguments{world->witness(), source, dest});
  world->check([=](After& after) {
    after.expect(after.value(1, dest) == 0, "PE 1 has got nothing");
    expect_healthy(after, 3);
  });
  return world;
}

// Numbers of members, and others, are translated from every team into every team. There are more
// names of teams than teams, and PE 0 is no member of the last one.
struct Numbers {
  static constexpr int kPes = 3;
  static constexpr int kTeams = 4;
  static constexpr int kMembers[kTeams][kPes] = {{0, 1, 2}, {0, 2, -1}, {2, 1, 0}, {2, 1, -1}};

  const Witness* witness;
  template <class Pe>
  void operator()(Pe& pe) const {
    for (int from = -2; from <= kTeams; ++from) {
      auto team = pe.team(Team{from});
      const bool here = number_in(from, pe.my_pe()) >= 0;
      witness->expect(team.my_pe() == number_in(from, pe.my_pe()), "my_pe is the number here");
      witness->expect(team.n_pes() == (here ? size_of(from) : -1), "n_pes is how many there are");
      for (int number = -2; number <= kPes + 1; ++number) {
        for (int to = -2; to <= kTeams; ++to) {
          witness->expect(
              team.translate(number, Team{to}) == translated(pe.my_pe(), from, number, to),
              "a member has its number in another team, and nobody else has any");
        }
        witness->expect(team.world_pe(number) == translated(pe.my_pe(), from, number, 0),
                        "world_pe is the number among all");
      }
    }
  }

 private:
  static int size_of(int team) { return team % 2 == 0 ? 3 : 2; }
  static int member(int team, int number) {
    const bool exists = team >= 0 && team < kTeams && number >= 0 && number < kPes;
    return exists ? kMembers[team][number] : -1;
  }
  static int number_in(int team, int pe) {
    for (int i = 0; i < kPes && pe >= 0; ++i) {
      if (member(team, i) == pe) return i;
    }
    return -1;
  }
  static int translated(int me, int from, int number, int to) {
    const bool knows_both = number_in(from, me) >= 0 && number_in(to, me) >= 0;
    return knows_both ? number_in(to, member(from, number)) : -1;
  }
};

WorldPointer numbers(const SubjectOptions& options) {
  WorldOptions shape = options_for(options);
  shape.pes = Numbers::kPes;
  for (int i = 1; i < Numbers::kTeams; ++i) {
    std::vector<std::int32_t> members;
    for (const int pe : Numbers::kMembers[i]) {
      if (pe >= 0) members.push_back(pe);
    }
    shape.teams.push_back(members);
  }
  auto world = std::make_unique<World>("team-numbers", shape);
  world->launch({.blocks = 1, .threads = 1}, Numbers{world->witness()});
  return world;
}

// PE 0 is lost, while it holds a lock. Each block of PE 1 waits for it in another way; the last one
// plays PE 1's host.
struct LosesPe0 {
  static constexpr std::uint32_t kWays = 5;

  const Witness* witness;
  const Channels* channels;
  std::uint64_t* lost_words;
  Lock* lock;
  Word* told;    // that the lock is held
  Word* never;   // written by nobody
  Word* buffer;  // of a message
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) {
      witness->expect(pe.set_lock(lock).ok(), "PE 0 takes the lock");
      pe.put_value(told, 1, 1);
      witness->expect(pe.quiet().ok(), "quiet succeeds");
    } else if (pe.machine().block_index() == kWays) {
      pe.wait_until(told, Compare::eq, 1);
      tell_loss(pe);
    } else {
      const Status status = wait(pe, pe.machine().block_index());
      witness->expect(status.code == StatusCode::peer_lost && status.peer == 0,
                      "every wait ends and says that PE 0 is lost");
    }
  }

 private:
  template <class Pe>
  void tell_loss(Pe& pe) const {
    auto& m = pe.machine();
    PeState* const state = pe.context().state;
    m.store(order::Release<Scope::system>{}, lost_words, Word{1});
    m.store(order::Release<Scope::system>{}, &state->losses, Word{1});
    m.store(order::Release<Scope::system>{}, &state->new_loss, Word{1});
  }
  template <class Pe>
  Status wait(Pe& pe, std::uint32_t way) const {
    if (way == 0) return pe.team(kTeamWorld).sync();
    if (way == 1) return pe.team(Team{1}).broadcast(buffer + 1, buffer + 2, 1, 0);
    if (way == 2) return pe.wait_until(never, Compare::ne, 0);
    if (way == 3) {
      auto channel = pe.channel(channels[1]);
      witness->expect(channel.post_receive(buffer, sizeof(Word), 0).ok(), "post_receive succeeds");
      return channel.wait_receive(0).status;
    }
    // However this wait ends, PE 0 has taken the lock.
    pe.wait_until(told, Compare::eq, 1);
    return pe.set_lock(lock);
  }
};

WorldPointer loses_pe_0(const SubjectOptions& options, Reached reached) {
  WorldOptions shape = options_for(options);
  shape.channels = 1;
  shape.teams = {{0, 1}};
  auto world = world_of("lost-pe-0", shape, reached);
  auto* lock = world->allocate<Lock>("lock", 1, RegionKind::signal);
  auto* told = world->allocate<Word>("told", 1, RegionKind::signal);
  auto* never = world->allocate<Word>("never", 1, RegionKind::signal);
  auto* buffer = world->allocate<Word>("buffer", 3);
  const LosesPe0 kernel{
      world->witness(), world->channels(), world->lost_words(), lock, told, never, buffer};
  world->launch_on(0, {.blocks = 1, .threads = 1}, kernel);
  world->launch_on(1, {.blocks = LosesPe0::kWays + 1, .threads = 1}, kernel);
  world->check([=](After& after) {
    after.expect(!is_complete_report(after.pe_state(1).stall.state), "no stall is reported");
  });
  return world;
}

// Two lanes act for PE 0, one for each other member. PE 2 refuses what the one lane sends there, or
// does not come. Both lanes are told so, then and later. PE 1 has no part in the refusal, and a
// team of the two is whole; where it waits for PE 2, too, its lanes are told likewise.
struct LaneFails {
  const Witness* witness;
  Word* source;
  Word* dest;
  bool absent;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto team = pe.warp().team(kTeamWorld);
    if (absent) return expect_bad(team, StatusCode::stalled);
    if (pe.my_pe() == 0) {
      expect_bad(team, StatusCode::queue_error);
    } else {
      witness->expect(team.broadcast(dest, source, 1, 0).ok(), "PE 1's broadcast succeeds");
    }
    witness->expect(pe.warp().team(Team{1}).sync().ok(), "the other team is whole");
  }

 private:
  template <class Team>
  void expect_bad(Team& team, StatusCode code) const {
    const Status first = absent ? team.sync() : team.broadcast(dest, source, 1, 0);
    witness->expect(first.code == code && first.peer == 2, "every lane is told of PE 2");
    witness->expect(team.broadcast(dest, source, 1, 0) == first, "so it is by a later call");
    witness->expect(team.sync() == first, "and by a sync");
    witness->expect(team.reduce(dest, source, 1, Sum{}) == first, "and by a reduction");
  }
};

template <bool kAbsent>
WorldPointer lane_fails(const SubjectOptions& options) {
  WorldOptions shape = breaking(options_for(options, 3, CollectiveAlgorithm::linear));
  shape.teams = {{0, 1}};
  if (kAbsent) {
    shape.watchdog_ns = 1'000'000;
  } else {
    shape.bad_rkeys_of = 2;
  }
  auto world = std::make_unique<World>(kAbsent ? "lane-waits-in-vain" : "lane-fails", shape);
  auto* source = world->allocate<Word>("source", 1);
  auto* dest = world->allocate<Word>("dest", 1);
  world->set(0, source, 7);
  const LaneFails kernel{world->witness(), source, dest, kAbsent};
  for (const std::uint32_t pe : {0u, 1u}) {
    world->launch_on(pe, {.blocks = 1, .threads = 2}, kernel);
  }
  world->check([=](After& after) {
    const PeState state = after.pe_state(0);
    after.expect_eq("whether a stall is reported", is_complete_report(state.stall.state), kAbsent);
    after.expect(!kAbsent || (state.stall.site == Site::team && state.stall.peer == 2),
                 "the report says for whom a lane waits");
    after.expect_eq("PE 1's dest", after.value(1, dest), kAbsent ? 0 : 7);
  });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"team-refuses-memory", "Collectives that move words are refused bad memory.",
     make<refuses_memory<false>, kNic>},
    {"direct-team-refuses-memory", "Those of direct peers are refused bad memory.",
     make<refuses_memory<false>, kDirect>},
    {"team-refuses-sums", "Warps' collectives that combine words are refused bad memory.",
     make<refuses_memory<true>, kNic>},
    {"direct-team-refuses-sums", "Those of direct peers' warps are refused bad memory.",
     make<refuses_memory<true>, kDirect>},
    {"team-refuses-arguments", "Roots, counts, strides and operations that there are not.",
     make<refuses_arguments, kNic>},
    {"direct-team-refuses-arguments", "Direct peers ask a team for what there is not.",
     make<refuses_arguments, kDirect>},
    {"team-numbers", "Numbers of members and others, in every team and in none.", make<numbers>},
    {"lost-pe-0", "PE 0 is lost: every wait for it says so.", make<loses_pe_0, kNic>},
    {"direct-lost-pe-0", "PE 0, a direct peer, is lost: every wait for it says so.",
     make<loses_pe_0, kDirect>},
    {"lane-fails", "One lane's message fails, and all lanes are told.", make<lane_fails<false>>},
    {"lane-waits-in-vain", "One lane waits for a member that does not come.",
     make<lane_fails<true>>},
};

}  // namespace

constinit const Table kAfterwardsTable = kListed;

}  // namespace gdakit::sim::scenarios
