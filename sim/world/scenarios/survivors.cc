// Locks that are handed on, and collectives and locks of those who go on beside PEs that fail or
// are lost.
#include "sim/world/kernel_channel.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// Blocks of one PE count under a lock by what the NIC writes to the PE itself: the first ones put
// the new number here, the last one waits by test_lock.
struct CountHere {
  const Witness* witness;
  Lock* lock;
  Word* number;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() + 1 < m.grid_blocks()) {
      witness->expect(pe.set_lock(lock).ok(), "set_lock succeeds");
    } else {
      Status status;
      while (!pe.test_lock(lock, &status)) {
        witness->expect(status.ok(), "test_lock succeeds");
        m.spin(Site::user);
      }
    }
    const Word before = m.load_weak(number);
    witness->expect(pe.put_value(number, before + 1, pe.my_pe()).ok(), "put_value is taken");
    witness->expect(pe.clear_lock(lock).ok(), "clear_lock succeeds");
  }
};

// The same where each gets the number from the other PE into its own heap, and reads what the one
// before got there.
struct CountByGet {
  const Witness* witness;
  Lock* lock;
  Word* there;  // on PE 1
  Word* here;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    witness->expect(pe.set_lock(lock).ok(), "set_lock succeeds");
    const Word before = m.load_weak(here);
    witness->expect(pe.put_value(there, before + 1, 1).ok(), "put_value is taken");
    witness->expect(pe.get_nbi(here, there, 1, 1).ok(), "get_nbi is taken");
    witness->expect(pe.clear_lock(lock).ok(), "clear_lock succeeds");
  }
};

WorldPointer lock_here(const SubjectOptions& options) {
  constexpr std::uint32_t kBlocks = 3;
  auto world = std::make_unique<World>("lock-here", options_for(options));
  auto* lock = world->allocate<Lock>("lock", 1, RegionKind::signal);
  auto* number = world->allocate<Word>("number", 1);
  world->launch_on(0, {.blocks = kBlocks, .threads = 1}, CountHere{world->witness(), lock, number});
  world->check(
      [=](After& after) { after.expect_eq("the number", after.value(0, number), Word{kBlocks}); });
  return world;
}

WorldPointer lock_get(const SubjectOptions& options) {
  constexpr std::uint32_t kBlocks = 3;
  auto world = std::make_unique<World>("lock-get", options_for(options));
  auto* lock = world->allocate<Lock>("lock", 1, RegionKind::signal);
  auto* number = world->allocate<Word>("number", 2);
  world->launch_on(0, {.blocks = kBlocks, .threads = 1},
                   CountByGet{world->witness(), lock, number, number + 1});
  world->check(
      [=](After& after) { after.expect_eq("the number", after.value(1, number), Word{kBlocks}); });
  return world;
}

// Three PEs, each of which has its heap at another address, count under a lock. A PE's threads see
// its memory in a window of its own, too (AddressSpace), and by that address they know the lock.
struct CountElsewhere {
  const Witness* witness;
  AddressSpace space;
  Lock* lock;
  Word* number;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const auto me = static_cast<std::uint32_t>(pe.my_pe());
    const std::uint64_t shift = space.window(me) - space.arena_base;
    DeviceContext moved = pe.context();
    LocalRange heap = moved.heap.chunks[0];
    heap.begin = moved.heap.base += shift;
    heap.end = moved.heap.end += shift;
    moved.heap.chunks = &heap;
    KernelPe<> there{gdakit::Pe<SimMachine>(m, moved)};
    auto* const own_lock = reinterpret_cast<Lock*>(reinterpret_cast<std::uint64_t>(lock) + shift);
    witness->expect(there.set_lock(own_lock).ok(), "set_lock succeeds");
    const Word before = m.load_weak(number);
    for (int i = 1; i < pe.n_pes(); ++i) {
      const int other = (pe.my_pe() + i) % pe.n_pes();
      witness->expect(pe.put_value(number, before + 1, other).ok(), "put_value is taken");
    }
    m.store_weak(number, before + 1);
    witness->expect(there.clear_lock(own_lock).ok(), "clear_lock succeeds");
  }
};

// The PEs' addresses of one object are not the same modulo 64 * PEs.
WorldOptions apart(WorldOptions options) {
  while (World::bytes_of_pe(options) / sizeof(Lock) % options.pes == 0) options.heap_bytes += 4096;
  return options;
}

WorldPointer lock_elsewhere(const SubjectOptions& options, Reached reached) {
  constexpr std::uint32_t kPes = 3;
  WorldOptions shape = options_for(options);
  shape.pes = kPes;
  auto world = world_of("lock-elsewhere", apart(shape), reached);
  auto* lock = world->allocate<Lock>("lock", 1, RegionKind::signal);
  auto* number = world->allocate<Word>("number", 1);
  world->launch({.blocks = 1, .threads = 1},
                CountElsewhere{world->witness(), world->space(), lock, number});
  world->check([=](After& after) {
    for (std::uint32_t pe = 0; pe < kPes; ++pe) {
      after.expect(after.value(pe, number) == kPes, "everybody has counted, one at a time");
    }
  });
  return world;
}

// A team of PEs 0 and 1 has a barrier, or takes a lock in turn, behind puts of PE 0 of which those
// to PE 2 fail. PE 0 comes all the same, and says what has failed.
struct FailsBefore {
  const Witness* witness;
  Lock* locks;  // one for each PE that may be the home, 3
  Word* data;   // one for each thread
  bool by_lock;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    Word* const own = data + m.thread_index();
    Lock* lock = locks;
    while (locking::home_of(pe.context(), lock) != 0) ++lock;
    const bool fails = pe.my_pe() == 0;
    if (by_lock) witness->expect(pe.block().set_lock(lock).ok(), "set_lock succeeds");
    if (fails) {
      witness->expect(pe.put_value(own, 7, 1).ok(), "put_value to PE 1 is taken");
      pe.put_value(own, 7, 2);
    }
    const Status status =
        by_lock ? pe.block().clear_lock(lock) : pe.block().team(Team{1}).barrier();
    if (fails) {
      witness->expect(status.code == StatusCode::queue_error && status.peer == 2,
                      "the call says that the queue to PE 2 is broken");
    } else {
      witness->expect(status.ok(), "the other member's call succeeds");
      if (!by_lock) witness->expect(m.load_weak(own) == 7, "what PE 0 has put here is there");
    }
    witness->expect(pe.block().team(Team{1}).sync().ok(), "the team is whole");
  }
};

WorldPointer fails_before(const char* name, const SubjectOptions& options, bool by_lock) {
  WorldOptions shape = breaking(options_for(options), 2);
  shape.pes = 3;
  shape.teams = {{0, 1}};
  auto world = std::make_unique<World>(name, shape);
  auto* locks = world->allocate<Lock>("locks", 3, RegionKind::signal);
  auto* data = world->allocate<Word>("data", 2);
  const FailsBefore kernel{world->witness(), locks, data, by_lock};
  world->launch_on(0, {.blocks = 1, .threads = 2}, kernel);
  world->launch_on(1, {.blocks = 1, .threads = 2}, kernel);
  world->check([=](After& after) {
    for (int i = 0; i < 2; ++i) {
      after.expect(after.value(1, data + i) == 7 && after.value(2, data + i) == 0,
                   "PE 1 has what was put there, and PE 2 nothing");
    }
  });
  return world;
}

WorldPointer fails_before_barrier(const SubjectOptions& options) {
  return fails_before("fails-before-barrier", options, false);
}

WorldPointer fails_under_lock(const SubjectOptions& options) {
  return fails_before("fails-under-lock", options, true);
}

// PEs 1 and 2 of three are lost. The program knows of neither, or of one of them, or of both.
enum class Unknown : std::uint8_t { pe1, pe2, none };

// What the host of PE 0 tells.
template <class Pe>
void tell_two_losses(Pe& pe, std::uint64_t* lost_words, Unknown which) {
  auto& m = pe.machine();
  PeState* const state = pe.context().state;
  const auto tell = [&](int lost, int named) {
    m.store(order::Release<Scope::system>{}, lost_words + lost, Word{1});
    m.store(order::Release<Scope::system>{}, &state->losses, Word(lost));
    m.store(order::Release<Scope::system>{}, &state->new_loss, Word(named) + 1);
  };
  tell(1, which == Unknown::pe1 ? 1 : -1);
  tell(2, which == Unknown::pe1 ? 1 : which == Unknown::pe2 ? 2 : -1);
}

// PE 0 waits for PE 2 as a member of a team of the two, and for a message.
struct LosesTwo {
  const Witness* witness;
  const Channels* channels;
  std::uint64_t* lost_words;
  Word* buffer;
  Unknown which;
  template <class Pe>
  void operator()(Pe& pe) const {
    const std::uint32_t block = pe.machine().block_index();
    if (block == 2) return tell_two_losses(pe, lost_words, which);
    Status status;
    if (block == 1) {
      auto channel = pe.channel(channels[0]);
      witness->expect(channel.post_receive(buffer, sizeof(Word), 2).ok(), "post_receive succeeds");
      status = channel.wait_receive(2).status;
    } else {
      status = pe.team(Team{1}).sync();
    }
    witness->expect(status.code == StatusCode::peer_lost && status.peer == 2,
                    "the wait ends and says that PE 2 is lost");
  }
};

template <Unknown kWhich>
WorldPointer lost_two(const SubjectOptions& options) {
  constexpr const char* kNames[] = {"lost-outsider-first", "lost-member-first", "lost-known"};
  WorldOptions shape = options_for(options);
  shape.pes = 3;
  shape.channels = 1;
  shape.teams = {{0, 2}};
  auto world = std::make_unique<World>(kNames[static_cast<std::size_t>(kWhich)], shape);
  auto* buffer = world->allocate<Word>("buffer", 1);
  world->launch_on(
      0, {.blocks = 3, .threads = 1},
      LosesTwo{world->witness(), world->channels(), world->lost_words(), buffer, kWhich});
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"lock-here", "Blocks count under a lock by puts to their own PE.", make<lock_here>},
    {"lock-get", "Blocks count under a lock by what they get from another PE.", make<lock_get>},
    {"lock-elsewhere", "Three PEs with heaps at different addresses count under a lock.",
     make<lock_elsewhere, kNic>},
    {"direct-lock-elsewhere", "Three direct peers with heaps at different addresses count.",
     make<lock_elsewhere, kDirect>},
    {"fails-before-barrier", "A member whose put failed comes to the barrier of a team.",
     make<fails_before_barrier>},
    {"fails-under-lock", "A PE whose put failed gives back its lock.", make<fails_under_lock>},
    {"lost-outsider-first", "A member of a team is lost behind a PE that is none.",
     make<lost_two<Unknown::pe1>>},
    {"lost-member-first", "A member of a team is lost, and a PE that is none.",
     make<lost_two<Unknown::pe2>>},
    {"lost-known", "A member of a team is lost, and the program knows it.",
     make<lost_two<Unknown::none>>},
};

}  // namespace

constinit const Table kSurvivorsTable = kListed;

}  // namespace gdakit::sim::scenarios
