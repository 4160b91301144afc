// Direct peers: PEs that reach each other's memory by loads, stores and atomics, where no NIC keeps
// any order.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// Puts of one unit, of two, and of a value: each with quiet behind it, and then a put of one word
// that says that it has been made.
struct Quiet {
  const Witness* witness;
  Word* source;  // 5
  Word* data;    // 7
  std::uint64_t* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) {
      put(pe);
    } else {
      check(pe);
    }
  }

  template <class Pe>
  void put(Pe& pe) const {
    auto& m = pe.machine();
    for (Word i = 0; i < 4; ++i) m.store_weak(source + i, 7 + i);
    const auto tell = [&](Word number) {
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      m.store_weak(source + 4, number);
      pe.put_nbi(flag, source + 4, 1, 1);
    };
    pe.put_nbi(data, source, 2, 1);
    tell(1);
    pe.put_nbi(data + 2, source, 4, 1);
    tell(2);
    pe.put_value(data + 6, 11, 1);
    tell(3);
  }

  template <class Pe>
  void check(Pe& pe) const {
    auto& m = pe.machine();
    const auto expect = [&](Word number, Word at, Word first, Word count) {
      witness->expect(pe.wait_until(flag, Compare::ge, number).ok(), "the flag comes");
      for (Word i = 0; i < count; ++i) {
        witness->expect(m.load_weak(data + at + i) == first + i, "the data is there with its flag");
      }
    };
    expect(1, 0, 7, 2);
    expect(2, 2, 7, 4);
    expect(3, 6, 11, 1);
  }
};

// Each PE puts a word to PE 1 and, behind quiet, gets the other PE's: whoever is second finds the
// first one's. Then the same by atomics.
struct QuietGet {
  const Witness* witness;
  Word* words;  // 2
  Word* sums;   // 2
  Word* seen;   // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const int me = pe.my_pe();
    pe.put_value(words + me, 1, 1);
    witness->expect(pe.quiet().ok(), "quiet succeeds");
    m.store_weak(seen, pe.get_value(words + (1 - me), 1));
    pe.atomic_add(sums + me, 1, 1);
    witness->expect(pe.quiet().ok(), "quiet succeeds again");
    m.store_weak(seen + 1, pe.atomic_fetch(sums + (1 - me), 1));
  }
};

// The same, where PE 0 has a barrier in place of quiet, and another thread of PE 1 comes to it.
struct BarrierGet {
  const Witness* witness;
  Word* words;  // 2
  Word* seen;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const int me = pe.my_pe();
    const bool comes = m.block_index() == 0;
    const bool puts = me == 0 || !comes;
    if (puts) pe.put_value(words + me, 1, 1);
    const Status done = comes ? pe.barrier_all() : pe.quiet();
    witness->expect(done.ok(), "barrier_all and quiet succeed");
    if (puts) m.store_weak(seen, pe.get_value(words + (1 - me), 1));
  }
};

// A thread that sees by a relaxed load what another one has told, and then syncs, sees behind it
// what that one has stored.
struct SeenBeforeSync {
  const Witness* witness;
  Word* data;
  Word* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 1) {
      m.store_weak(data, 5);
      m.store(order::Release<Scope::gpu>{}, flag, 1);
      return;
    }
    while (m.load(order::RelaxedGpu{}, flag) == 0) m.spin(Site::user);
    witness->expect(pe.team(kTeamWorld).sync().ok(), "sync succeeds");
    witness->expect(m.load_weak(data) == 5, "what the other block has stored is there");
  }
};

// The threads of a block put their words together, with a signal: three units, which is more than
// there are threads.
struct BlockPut {
  const Witness* witness;
  Word* source;  // 6: three of each thread
  Word* data;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t self = m.thread_index();
    if (pe.my_pe() == 0) {
      for (Word i = 3 * self; i < 3 * self + 3; ++i) m.store_weak(source + i, 8 + i);
      witness->expect(pe.block().put_signal(data, source, 6, signal, 1, SignalOp::set, 1).ok(),
                      "put_signal succeeds");
      m.store_weak(source + 3 * (1 - self), Word{0});  // whoever has copied it
      return;
    }
    witness->expect(pe.block().wait_until(signal, Compare::eq, 1).ok(), "the signal comes");
    for (Word i = 0; i < 6; ++i) {
      witness->expect(m.load_weak(data + i) == 8 + i, "the words of both threads are there");
    }
  }
};

// PE 0 fetches words of PE 1 until it finds that PE 1 has written its data, and then the data.
struct Fetch {
  const Witness* witness;
  Word* data;   // 2
  Word* flags;  // 4: two words, and two that are fetched together
  Word* mine;   // of PE 0: 2
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 1) {
      m.store_weak(data, 8);
      pe.signal(flags, 1, SignalOp::set, 1);
      m.store_weak(data + 1, 9);
      pe.signal(flags + 1, 1, SignalOp::set, 1);
      pe.signal(flags + 3, 1, SignalOp::set, 1);
      return;
    }
    while (pe.get_value(flags, 1) == 0) m.spin(Site::user);
    pe.get(mine, data, 1, 1);
    witness->expect(m.load_weak(mine) == 8, "the first word is there when its flag is");
    for (;;) {
      pe.get(mine, flags + 1, 1, 1);
      if (m.load_weak(mine) != 0) break;
      m.spin(Site::user);
    }
    pe.get(mine, data, 2, 1);
    witness->expect(m.load_weak(mine + 1) == 9, "the second word is there when its flag is");
    for (;;) {
      pe.get(mine, flags + 2, 2, 1);
      if (m.load_weak(mine + 1) != 0) break;
      m.spin(Site::user);
    }
  }
};

// Both PEs add to one word of PE 1. Who finds that the other one has done so before has its data.
struct Add {
  const Witness* witness;
  Word* sum;
  Word* data;  // 2: this PE's, and what the other one has
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    pe.atomic_add(sum, 16, 1);
    m.store_weak(data, 7);
    witness->expect(pe.fence().ok(), "fence succeeds");
    if (pe.atomic_fetch_add(sum, Word{1}, 1) % 16 == 0) return;
    pe.get(data + 1, data, 1, 1 - pe.my_pe());
    witness->expect(m.load_weak(data + 1) == 7, "the data of who came first is there");
  }
};

// Puts go directly, signals through the NIC: each signal comes behind a put that does not.
struct MixedSignal {
  const Witness* witness;
  Word* source;  // 3
  Word* data;    // 3
  std::uint64_t* flags;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      for (Word i = 0; i < 3; ++i) m.store_weak(source + i, 7 + i);
      pe.put_nbi(data, source, 1, 1);
      pe.put_signal_nbi(data + 1, source + 1, 1, flags, 1, SignalOp::set, 1);
      pe.put_nbi(data + 2, source + 2, 1, 1);
      pe.signal(flags + 1, 1, SignalOp::set, 1);
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      return;
    }
    witness->expect(pe.wait_until(flags, Compare::eq, 1).ok(), "the signal with data comes");
    witness->expect(m.load_weak(data) == 7, "what was put before the data is there");
    witness->expect(m.load_weak(data + 1) == 8, "the data is there");
    witness->expect(pe.wait_until(flags + 1, Compare::eq, 1).ok(), "the signal alone comes");
    witness->expect(m.load_weak(data + 2) == 9, "what was put before the signal alone is there");
  }
};

// Puts go directly, atomics through the NIC: a put behind an atomic and a fence.
struct MixedFence {
  const Witness* witness;
  Word* sum;
  std::uint64_t* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      pe.atomic_add(sum, 5, 1);
      witness->expect(pe.fence().ok(), "fence succeeds");
      pe.put_value(flag, 1, 1);
      return;
    }
    witness->expect(pe.wait_until(flag, Compare::eq, 1).ok(), "the flag comes");
    witness->expect(m.load(order::RelaxedSystem{}, sum) == 5, "the sum is there when the flag is");
  }
};

// PE 1 fetches a word of PE 0, until it tells of an atomic on PE 1's memory that is the NIC's.
struct MixedFetch {
  const Witness* witness;
  Word* sum;
  Word* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      pe.atomic_add(sum, 5, 1);
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      pe.put_value(flag, 1, 0);
      return;
    }
    while (pe.get_value(flag, 0) == 0) m.spin(Site::user);
    witness->expect(m.load(order::RelaxedSystem{}, sum) == 5, "the sum is there when the flag is");
  }
};

WorldPointer direct_quiet(const SubjectOptions& options) {
  auto world = world_of("quiet", options_for(options), Reached::directly);
  auto* source = world->allocate<Word>("source", 5);
  auto* data = world->allocate<Word>("data", 7);
  auto* flag = world->allocate<std::uint64_t>("flag", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, Quiet{world->witness(), source, data, flag});
  return world;
}

WorldPointer quiet_get(const SubjectOptions& options, Reached reached) {
  auto world = world_of("quiet-get", options_for(options), reached);
  auto* words = world->allocate<Word>("words", 2, RegionKind::signal);
  auto* sums = world->allocate<Word>("sums", 2, RegionKind::signal);
  auto* seen = world->allocate<Word>("seen", 2);
  world->launch({.blocks = 1, .threads = 1}, QuietGet{world->witness(), words, sums, seen});
  world->check([=](After& after) {
    for (int i = 0; i < 2; ++i) {
      after.expect(after.value(0, seen + i) + after.value(1, seen + i) != 0,
                   "one PE has found what the other one made complete");
    }
  });
  return world;
}

WorldPointer direct_barrier_get(const SubjectOptions& options) {
  auto world = world_of("barrier-get", options_for(options), Reached::directly);
  auto* words = world->allocate<Word>("words", 2, RegionKind::signal);
  auto* seen = world->allocate<Word>("seen", 1);
  const BarrierGet kernel{world->witness(), words, seen};
  world->launch_on(0, {.blocks = 1, .threads = 1}, kernel);
  world->launch_on(1, {.blocks = 2, .threads = 1}, kernel);
  world->check([=](After& after) {
    after.expect(after.value(0, seen) + after.value(1, seen) != 0,
                 "one PE has found what the other one made complete");
  });
  return world;
}

WorldPointer seen_before_sync(const SubjectOptions& options) {
  auto world = world_of("seen-before-sync", options_for(options), Reached::directly);
  auto* data = world->allocate<Word>("data", 1);
  auto* flag = world->allocate<Word>("flag", 1);
  world->launch({.blocks = 2, .threads = 1}, SeenBeforeSync{world->witness(), data, flag});
  return world;
}

WorldPointer direct_block(const SubjectOptions& options) {
  auto world = world_of("block", options_for(options), Reached::directly);
  auto* source = world->allocate<Word>("source", 6);
  auto* data = world->allocate<Word>("data", 6);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 2}, BlockPut{world->witness(), source, data, signal});
  return world;
}

WorldPointer direct_fetch(const SubjectOptions& options) {
  auto world = world_of("fetch", options_for(options), Reached::directly);
  auto* data = world->allocate<Word>("data", 2);
  auto* flags = world->allocate<Word>("flags", 4, RegionKind::signal);
  auto* mine = world->allocate<Word>("mine", 2);
  world->launch({.blocks = 1, .threads = 1}, Fetch{world->witness(), data, flags, mine});
  return world;
}

WorldPointer direct_add(const SubjectOptions& options) {
  auto world = world_of("add", options_for(options), Reached::directly);
  auto* sum = world->allocate<Word>("sum", 1, RegionKind::signal);
  auto* data = world->allocate<Word>("data", 2);
  world->launch({.blocks = 1, .threads = 1}, Add{world->witness(), sum, data});
  world->check([=](After& after) {
    after.expect(after.value(1, sum) == 34, "what both PEs have added is there");
    const bool first_knows = after.value(0, data + 1) == 7;
    after.expect(first_knows != (after.value(1, data + 1) == 7), "one PE came behind the other");
  });
  return world;
}

WorldPointer mixed_signal(const SubjectOptions& options) {
  auto world = world_of("signal", options_for(options), Reached::mixed);
  auto* source = world->allocate<Word>("source", 3);
  auto* data = world->allocate<Word>("data", 3);
  auto* flags = world->allocate<std::uint64_t>("flags", 2, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, MixedSignal{world->witness(), source, data, flags});
  return world;
}

WorldPointer mixed_fence(const SubjectOptions& options) {
  auto world = world_of("fence", options_for(options), Reached::mixed);
  auto* sum = world->allocate<Word>("sum", 1, RegionKind::signal);
  auto* flag = world->allocate<std::uint64_t>("flag", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, MixedFence{world->witness(), sum, flag});
  return world;
}

WorldPointer mixed_fetch(const SubjectOptions& options) {
  auto world = world_of("fetch", options_for(options), Reached::mixed);
  auto* sum = world->allocate<Word>("sum", 1);
  auto* flag = world->allocate<Word>("flag", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, MixedFetch{world->witness(), sum, flag});
  return world;
}

// PE 0 writes data and then a pair of numbers, again and again; PE 1 gets the pair until it is the
// last one. A pair is written and read as a whole, and what was there before it is seen behind it.
struct Halves {
  static constexpr std::uint32_t kLast = 3;

  struct Numbers {
    std::uint32_t first, second;
  };

  const Witness* witness;
  Word* data;     // kLast + 1
  Numbers* pair;  // aligned as a word of its size
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) {
      for (std::uint32_t i = 1; i <= kLast; ++i) {
        pe.put_value(data + i, 7 + i, 0);
        pe.fence();
        witness->expect(pe.put_value(pair, Numbers{i, i}, 0).ok(), "the pair is put");
      }
      return;
    }
    for (std::uint32_t seen = 0; seen != kLast;) {
      const Numbers got = pe.get_value(pair, 0);
      witness->expect(got.first == got.second && got.first >= seen, "a pair comes as a whole");
      if (got.first == seen) {
        pe.machine().spin(Site::user);
        continue;
      }
      seen = got.first;
      witness->expect(pe.get_value(data + seen, 0) == 7 + seen, "what was put before it is seen");
    }
  }
};

WorldPointer direct_halves(const SubjectOptions& options) {
  auto world = world_of("halves", options_for(options), kDirect);
  auto* data = world->allocate<Word>("data", Halves::kLast + 1);
  auto* pair = world->allocate<Halves::Numbers>("pair", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, Halves{world->witness(), data, pair});
  return world;
}

// A block and, on other PEs, single threads meet: each knows afterwards what the others have put.
struct UnlikeGroups {
  static constexpr std::uint32_t kPes = 4;

  const Witness* witness;
  Word* words;  // kPes
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) {
      auto block = pe.block();
      meet(block);
    } else {
      meet(pe);
    }
  }

 private:
  template <class Group>
  void meet(Group& group) const {
    for (Word round = 1; round <= 2; ++round) {
      const int next = (group.my_pe() + 1) % group.n_pes();
      if (group.thread_index() == 0) group.put_value(words + group.my_pe(), round, next);
      witness->expect(group.barrier_all().ok(), "the barrier succeeds");
      const int before = (group.my_pe() + group.n_pes() - 1) % group.n_pes();
      witness->expect(group.machine().load_weak(words + before) == round, "the word has come");
      witness->expect(group.sync_all().ok(), "the sync succeeds");
    }
  }
};

WorldPointer unlike_groups(const SubjectOptions& options, Reached reached) {
  const WorldOptions shape =
      options_for(options, UnlikeGroups::kPes, CollectiveAlgorithm::logarithmic);
  auto world = world_of("unlike-groups", shape, reached);
  auto* words = world->allocate<Word>("words", UnlikeGroups::kPes);
  const UnlikeGroups kernel{world->witness(), words};
  world->launch_on(0, {.blocks = 1, .threads = 4}, kernel);
  for (std::uint32_t pe = 1; pe < UnlikeGroups::kPes; ++pe) {
    world->launch_on(pe, {.blocks = 1, .threads = 1}, kernel);
  }
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"direct-halves", "Pairs of numbers are put and got as a whole.", make<direct_halves>},
    {"direct-unlike-groups", "A block of one PE meets single threads of three others.",
     make<unlike_groups, kDirect>},
    {"unlike-groups", "The same through the NIC.", make<unlike_groups, kNic>},
    {"direct-quiet", "Stores, quiet, and a store that tells of the first.", make<direct_quiet>},
    {"direct-quiet-get", "Two direct peers store, call quiet, and look for each other's word.",
     make<quiet_get, kDirect>},
    {"direct-barrier-get", "The same, where one of them has a barrier in place of quiet.",
     make<direct_barrier_get>},
    {"direct-seen-before-sync", "A thread sees another one's flag, syncs, and reads its data.",
     make<seen_before_sync>},
    {"direct-block", "A block stores as one what all its threads wrote.", make<direct_block>},
    {"direct-fetch", "A PE fetches words until it finds data.", make<direct_fetch>},
    {"direct-add", "Two direct peers add to one word and fetch it.", make<direct_add>},
    {"mixed-signal", "Puts go directly, and signals behind them through the NIC.",
     make<mixed_signal>},
    {"mixed-fence", "A put goes directly, and an atomic before it through the NIC.",
     make<mixed_fence>},
    {"mixed-fetch", "A word fetched directly tells of an atomic through the NIC.",
     make<mixed_fetch>},
    {"mixed-quiet-get", "Two PEs put directly, add through the NIC, and look behind quiet.",
     make<quiet_get, kMixed>},
};

}  // namespace

constinit const Table kDirectTable = kListed;

}  // namespace gdakit::sim::scenarios
