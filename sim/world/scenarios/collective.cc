// Collectives on teams: what members put before a sync, scratch memory that is used again, and
// teams that share a PE.
#include "sim/world/scenarios/group_of.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// What every member puts to the next one before a sync of the team is there after it, twice.
struct TeamSync {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    const int next = (pe.my_pe() + 1) % pe.n_pes();
    const int last = (pe.my_pe() + pe.n_pes() - 1) % pe.n_pes();
    for (Word round = 1; round <= 2; ++round) {
      pe.put_value(data, 10 * round + Word(pe.my_pe()), next);
      witness->expect(team.barrier().ok(), "barrier succeeds");
      witness->expect(m.load_weak(data) == 10 * round + Word(last),
                      "what the last PE has put before the barrier is there");
      witness->expect(team.sync().ok(), "sync succeeds");
    }
  }
};

// The first thread of a block syncs by itself, and the block at once after it, whose other threads
// come early. What all of them have put is there then.
struct BlockAfterThread {
  const Witness* witness;
  Word* data;  // 1 for each thread
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const auto thread = m.thread_index();
    const int next = (pe.my_pe() + 1) % pe.n_pes();
    const int last = (pe.my_pe() + pe.n_pes() - 1) % pe.n_pes();
    pe.put_value(data + thread, 10 * Word(1 + pe.my_pe()) + thread, next);
    if (thread == 0) witness->expect(pe.team(kTeamWorld).sync().ok(), "the thread's sync succeeds");
    witness->expect(pe.block().team(kTeamWorld).barrier().ok(), "the block's barrier succeeds");
    witness->expect(m.load_weak(data + thread) == 10 * Word(1 + last) + thread,
                    "what the last PE's threads have put is there");
  }
};

// Each member's words come to all members; every member is the root once. There are more words than
// one thread of a direct peer's copies.
struct Broadcast {
  static constexpr Word kWords = 4;

  const Witness* witness;
  Word* source;  // kWords
  Word* dest;    // kWords for each root
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.block().team(kTeamWorld);
    for (Word i = m.thread_index(); i < kWords; i += m.block_threads()) {
      m.store_weak(source + i, 10 * (1 + Word(pe.my_pe())) + i);
    }
    for (int root = 0; root < team.n_pes(); ++root) {
      Word* const to = dest + kWords * Word(root);
      witness->expect(team.broadcast(to, source, kWords, root).ok(), "broadcast succeeds");
      for (Word i = 0; i < kWords; ++i) {
        witness->expect(m.load_weak(to + i) == 10 * (1 + Word(root)) + i,
                        "the root's words are there");
      }
    }
  }
};

// One thread broadcasts, and writes its source again at once.
struct BroadcastAgain {
  static constexpr Word kRounds = 3;

  const Witness* witness;
  Word* source;
  Word* dest;  // one for each round
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    for (Word round = 0; round < kRounds; ++round) {
      if (pe.my_pe() == 0) m.store_weak(source, 10 + round);
      witness->expect(team.broadcast(dest + round, source, 1, 0).ok(), "broadcast succeeds");
      witness->expect(m.load_weak(dest + round) == 10 + round, "the word of this round is there");
    }
  }
};

// Each member has the others' blocks, and may write its source and dest again.
struct Fcollect {
  const Witness* witness;
  Word* source;
  Word* dest;  // n for each round
  Word rounds;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    for (Word round = 0; round < rounds; ++round) {
      Word* const to = dest + round * Word(team.n_pes());
      m.store_weak(source, 10 * round + Word(pe.my_pe()) + 1);
      witness->expect(team.fcollect(to, source, 1).ok(), "fcollect succeeds");
      for (int i = 0; i < team.n_pes(); ++i) {
        witness->expect(m.load_weak(to + i) == 10 * round + Word(i) + 1,
                        "each member's word is there");
        m.store_weak(to + i, Word{0});  // nobody reads it any more
      }
    }
  }
};

// Reductions that follow each other at once use the same scratch memory every other time. By a
// block, or by its warp.
template <class Group>
struct Reduce {
  const Witness* witness;
  Word* source;  // 2
  Word* dest;    // 2
  Word rounds;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = group_of<Group>(pe).team(kTeamWorld);
    const auto n = Word(team.n_pes());
    for (Word round = 1; round <= rounds; ++round) {
      m.store_weak(source + m.thread_index(), round * (1 + Word(pe.my_pe())));
      m.sync_block();
      witness->expect(team.reduce(dest, source, 2, Sum{}).ok(), "reduce succeeds");
      const Word sum = round * n * (n + 1) / 2;
      witness->expect(m.load_weak(dest) == sum && m.load_weak(dest + 1) == sum,
                      "the sums are those of this round");
    }
  }
};

// An element from each member goes round and is added to; the sums go round once more. Twice.
struct ReduceRing {
  static constexpr Word kCount = 3;

  const Witness* witness;
  Word* source;
  Word* dest;  // kCount for each round: others may write into the next one's already
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    for (Word round = 1; round <= 2; ++round) {
      Word* const to = dest + (round - 1) * kCount;
      for (Word i = 0; i < kCount; ++i) m.store_weak(source + i, round * (i + Word(pe.my_pe())));
      witness->expect(team.reduce(to, source, kCount, Sum{}).ok(), "reduce succeeds");
      for (Word i = 0; i < kCount; ++i) {
        witness->expect(m.load_weak(to + i) == round * (3 * i + 3), "every sum is there");
      }
    }
  }
};

// Of three members one reduces in place: all take the same way nevertheless. Twice.
struct ReduceInPlaceOfSome {
  const Witness* witness;
  Word* source;
  Word* dest;  // one for each round
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    for (int round = 0; round < 2; ++round) {
      Word* const to = dest + round;
      Word* const from = pe.my_pe() == round ? to : source;
      m.store_weak(from, Word(10 * round + pe.my_pe()));
      witness->expect(team.reduce(to, from, 1, Sum{}).ok(), "reduce succeeds");
      witness->expect(m.load_weak(to) == Word(30 * round + 3), "the sum is there");
    }
  }
};

// An element as large as can be, so that few of them fill the scratch memory.
struct Large {
  Word words[8];

  friend Large operator+(Large a, const Large& b) {
    for (int i = 0; i < 8; ++i) a.words[i] += b.words[i];
    return a;
  }
};

// More elements than the scratch memory holds: it is used again while results are under way, and at
// once by the next reduction.
struct ReduceByParts {
  const Witness* witness;
  Large* elements;  // in place
  std::size_t count;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    for (Word round = 1; round <= 2; ++round) {
      for (std::size_t i = 0; i < count; ++i) {
        m.store_weak(&elements[i].words[0], Word(i) + 100 * round * Word(1 + pe.my_pe()));
      }
      witness->expect(team.reduce(elements, elements, count, Sum{}).ok(), "reduce succeeds");
      for (std::size_t i = 0; i < count; ++i) {
        witness->expect(m.load_weak(&elements[i].words[0]) == 2 * Word(i) + 300 * round,
                        "every sum is there");
      }
    }
  }
};

// Blocks 0 and 1 work with a team each, at the same time; PE 1 is in both.
struct OverlappingTeams {
  const Witness* witness;
  Word* values;  // 2 for each block
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const auto block = static_cast<std::int32_t>(m.block_index());
    auto team = pe.team(Team{1 + block});
    if (team.n_pes() < 0) return;
    Word* const mine = values + 2 * block;
    m.store_weak(mine, 10 * Word(block + 1) + Word(pe.my_pe()));
    witness->expect(team.reduce(mine + 1, mine, 1, Max{}).ok(), "reduce succeeds");
    witness->expect(m.load_weak(mine + 1) == 10 * Word(block + 1) + Word(block + 1),
                    "the greatest of the team is there");
  }
};

// Each of three PEs is the root once.
WorldPointer broadcast_by(const char* name, CollectiveAlgorithm algorithm,
                          const SubjectOptions& options, Reached reached) {
  auto world = world_of(name, options_for(options, 3, algorithm), reached);
  auto* source = world->allocate<Word>("source", Broadcast::kWords);
  auto* dest = world->allocate<Word>("dest", 3 * Broadcast::kWords);
  world->launch({.blocks = 1, .threads = 2}, Broadcast{world->witness(), source, dest});
  return world;
}

WorldPointer broadcast_again(const SubjectOptions& options, Reached reached) {
  auto world =
      world_of("broadcast-again", options_for(options, 2, CollectiveAlgorithm::linear), reached);
  auto* source = world->allocate<Word>("source", 1);
  auto* dest = world->allocate<Word>("dest", BroadcastAgain::kRounds);
  world->launch({.blocks = 1, .threads = 1}, BroadcastAgain{world->witness(), source, dest});
  return world;
}

WorldPointer fcollect(const char* name, const WorldOptions& shape, Word rounds, Reached reached) {
  auto world = world_of(name, shape, reached);
  auto* source = world->allocate<Word>("source", 1);
  auto* dest = world->allocate<Word>("dest", rounds * Word(shape.pes));
  world->launch({.blocks = 1, .threads = 1}, Fcollect{world->witness(), source, dest, rounds});
  return world;
}

template <class Group>
WorldPointer reduce_by(const char* name, const WorldOptions& shape, Word rounds, Reached reached) {
  auto world = world_of(name, shape, reached);
  auto* source = world->allocate<Word>("source", 2);
  auto* dest = world->allocate<Word>("dest", 2);
  world->launch({.blocks = 1, .threads = 2}, Reduce<Group>{world->witness(), source, dest, rounds});
  return world;
}

WorldPointer team_sync(const SubjectOptions& options, Reached reached) {
  auto world =
      world_of("team-sync", options_for(options, 3, CollectiveAlgorithm::logarithmic), reached);
  auto* data = world->allocate<Word>("data", 1);
  world->launch({.blocks = 1, .threads = 1}, TeamSync{world->witness(), data});
  return world;
}

WorldPointer sync_after_sync(const SubjectOptions& options, Reached reached) {
  auto world =
      world_of("sync-after-sync", options_for(options, 3, CollectiveAlgorithm::automatic), reached);
  auto* data = world->allocate<Word>("data", 2);
  world->launch({.blocks = 1, .threads = 2}, BlockAfterThread{world->witness(), data});
  return world;
}

WorldPointer broadcast_tree(const SubjectOptions& options, Reached reached) {
  return broadcast_by("broadcast-tree", CollectiveAlgorithm::logarithmic, options, reached);
}

WorldPointer broadcast_linear(const SubjectOptions& options, Reached reached) {
  return broadcast_by("broadcast-linear", CollectiveAlgorithm::linear, options, reached);
}

WorldPointer fcollect_linear(const SubjectOptions& options, Reached reached) {
  return fcollect("fcollect-linear", options_for(options, 3, CollectiveAlgorithm::linear), 2,
                  reached);
}

WorldPointer fcollect_ring(const SubjectOptions& options, Reached reached) {
  return fcollect("fcollect-ring", options_for(options, 3, CollectiveAlgorithm::ring), 2, reached);
}

WorldPointer fcollect_doubling(const SubjectOptions& options, Reached reached) {
  return fcollect("fcollect-doubling", options_for(options, 4, CollectiveAlgorithm::logarithmic), 1,
                  reached);
}

WorldPointer reduce_again(const SubjectOptions& options, Reached reached) {
  return reduce_by<BlockGroup>("reduce-again", options_for(options, 2, CollectiveAlgorithm::linear),
                               3, reached);
}

WorldPointer commands_reduce(const SubjectOptions& options) {
  WorldOptions shape = options_for(options, 2, CollectiveAlgorithm::linear);
  shape.handler = Handler::commands;
  return reduce_by<BlockGroup>("commands-reduce", shape, 2, Reached::through_nic);
}

WorldPointer reduce_warp(const SubjectOptions& options, Reached reached) {
  return reduce_by<WarpGroup>("reduce-warp",
                              options_for(options, 2, CollectiveAlgorithm::automatic), 3, reached);
}

WorldPointer reduce_doubling(const SubjectOptions& options, Reached reached) {
  return reduce_by<BlockGroup>(
      "reduce-doubling", options_for(options, 3, CollectiveAlgorithm::logarithmic), 3, reached);
}

WorldPointer reduce_ring(const SubjectOptions& options, Reached reached) {
  auto world = world_of("reduce-ring", options_for(options, 3, CollectiveAlgorithm::ring), reached);
  auto* source = world->allocate<Word>("source", ReduceRing::kCount);
  auto* dest = world->allocate<Word>("dest", 2 * ReduceRing::kCount);
  world->launch({.blocks = 1, .threads = 1}, ReduceRing{world->witness(), source, dest});
  return world;
}

WorldPointer reduce_in_place_of_some(const SubjectOptions& options, Reached reached) {
  auto world = world_of("reduce-in-place-of-some",
                        options_for(options, 3, CollectiveAlgorithm::ring), reached);
  auto* source = world->allocate<Word>("source", 1);
  auto* dest = world->allocate<Word>("dest", 2);
  world->launch({.blocks = 1, .threads = 1}, ReduceInPlaceOfSome{world->witness(), source, dest});
  return world;
}

WorldPointer reduce_parts(const SubjectOptions& options, Reached reached) {
  WorldOptions shape = options_for(options, 2, CollectiveAlgorithm::linear);
  // A part of the scratch memory holds two elements, so that a member's seven take four rounds.
  shape.team_scratch = 2 * 2 * 2 * sizeof(Large);
  constexpr std::size_t kCount = 14;
  shape.max_message_bytes = 4 * sizeof(Large);
  auto world = world_of("reduce-parts", shape, reached);
  auto* elements = world->allocate<Large>("elements", kCount);
  world->launch({.blocks = 1, .threads = 1}, ReduceByParts{world->witness(), elements, kCount});
  return world;
}

WorldPointer overlapping_teams(const SubjectOptions& options, Reached reached) {
  WorldOptions shape = options_for(options, 3, CollectiveAlgorithm::linear);
  shape.teams = {{0, 1}, {1, 2}};
  auto world = world_of("overlapping-teams", shape, reached);
  auto* values = world->allocate<Word>("values", 4);
  world->launch({.blocks = 2, .threads = 1}, OverlappingTeams{world->witness(), values});
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"team-sync", "Three PEs meet by dissemination, with and without quiet.",
     make<team_sync, kNic>},
    {"sync-after-sync", "A thread of three PEs syncs, and its block at once after it.",
     make<sync_after_sync, kNic>},
    {"broadcast-tree", "Each of three PEs is the root of a tree once.", make<broadcast_tree, kNic>},
    {"broadcast-linear", "Each of three PEs sends to the others once.",
     make<broadcast_linear, kNic>},
    {"broadcast-again", "One thread broadcasts three times from one place.",
     make<broadcast_again, kNic>},
    {"fcollect-linear", "Each of three PEs sends its block to the others, twice.",
     make<fcollect_linear, kNic>},
    {"fcollect-ring", "Blocks go round three PEs, twice.", make<fcollect_ring, kNic>},
    {"reduce-again", "Reductions use their scratch memory again.", make<reduce_again, kNic>},
    {"commands-reduce", "Reductions whose WQEs a host thread builds.", make<commands_reduce>},
    {"reduce-warp", "Two PEs' warps reduce, three times.", make<reduce_warp, kNic>},
    {"reduce-ring", "Sums go round three PEs, twice.", make<reduce_ring, kNic>},
    {"reduce-in-place-of-some", "One of three PEs reduces in place where sums would go round.",
     make<reduce_in_place_of_some, kNic>},
    {"reduce-doubling", "Three PEs reduce by recursive doubling, twice.",
     make<reduce_doubling, kNic>},
    {"reduce-parts", "A reduction in place that takes several turns.", make<reduce_parts, kNic>},
    {"overlapping-teams", "Two teams share a PE, whose blocks work with one each.",
     make<overlapping_teams, kNic>},
    {"fcollect-doubling", "Four PEs collect twice as many blocks each time.",
     make<fcollect_doubling, kNic>},
};

constexpr ScenarioEntry kListedDirect[] = {
    {"direct-team-sync", "Three direct peers meet by dissemination, with and without quiet.",
     make<team_sync, kDirect>},
    {"direct-sync-after-sync", "A thread of three direct peers syncs, then its block.",
     make<sync_after_sync, kDirect>},
    {"direct-fcollect-ring", "Blocks go round three direct peers, twice.",
     make<fcollect_ring, kDirect>},
    {"direct-reduce-again", "Direct peers' reductions use their scratch memory again.",
     make<reduce_again, kDirect>},
    {"direct-broadcast-tree", "Each of three direct peers is the root of a tree once.",
     make<broadcast_tree, kDirect>},
    {"direct-broadcast-linear", "Each of three direct peers stores to the others once.",
     make<broadcast_linear, kDirect>},
    {"direct-fcollect-linear", "Each of three direct peers stores its block to the others, twice.",
     make<fcollect_linear, kDirect>},
    {"direct-reduce-warp", "Two direct peers' warps reduce, three times.",
     make<reduce_warp, kDirect>},
    {"direct-reduce-ring", "Sums go round three direct peers, twice.", make<reduce_ring, kDirect>},
    {"direct-reduce-in-place-of-some", "One of three direct peers reduces in place.",
     make<reduce_in_place_of_some, kDirect>},
    {"direct-reduce-doubling", "Three direct peers reduce by recursive doubling, twice.",
     make<reduce_doubling, kDirect>},
    {"direct-reduce-parts", "A reduction of direct peers in place that takes several turns.",
     make<reduce_parts, kDirect>},
    {"direct-overlapping-teams", "Two teams share a PE, all direct peers.",
     make<overlapping_teams, kDirect>},
    {"direct-fcollect-doubling", "Four direct peers collect twice as many blocks each time.",
     make<fcollect_doubling, kDirect>},
};

constexpr ScenarioEntry kListedPlaced[] = {
    {"placed-team-sync", "Three PEs meet, where puts are placed in any order.",
     make_placed<team_sync>},
    {"placed-sync-after-sync", "Two syncs whose counts could pass one another.",
     make_placed<sync_after_sync>},
    {"placed-broadcast-tree", "A tree of three PEs, where data could come behind its count.",
     make_placed<broadcast_tree>},
    {"placed-fcollect-ring", "Blocks go round three PEs, placed in any order.",
     make_placed<fcollect_ring>},
    {"placed-reduce-again", "Scratch memory is used again by puts that keep no order.",
     make_placed<reduce_again>},
    {"placed-reduce-ring", "Sums go round three PEs, placed in any order.",
     make_placed<reduce_ring>},
    {"placed-commands-reduce", "Commands' WQEs, whose puts are placed in any order.",
     make_placed<commands_reduce>},
};

}  // namespace

constinit const Table kCollectiveTable = kListed;
constinit const Table kCollectiveDirectTable = kListedDirect;
constinit const Table kCollectivePlacedTable = kListedPlaced;

}  // namespace gdakit::sim::scenarios
