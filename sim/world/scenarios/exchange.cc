// Collectives in which everyone has something for everyone, parts that go round a ring, and a place
// for a team that is used again.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// Words cross, side by side and then apart; whoever has its own may write them and its source
// again.
struct Alltoall {
  const Witness* witness;
  Word* source;  // n
  Word* dest;    // n, and n that lie 2 apart
  template <class Pe>
  void operator()(Pe& pe) const {
    auto team = pe.team(kTeamWorld);
    const int n = team.n_pes();
    give(pe, 100);
    witness->expect(team.alltoall(dest, source, 1).ok(), "alltoall succeeds");
    look(pe, 100, dest, 1);
    give(pe, 200);
    witness->expect(team.alltoalls(dest + n, source, 2, 1, 1).ok(), "alltoalls succeeds");
    look(pe, 200, dest + n, 2);
  }

 private:
  template <class Pe>
  void give(Pe& pe, Word base) const {
    for (int i = 0; i < pe.n_pes(); ++i) {
      pe.machine().store_weak(source + i, base + 10 * Word(pe.my_pe()) + Word(i));
    }
  }
  template <class Pe>
  void look(Pe& pe, Word base, Word* words, int stride) const {
    auto& m = pe.machine();
    for (int i = 0; i < pe.n_pes(); ++i) {
      const Word expected = base + 10 * Word(i) + Word(pe.my_pe());
      witness->expect(m.load_weak(words + i * stride) == expected, "each member's word is there");
      m.store_weak(words + i * stride, Word{0});
    }
  }
};

// Members give one word or two, in turn.
struct Collect {
  const Witness* witness;
  Word* source;  // 2
  Word* dest;    // 3 for each round
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    for (int round = 0; round < 2; ++round) {
      const auto gives = [round](int member) { return 1 + (round + member) % 2; };
      for (int i = 0; i < 2; ++i) m.store_weak(source + i, word(round, pe.my_pe(), i));
      Word* at = dest + 3 * round;
      const auto mine = static_cast<std::size_t>(gives(pe.my_pe()));
      witness->expect(team.collect(at, source, mine).ok(), "collect succeeds");
      for (int member = 0; member < team.n_pes(); ++member) {
        for (int i = 0; i < gives(member); ++i) {
          witness->expect(m.load_weak(at++) == word(round, member, i), "each word has its place");
        }
      }
    }
  }

 private:
  static Word word(int round, int member, int i) {
    return 100 * Word(round + 1) + 10 * Word(member) + Word(i);
  }
};

// In place: what a member has sums of is what it has sent before.
struct ReduceScatter {
  const Witness* witness;
  Word* words;  // n
  Word rounds;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    const auto n = Word(team.n_pes());
    for (Word round = 1; round <= rounds; ++round) {
      for (Word i = 0; i < n; ++i) {
        m.store_weak(words + i, 100 * round + 10 * Word(pe.my_pe()) + i);
      }
      witness->expect(team.reduce_scatter(words, words, 1, Sum{}).ok(), "reduce_scatter succeeds");
      const Word sum = n * (100 * round + Word(pe.my_pe())) + 10 * n * (n - 1) / 2;
      witness->expect(m.load_weak(words) == sum, "this member's sum is that of this round");
    }
  }
};

// More words than one part of the ring holds, of PE 0, who may write its source again then.
struct BroadcastParts {
  static constexpr Word kWords = 6;

  const Witness* witness;
  Word* source;  // kWords
  Word* dest;    // kWords
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    for (Word i = 0; i < kWords; ++i) m.store_weak(source + i, 10 * Word(pe.my_pe()) + i);
    witness->expect(team.broadcast(dest, source, kWords, 0).ok(), "broadcast succeeds");
    if (pe.my_pe() == 0) m.store_weak(source, Word{0});
    for (Word i = 0; i < kWords; ++i) {
      witness->expect(m.load_weak(dest + i) == i, "the root's words are there");
    }
  }
};

// Team 1 is destroyed, and its place given to team 2. PE 1 is in both; it has used the scratch
// memory, and the other member of team 2 has not.
struct PlaceUsedAgain {
  const Witness* witness;
  Word* words;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    auto first = pe.team(Team{1});
    if (first.n_pes() > 0) {
      reduce(pe, first, 10);
      witness->expect(first.sync().ok(), "what destroy_team exchanges succeeds");
    }
    witness->expect(pe.team(kTeamWorld).sync().ok(), "what split_strided exchanges succeeds");
    auto second = pe.team(Team{2});
    if (second.n_pes() < 0) return;
    pe.machine().store_weak(&pe.context().teams[2].words->turn, Word{0});  // as TeamTable does
    reduce(pe, second, 20);
  }

 private:
  template <class Pe, class Group>
  void reduce(Pe& pe, Group& team, Word base) const {
    auto& m = pe.machine();
    m.store_weak(words, base + Word(pe.my_pe()));
    witness->expect(team.reduce(words + 1, words, 1, Max{}).ok(), "reduce succeeds");
    const Word greatest = base + Word(team.world_pe(1));
    witness->expect(m.load_weak(words + 1) == greatest, "the greatest of the team is there");
  }
};

WorldPointer reduce_scatter_of(int pes, Word rounds, const char* name,
                               const SubjectOptions& options, Reached reached) {
  auto world = world_of(name, options_for(options, pes, CollectiveAlgorithm::automatic), reached);
  auto* words = world->allocate<Word>("words", static_cast<std::size_t>(pes));
  world->launch({.blocks = 1, .threads = 1}, ReduceScatter{world->witness(), words, rounds});
  return world;
}

WorldPointer alltoall(const SubjectOptions& options, Reached reached) {
  auto world =
      world_of("alltoall", options_for(options, 2, CollectiveAlgorithm::automatic), reached);
  auto* source = world->allocate<Word>("source", 2);
  auto* dest = world->allocate<Word>("dest", 5);
  world->launch({.blocks = 1, .threads = 1}, Alltoall{world->witness(), source, dest});
  return world;
}

WorldPointer collect(const SubjectOptions& options, Reached reached) {
  auto world =
      world_of("collect", options_for(options, 2, CollectiveAlgorithm::automatic), reached);
  auto* source = world->allocate<Word>("source", 2);
  auto* dest = world->allocate<Word>("dest", 6);
  world->launch({.blocks = 1, .threads = 1}, Collect{world->witness(), source, dest});
  return world;
}

WorldPointer reduce_scatter(const SubjectOptions& options, Reached reached) {
  return reduce_scatter_of(2, 3, "reduce-scatter", options, reached);
}

WorldPointer reduce_scatter_of_three(const SubjectOptions& options, Reached reached) {
  return reduce_scatter_of(3, 2, "reduce-scatter-of-three", options, reached);
}

WorldPointer broadcast_ring(const SubjectOptions& options, Reached reached) {
  auto world =
      world_of("broadcast-ring", options_for(options, 3, CollectiveAlgorithm::ring), reached);
  auto* source = world->allocate<Word>("source", BroadcastParts::kWords);
  auto* dest = world->allocate<Word>("dest", BroadcastParts::kWords);
  world->launch({.blocks = 1, .threads = 1}, BroadcastParts{world->witness(), source, dest});
  return world;
}

WorldPointer place_used_again(const SubjectOptions& options, Reached reached) {
  WorldOptions shape = options_for(options, 3, CollectiveAlgorithm::linear);
  shape.teams = {{0, 1}, {1, 2}};
  shape.teams_follow = true;
  auto world = world_of("place-used-again", shape, reached);
  auto* words = world->allocate<Word>("words", 2);
  world->launch({.blocks = 1, .threads = 1}, PlaceUsedAgain{world->witness(), words});
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"alltoall", "Two PEs' words cross, side by side and apart.", make<alltoall, kNic>},
    {"collect", "Two PEs give one word or two, in turn.", make<collect, kNic>},
    {"reduce-scatter", "Sums in place of what was sent, three times.", make<reduce_scatter, kNic>},
    {"reduce-scatter-of-three", "Three PEs' sums in place of what was sent, twice.",
     make<reduce_scatter_of_three, kNic>},
    {"broadcast-ring", "Parts of a broadcast go round three PEs.", make<broadcast_ring, kNic>},
    {"place-used-again", "A team is destroyed, and its place given to another one.",
     make<place_used_again, kNic>},
};

constexpr ScenarioEntry kListedDirect[] = {
    {"direct-alltoall", "Two direct peers' words cross, side by side and apart.",
     make<alltoall, kDirect>},
    {"direct-collect", "Two direct peers give one word or two, in turn.", make<collect, kDirect>},
    {"direct-reduce-scatter", "Direct peers' sums in place of what was sent.",
     make<reduce_scatter, kDirect>},
    {"direct-reduce-scatter-of-three", "Three direct peers' sums in place of what was sent.",
     make<reduce_scatter_of_three, kDirect>},
    {"direct-broadcast-ring", "Parts of a broadcast go round three direct peers.",
     make<broadcast_ring, kDirect>},
    {"direct-place-used-again", "A team's place is given to another one, of direct peers.",
     make<place_used_again, kDirect>},
};

constexpr ScenarioEntry kListedPlaced[] = {
    {"placed-alltoall", "Two PEs' words cross, placed in any order.", make_placed<alltoall>},
    {"placed-reduce-scatter-of-three", "Three PEs' sums, placed in any order.",
     make_placed<reduce_scatter_of_three>},
    {"placed-broadcast-ring", "Parts of a broadcast go round, placed in any order.",
     make_placed<broadcast_ring>},
};

}  // namespace

constinit const Table kExchangeTable = kListed;
constinit const Table kExchangeDirectTable = kListedDirect;
constinit const Table kExchangePlacedTable = kListedPlaced;

}  // namespace gdakit::sim::scenarios
