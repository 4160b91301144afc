// Who is who in a collective: roots other than 0, members whose numbers are not those of PEs, the
// last member, and parts of which some are short or empty.
#include "sim/world/scenarios/group_of.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;
using Number = std::uint32_t;

constexpr auto kAutomatic = CollectiveAlgorithm::automatic;
constexpr auto kTrees = CollectiveAlgorithm::logarithmic;
constexpr auto kRings = CollectiveAlgorithm::ring;
constexpr auto kLinear = CollectiveAlgorithm::linear;

// The last member is the root, and those before it down to `least_root`. Whoever has passed words
// on writes them again.
struct LaterRoots {
  static constexpr Word kWords = 4;

  const Witness* witness;
  Word* source;  // kWords
  Word* dest;    // kWords for each root
  int least_root;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    for (int root = team.n_pes() - 1; root >= least_root; --root) {
      Word* const to = dest + kWords * Word(root);
      for (Word i = 0; i < kWords; ++i) m.store_weak(source + i, 10 * Word(1 + pe.my_pe()) + i);
      witness->expect(team.broadcast(to, source, kWords, root).ok(), "broadcast succeeds");
      for (Word i = 0; i < kWords; ++i) {
        m.store_weak(source + i, Word{0xdead});
        witness->expect(m.load_weak(to + i) == 10 * Word(1 + root) + i,
                        "the root's words are there");
        m.store_weak(to + i, Word{0xdead});
      }
    }
  }
};

WorldPointer later_roots(const char* name, CollectiveAlgorithm algorithm, int least_root,
                         const SubjectOptions& options, Reached reached) {
  constexpr std::uint32_t kPes = 3;
  auto world = world_of(name, options_for(options, kPes, algorithm), reached);
  auto* source = world->allocate<Word>("source", LaterRoots::kWords);
  auto* dest = world->allocate<Word>("dest", kPes * LaterRoots::kWords);
  world->launch({.blocks = 1, .threads = 1},
                LaterRoots{world->witness(), source, dest, least_root});
  return world;
}

WorldPointer tree_roots(const SubjectOptions& options, Reached reached) {
  return later_roots("broadcast-tree-roots", kTrees, 1, options, reached);
}

WorldPointer ring_root(const SubjectOptions& options, Reached reached) {
  return later_roots("broadcast-ring-root", kRings, 2, options, reached);
}

WorldPointer linear_roots(const SubjectOptions& options, Reached reached) {
  return later_roots("broadcast-linear-roots", kLinear, 1, options, reached);
}

// The members of team 1 stand in it in reverse order, so that their numbers are not those of PEs.
// They meet, and tell each other words.
template <class Group>
struct ReversedMeet {
  const Witness* witness;
  Word* put;     // 1
  Word* source;  // 1
  Word* dest;    // 1
  Word* blocks;  // n
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = group_of<Group>(pe).team(Team{1});
    const int n = team.n_pes();
    const int me = team.my_pe();
    if (m.thread_index() == 0) {
      pe.put_value(put, 100 + Word(me), team.world_pe((me + 1) % n));
      m.store_weak(source, 10 + Word(me));
    }
    witness->expect(team.barrier().ok(), "barrier succeeds");
    witness->expect(m.load_weak(put) == 100 + Word((me + n - 1) % n),
                    "what the member before has put is there");
    witness->expect(team.broadcast(dest, source, 1, n - 1).ok(), "broadcast succeeds");
    witness->expect(m.load_weak(dest) == 10 + Word(n - 1), "the last member's word is there");
    witness->expect(team.fcollect(blocks, source, 1).ok(), "fcollect succeeds");
    for (int i = 0; i < n; ++i) {
      witness->expect(m.load_weak(blocks + i) == 10 + Word(i), "each member has its place");
    }
  }
};

// They have words for each other, and add them.
template <class Group>
struct ReversedSums {
  const Witness* witness;
  Word* source;   // n
  Word* crossed;  // n
  Word* summed;   // n + 1
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = group_of<Group>(pe).team(Team{1});
    const int n = team.n_pes();
    const int me = team.my_pe();
    for (int i = 0; i < n && m.thread_index() == 0; ++i) {
      m.store_weak(source + i, 10 * Word(me) + Word(i));
    }
    witness->expect(team.alltoall(crossed, source, 1).ok(), "alltoall succeeds");
    witness->expect(team.reduce(summed, source, std::size_t(n), Sum{}).ok(), "reduce succeeds");
    witness->expect(team.reduce_scatter(summed + n, source, 1, Sum{}).ok(),
                    "reduce_scatter succeeds");
    const Word tens = 10 * Word(n * (n - 1) / 2);
    for (int i = 0; i < n; ++i) {
      witness->expect(m.load_weak(crossed + i) == 10 * Word(i) + Word(me),
                      "each member's word for this one is there");
      witness->expect(m.load_weak(summed + i) == tens + Word(n * i), "every sum is there");
    }
    witness->expect(m.load_weak(summed + n) == tens + Word(n * me), "this member's sum is there");
  }
};

// For the members alone; of three, none has its own number.
template <class Kernel>
void launch_reversed(World& world, std::uint32_t threads, const Kernel& kernel) {
  for (const std::int32_t pe : world.options().teams[0]) {
    world.launch_on(static_cast<std::uint32_t>(pe), {.blocks = 1, .threads = threads}, kernel);
  }
}

WorldPointer world_of_reversed(const char* name, int members, CollectiveAlgorithm algorithm,
                               const SubjectOptions& options, Reached reached) {
  WorldOptions shape = options_for(options, 1 + std::uint32_t(members), algorithm);
  shape.teams = {members == 2 ? std::vector{2, 0} : std::vector{3, 2, 1}};
  return world_of(name, shape, reached);
}

template <class Group>
WorldPointer reversed_meet(const char* name, int members, CollectiveAlgorithm algorithm,
                           const SubjectOptions& options, Reached reached) {
  auto world = world_of_reversed(name, members, algorithm, options, reached);
  auto* put = world->allocate<Word>("put", 1);
  auto* source = world->allocate<Word>("source", 1);
  auto* dest = world->allocate<Word>("dest", 1);
  auto* blocks = world->allocate<Word>("blocks", std::size_t(members));
  launch_reversed(*world, std::is_same_v<Group, ThreadGroup> ? 1 : 2,
                  ReversedMeet<Group>{world->witness(), put, source, dest, blocks});
  return world;
}

template <class Group>
WorldPointer reversed_sums(const char* name, int members, CollectiveAlgorithm algorithm,
                           const SubjectOptions& options, Reached reached) {
  auto world = world_of_reversed(name, members, algorithm, options, reached);
  const auto n = std::size_t(members);
  auto* source = world->allocate<Word>("source", n);
  auto* crossed = world->allocate<Word>("crossed", n);
  auto* summed = world->allocate<Word>("summed", n + 1);
  launch_reversed(*world, std::is_same_v<Group, ThreadGroup> ? 1 : 2,
                  ReversedSums<Group>{world->witness(), source, crossed, summed});
  return world;
}

WorldPointer reversed_pair(const SubjectOptions& options, Reached reached) {
  return reversed_meet<ThreadGroup>("reversed-pair", 2, kAutomatic, options, reached);
}

WorldPointer reversed_pair_sums(const SubjectOptions& options, Reached reached) {
  return reversed_sums<ThreadGroup>("reversed-pair-sums", 2, kAutomatic, options, reached);
}

WorldPointer reversed_blocks(const SubjectOptions& options, Reached reached) {
  return reversed_meet<BlockGroup>("reversed-blocks", 3, kAutomatic, options, reached);
}

WorldPointer reversed_tree(const SubjectOptions& options, Reached reached) {
  return reversed_meet<ThreadGroup>("reversed-tree", 3, kTrees, options, reached);
}

WorldPointer reversed_ring(const SubjectOptions& options, Reached reached) {
  return reversed_meet<ThreadGroup>("reversed-ring", 3, kRings, options, reached);
}

WorldPointer reversed_tree_sums(const SubjectOptions& options, Reached reached) {
  return reversed_sums<ThreadGroup>("reversed-tree-sums", 3, kTrees, options, reached);
}

WorldPointer reversed_ring_sums(const SubjectOptions& options, Reached reached) {
  return reversed_sums<ThreadGroup>("reversed-ring-sums", 3, kRings, options, reached);
}

// The threads of a group share bytes that are no multiple of what one of them copies at once, from
// an address that is aligned otherwise than the one they go to.
template <class Group>
struct SharedBytes {
  static constexpr Number kCount = 7;

  const Witness* witness;
  Number* source;   // 1 + kCount
  Number* blocks;   // kCount for each member
  Number* copied;   // kCount
  Number* reduced;  // kCount
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = group_of<Group>(pe).team(kTeamWorld);
    const auto n = Number(team.n_pes());
    const auto me = Number(team.my_pe());
    for (Number i = m.thread_index(); i < kCount; i += m.block_threads()) {
      m.store_weak(source + 1 + i, 100 * (1 + me) + i);
    }
    witness->expect(team.fcollect(blocks, source + 1, kCount).ok(), "fcollect succeeds");
    witness->expect(team.reduce(reduced, source + 1, kCount, Sum{}).ok(), "reduce succeeds");
    witness->expect(team.broadcast(copied, source + 1, kCount, 1).ok(), "broadcast succeeds");
    for (Number i = 0; i < kCount; ++i) {
      for (Number member = 0; member < n; ++member) {
        witness->expect(m.load_weak(blocks + member * kCount + i) == 100 * (1 + member) + i,
                        "each member's numbers are there");
      }
      witness->expect(m.load_weak(copied + i) == 200 + i, "member 1's numbers are there");
      witness->expect(m.load_weak(reduced + i) == 50 * n * (n + 1) + n * i, "every sum is there");
    }
  }
};

template <class Group>
WorldPointer shared_bytes(const char* name, std::uint32_t pes, CollectiveAlgorithm algorithm,
                          const SubjectOptions& options, Reached reached) {
  using Kernel = SharedBytes<Group>;
  auto world = world_of(name, options_for(options, pes, algorithm), reached);
  auto* source = world->allocate<Number>("source", 1 + Kernel::kCount);
  auto* blocks = world->allocate<Number>("blocks", std::size_t{pes} * Kernel::kCount);
  auto* copied = world->allocate<Number>("copied", Kernel::kCount);
  auto* reduced = world->allocate<Number>("reduced", Kernel::kCount);
  world->launch({.blocks = 1, .threads = 2},
                Kernel{world->witness(), source, blocks, copied, reduced});
  return world;
}

WorldPointer warp_ring(const SubjectOptions& options, Reached reached) {
  return shared_bytes<WarpGroup>("warp-ring", 2, kRings, options, reached);
}

WorldPointer warp_linear(const SubjectOptions& options, Reached reached) {
  return shared_bytes<WarpGroup>("warp-linear", 2, kLinear, options, reached);
}

WorldPointer block_tree(const SubjectOptions& options, Reached reached) {
  const std::uint32_t pes = reached == kNic ? 2 : 3;
  return shared_bytes<BlockGroup>("block-tree", pes, kTrees, options, reached);
}

// Sums would go round three members, of which the last one reduces in place.
struct LastInPlace {
  static constexpr Word kCount = 3;

  const Witness* witness;
  Word* source;  // kCount
  Word* dest;    // kCount
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    Word* const from = pe.my_pe() + 1 == pe.n_pes() ? dest : source;
    for (Word i = 0; i < kCount; ++i) m.store_weak(from + i, 10 * Word(1 + pe.my_pe()) + i);
    witness->expect(team.reduce(dest, from, kCount, Sum{}).ok(), "reduce succeeds");
    for (Word i = 0; i < kCount; ++i) {
      witness->expect(m.load_weak(dest + i) == 60 + 3 * i, "every sum is there");
    }
  }
};

WorldPointer last_in_place(const SubjectOptions& options, Reached reached) {
  auto world = world_of("reduce-last-in-place", options_for(options, 3, kRings), reached);
  auto* source = world->allocate<Word>("source", LastInPlace::kCount);
  auto* dest = world->allocate<Word>("dest", LastInPlace::kCount);
  world->launch({.blocks = 1, .threads = 1}, LastInPlace{world->witness(), source, dest});
  return world;
}

// Five numbers of member 1, or four of each that are combined, go round three members: of the five
// the second part is short and the last one empty, of the four the last one is empty. What lies
// behind the numbers stays as it is.
template <bool kReduces>
struct ShortParts {
  static constexpr Number kCount = kReduces ? 4 : 5;
  static constexpr Number kRoom = 16;  // of three whole parts, and more

  const Witness* witness;
  Number* source;  // kRoom
  Number* dest;    // kRoom
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto team = pe.team(kTeamWorld);
    for (Number i = 0; i < kRoom; ++i) {
      m.store_weak(source + i, 100 * (1 + Number(pe.my_pe())) + i);
    }
    const Status status = kReduces ? team.reduce(dest, source, kCount, Max{})
                                   : team.broadcast(dest, source, kCount, 1);
    witness->expect(status.ok(), "the collective succeeds");
    for (Number i = 0; i < kCount; ++i) {
      witness->expect(m.load_weak(dest + i) == (kReduces ? 300 : 200) + i,
                      "the numbers of the greatest, or of the root, are there");
    }
  }
};

template <bool kReduces>
WorldPointer short_parts(const SubjectOptions& options, Reached reached) {
  using Kernel = ShortParts<kReduces>;
  constexpr std::uint32_t kPes = 3;
  auto world = world_of(kReduces ? "reduce-short-parts" : "broadcast-short-parts",
                        options_for(options, kPes, kRings), reached);
  auto* source = world->allocate<Number>("source", Kernel::kRoom);
  auto* dest = world->allocate<Number>("dest", Kernel::kRoom);
  world->launch({.blocks = 1, .threads = 1}, Kernel{world->witness(), source, dest});
  world->check([=](After& after) {
    for (std::uint32_t pe = 0; pe < kPes; ++pe) {
      for (Number i = Kernel::kCount; i < Kernel::kRoom; ++i) {
        after.expect(after.value(pe, dest + i) == 0, "what lies behind the numbers is as it was");
      }
    }
  });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"broadcast-tree-roots", "Two of three PEs are the root of a tree, and write again at once.",
     make<tree_roots, kNic>},
    {"broadcast-ring-root", "The last of three PEs begins a ring, and writes again at once.",
     make<ring_root, kNic>},
    {"broadcast-linear-roots", "Two of three PEs send to the others, and write again at once.",
     make<linear_roots, kNic>},
    {"reversed-pair", "Two PEs in reverse order, another one between them, meet and tell words.",
     make<reversed_pair, kNic>},
    {"reversed-pair-sums", "Two PEs in reverse order exchange words and add them.",
     make<reversed_pair_sums, kNic>},
    {"warp-ring", "Lanes copy unaligned numbers that then go round.", make<warp_ring, kNic>},
    {"warp-linear", "Lanes copy unaligned numbers that then go to all.", make<warp_linear, kNic>},
    {"block-tree", "Threads copy unaligned numbers that then go by trees.", make<block_tree, kNic>},
    {"reduce-last-in-place", "Sums would go round three PEs, of which the last reduces in place.",
     make<last_in_place, kNic>},
    {"broadcast-short-parts", "Fewer numbers than three whole parts go round three PEs.",
     make<short_parts<false>, kNic>},
};

constexpr ScenarioEntry kListedDirect[] = {
    {"direct-reversed-pair", "Two direct peers in reverse order meet and tell words.",
     make<reversed_pair, kDirect>},
    {"direct-reversed-pair-sums", "Two direct peers in reverse order exchange words and add them.",
     make<reversed_pair_sums, kDirect>},
    {"direct-reversed-blocks", "Blocks of three direct peers in reverse order meet and tell words.",
     make<reversed_blocks, kDirect>},
    {"direct-reversed-tree", "Three direct peers in reverse order meet and tell words, by trees.",
     make<reversed_tree, kDirect>},
    {"direct-reversed-tree-sums", "Three direct peers in reverse order add words by trees.",
     make<reversed_tree_sums, kDirect>},
    {"direct-reversed-ring", "Three direct peers in reverse order meet and tell words, by rings.",
     make<reversed_ring, kDirect>},
    {"direct-reversed-ring-sums", "Three direct peers in reverse order add words by rings.",
     make<reversed_ring_sums, kDirect>},
    {"direct-warp-ring", "Lanes of direct peers copy unaligned numbers that then go round.",
     make<warp_ring, kDirect>},
    {"direct-warp-linear", "Lanes of direct peers copy unaligned numbers that then go to all.",
     make<warp_linear, kDirect>},
    {"direct-block-tree", "Threads of direct peers copy unaligned numbers that go by trees.",
     make<block_tree, kDirect>},
    {"direct-reduce-last-in-place", "The last of three direct peers reduces in place.",
     make<last_in_place, kDirect>},
    {"direct-broadcast-short-parts", "Fewer numbers than three parts go round direct peers.",
     make<short_parts<false>, kDirect>},
    {"direct-reduce-short-parts", "Sums of fewer numbers than three parts go round direct peers.",
     make<short_parts<true>, kDirect>},
};

constexpr ScenarioEntry kListedPlaced[] = {
    {"placed-broadcast-tree-roots", "Two roots of trees, where puts are placed in any order.",
     make_placed<tree_roots>},
    {"placed-reversed-pair", "Two PEs in reverse order, where puts are placed in any order.",
     make_placed<reversed_pair>},
};

}  // namespace

constinit const Table kMembersTable = kListed;
constinit const Table kMembersDirectTable = kListedDirect;
constinit const Table kMembersPlacedTable = kListedPlaced;

}  // namespace gdakit::sim::scenarios
