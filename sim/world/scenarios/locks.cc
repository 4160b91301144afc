// Locks: one at a time, and what the last one wrote is there for the next one.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// All PEs have a copy of one number. Whoever has the lock adds one to it: at the other PEs by puts,
// here by a plain store, which comes last: the fences of the puts do not cover it.
struct Count {
  const Witness* witness;
  Lock* lock;
  Word* number;
  template <class Pe>
  void add_one(Pe& pe) const {
    auto& m = pe.machine();
    const Word before = m.load_weak(number);
    for (int i = 1; i < pe.n_pes(); ++i) {
      const int other = (pe.my_pe() + i) % pe.n_pes();
      witness->expect(pe.put_value(number, before + 1, other).ok(), "put_value is taken");
    }
    m.store_weak(number, before + 1);
    witness->expect(pe.clear_lock(lock).ok(), "clear_lock succeeds");
  }
};

struct CountInTurn {
  Count count;
  template <class Pe>
  void operator()(Pe& pe) const {
    count.witness->expect(pe.set_lock(count.lock).ok(), "set_lock succeeds");
    count.add_one(pe);
  }
};

// Twice, so that whoever had it last takes it again when nobody stands behind.
struct CountTwice {
  Count count;
  template <class Pe>
  void operator()(Pe& pe) const {
    for (int i = 0; i < 2; ++i) {
      count.witness->expect(pe.set_lock(count.lock).ok(), "set_lock succeeds");
      count.add_one(pe);
    }
  }
};

// The first block of PE 0 waits for the lock; the others count only if they find it free, and say
// so.
struct CountIfFree {
  Count count;
  Word* taken;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t self = m.block_index();
    if (pe.my_pe() == 0 && self == 0) {
      count.witness->expect(pe.set_lock(count.lock).ok(), "set_lock succeeds");
    } else {
      Status status;
      const bool free = pe.test_lock(count.lock, &status);
      count.witness->expect(status.ok(), "test_lock succeeds");
      if (!free) return;
    }
    m.store_weak(taken + self, 1);
    count.add_one(pe);
  }
};

// All threads of a block have the lock together.
struct CountByBlock {
  Count count;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    count.witness->expect(pe.block().set_lock(count.lock).ok(), "set_lock succeeds");
    const std::uint32_t self = m.thread_index();
    Word* const own = count.number + self;
    const Word before = m.load_weak(own);
    count.witness->expect(pe.put_value(own, before + 1, 1 - pe.my_pe()).ok(), "put_value is taken");
    m.store_weak(own, before + 1);
    count.witness->expect(pe.block().clear_lock(count.lock).ok(), "clear_lock succeeds");
  }
};

// The first block of PE 0 keeps the lock until the second one has given up waiting for it. The lock
// is broken then: the second block is refused from now on, and the blocks of PE 1, which may stand
// in the queue, either get the lock or give up as well.
struct GiveUp {
  const Witness* witness;
  Lock* lock;
  Word* has_it;
  Word* gave_up;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 1) {
      const Status status = pe.set_lock(lock);
      witness->expect(status.ok() || status.code == StatusCode::stalled, "set_lock ends");
      if (status.ok()) pe.clear_lock(lock);
      return;
    }
    if (m.block_index() == 0) {
      const bool has = pe.set_lock(lock).ok();
      m.store(order::Release<Scope::gpu>{}, has_it, has ? 1 : 2);
      if (!has) return;
      while (m.load(order::Acquire<Scope::gpu>{}, gave_up) == 0) m.spin(Site::user);
      pe.clear_lock(lock);
      return;
    }
    while (m.load(order::Acquire<Scope::gpu>{}, has_it) == 0) m.spin(Site::user);
    witness->expect(pe.set_lock(lock).code == StatusCode::stalled, "a wait for the turn ends");
    Status status;
    witness->expect(!pe.test_lock(lock, &status) && status.code == StatusCode::stalled,
                    "a broken lock is refused");
    m.store(order::Release<Scope::gpu>{}, gave_up, 1);
  }
};

Count counting(World& world, std::size_t numbers = 1) {
  return {world.witness(), world.allocate<Lock>("lock", 1, RegionKind::signal),
          world.allocate<Word>("number", numbers)};
}

void expect_count(World& world, Word* number, Word count, std::uint32_t pes = 2) {
  world.check([=](After& after) {
    for (std::uint32_t pe = 0; pe < pes; ++pe) {
      after.expect(after.value(pe, number) == count, "everybody has counted, one at a time");
    }
  });
}

WorldPointer lock(const SubjectOptions& options, Reached reached) {
  auto world = world_of("lock", options_for(options), reached);
  const Count count = counting(*world);
  world->launch({.blocks = 1, .threads = 1}, CountInTurn{count});
  expect_count(*world, count.number, 2);
  return world;
}

WorldPointer lock_of_three(const SubjectOptions& options, Reached reached) {
  WorldOptions shape = options_for(options);
  shape.pes = 3;
  auto world = world_of("lock-of-three", shape, reached);
  const Count count = counting(*world);
  world->launch({.blocks = 1, .threads = 1}, CountInTurn{count});
  expect_count(*world, count.number, 3, 3);
  return world;
}

WorldPointer lock_local(const SubjectOptions& options, Reached reached) {
  auto world = world_of("lock-local", options_for(options), reached);
  const Count count = counting(*world);
  world->launch_on(0, {.blocks = 2, .threads = 1}, CountInTurn{count});
  world->launch_on(1, {.blocks = 1, .threads = 1}, CountInTurn{count});
  expect_count(*world, count.number, 3);
  return world;
}

WorldPointer lock_test(const SubjectOptions& options, Reached reached) {
  auto world = world_of("lock-test", options_for(options), reached);
  const Count count = counting(*world);
  auto* taken = world->allocate<Word>("taken", 2);
  const CountIfFree kernel{count, taken};
  world->launch_on(0, {.blocks = 2, .threads = 1}, kernel);
  world->launch_on(1, {.blocks = 1, .threads = 1}, kernel);
  world->check([=](After& after) {
    const Word sum = after.value(0, taken) + after.value(0, taken + 1) + after.value(1, taken);
    for (std::uint32_t pe = 0; pe < 2; ++pe) {
      after.expect(after.value(pe, count.number) == sum, "all who had the lock have counted");
    }
  });
  return world;
}

WorldPointer lock_stall(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.watchdog_ns = 1'000'000;
  world_options.expect_quiet = false;
  auto world = std::make_unique<World>("lock-stall", world_options);
  auto* lock = world->allocate<Lock>("lock", 1, RegionKind::signal);
  auto* words = world->allocate<Word>("words", 2);
  const GiveUp kernel{world->witness(), lock, words, words + 1};
  world->launch({.blocks = 2, .threads = 1}, kernel);
  return world;
}

WorldPointer lock_twice(const SubjectOptions& options, Reached reached) {
  auto world = world_of("lock-twice", options_for(options), reached);
  const Count count = counting(*world);
  world->launch({.blocks = 1, .threads = 1}, CountTwice{count});
  expect_count(*world, count.number, 4);
  return world;
}

WorldPointer lock_block(const SubjectOptions& options, Reached reached) {
  auto world = world_of("lock-block", options_for(options), reached);
  const Count count = counting(*world, 2);
  world->launch({.blocks = 1, .threads = 2}, CountByBlock{count});
  expect_count(*world, count.number, 2);
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"lock", "Two PEs count under a lock.", make<lock, kNic>},
    {"lock-of-three", "Three PEs count under a lock.", make<lock_of_three, kNic>},
    {"lock-local", "Two blocks of one PE, and another PE, count under a lock.",
     make<lock_local, kNic>},
    {"lock-test", "A block waits for a lock, others take it if it is free.", make<lock_test, kNic>},
    {"lock-twice", "Two PEs count under a lock, twice.", make<lock_twice, kNic>},
    {"lock-block", "Blocks of two threads count under a lock.", make<lock_block, kNic>},
    {"lock-stall", "A thread gives up waiting for a lock, which is broken then.", make<lock_stall>},
};

constexpr ScenarioEntry kListedDirect[] = {
    {"direct-lock", "Two direct peers count under a lock.", make<lock, kDirect>},
    {"direct-lock-of-three", "Three direct peers count under a lock.",
     make<lock_of_three, kDirect>},
    {"direct-lock-local", "Two blocks of one PE, and a direct peer, count under a lock.",
     make<lock_local, kDirect>},
    {"direct-lock-test", "A block waits for a lock, direct peers take it if it is free.",
     make<lock_test, kDirect>},
    {"direct-lock-block", "Blocks of two threads of direct peers count under a lock.",
     make<lock_block, kDirect>},
};

constexpr ScenarioEntry kListedMixed[] = {
    {"mixed-lock", "Two PEs count directly, under a lock through the NIC.", make<lock, kMixed>},
};

constexpr ScenarioEntry kListedPlaced[] = {
    {"placed-lock", "Two PEs count under a lock, by puts that keep no order.", make_placed<lock>},
};

}  // namespace

constinit const Table kLocksTable = kListed;
constinit const Table kLocksDirectTable = kListedDirect;
constinit const Table kLocksMixedTable = kListedMixed;
constinit const Table kLocksPlacedTable = kListedPlaced;

}  // namespace gdakit::sim::scenarios
