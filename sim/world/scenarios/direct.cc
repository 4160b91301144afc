// Direct peers: PEs that reach each other's memory by loads, stores and atomics, where no NIC keeps
// any order.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

WorldOptions with_peers(const SubjectOptions& options, Reached reached) {
  WorldOptions world_options = options_for(options);
  world_options.reached = reached;
  return world_options;
}

// Puts, quiet, and a put of one word that says that they have been made.
struct Quiet {
  const Witness* witness;
  Word* source;  // 3
  Word* data;    // 3
  std::uint64_t* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(source, 8);
      m.store_weak(source + 1, 9);
      m.store_weak(source + 2, 1);
      pe.put_nbi(data, source, 2, 1);
      pe.put_value(data + 2, 10, 1);
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      pe.put_nbi(flag, source + 2, 1, 1);
      return;
    }
    witness->expect(pe.wait_until(flag, Compare::eq, 1).ok(), "the flag comes");
    witness->expect(m.load_weak(data) == 8 && m.load_weak(data + 1) == 9,
                    "the data is there when the flag is");
    witness->expect(m.load_weak(data + 2) == 10, "the value is there when the flag is");
  }
};

// The threads of a block put their words together, with a signal.
struct BlockPut {
  const Witness* witness;
  Word* source;  // 4: two units
  Word* data;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t self = m.thread_index();
    if (pe.my_pe() == 0) {
      m.store_weak(source + 2 * self, Word{self} + 8);
      m.store_weak(source + 2 * self + 1, Word{self} + 18);
      witness->expect(pe.block().put_signal(data, source, 4, signal, 1, SignalOp::set, 1).ok(),
                      "put_signal succeeds");
      m.store_weak(source + 2 * (1 - self), Word{0});  // whoever has copied it
      return;
    }
    witness->expect(pe.block().wait_until(signal, Compare::eq, 1).ok(), "the signal comes");
    for (Word i = 0; i < 2; ++i) {
      witness->expect(m.load_weak(data + 2 * i) == 8 + i && m.load_weak(data + 2 * i + 1) == 18 + i,
                      "the words of both threads are there");
    }
  }
};

// PE 0 fetches words of PE 1 until it finds that PE 1 has written its data, and then the data.
struct Fetch {
  const Witness* witness;
  Word* data;  // 2
  Word* flags;
  Word* mine;  // of PE 0: 2
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 1) {
      m.store_weak(data, 8);
      pe.signal(flags, 1, SignalOp::set, 1);
      m.store_weak(data + 1, 9);
      pe.signal(flags + 1, 1, SignalOp::set, 1);
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

// Puts go directly, atomics through the NIC: a put behind an atomic and a fence, and a signal
// behind a put.
struct Mixed {
  const Witness* witness;
  Word* source;
  Word* data;
  Word* sum;
  std::uint64_t* flags;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(source, 8);
      m.store_weak(source + 1, 9);
      pe.put_signal_nbi(data, source, 2, flags, 1, SignalOp::set, 1);
      pe.atomic_add(sum, 5, 1);
      witness->expect(pe.fence().ok(), "fence succeeds");
      pe.put_value(flags + 1, 1, 1);
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      return;
    }
    witness->expect(pe.wait_until(flags, Compare::eq, 1).ok(), "the signal comes");
    witness->expect(m.load_weak(data) == 8 && m.load_weak(data + 1) == 9,
                    "the data is there when the signal is");
    witness->expect(pe.wait_until(flags + 1, Compare::eq, 1).ok(), "the flag comes");
    witness->expect(m.load(order::RelaxedSystem{}, sum) == 5, "the sum is there when the flag is");
  }
};

}  // namespace

WorldPointer direct_quiet(const SubjectOptions& options) {
  auto world = std::make_unique<World>("direct-quiet", with_peers(options, Reached::directly));
  auto* source = world->allocate<Word>("source", 3);
  auto* data = world->allocate<Word>("data", 3);
  auto* flag = world->allocate<std::uint64_t>("flag", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, Quiet{world->witness(), source, data, flag});
  return world;
}

WorldPointer direct_block(const SubjectOptions& options) {
  auto world = std::make_unique<World>("direct-block", with_peers(options, Reached::directly));
  auto* source = world->allocate<Word>("source", 4);
  auto* data = world->allocate<Word>("data", 4);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 2}, BlockPut{world->witness(), source, data, signal});
  return world;
}

WorldPointer direct_fetch(const SubjectOptions& options) {
  auto world = std::make_unique<World>("direct-fetch", with_peers(options, Reached::directly));
  auto* data = world->allocate<Word>("data", 2);
  auto* flags = world->allocate<Word>("flags", 2, RegionKind::signal);
  auto* mine = world->allocate<Word>("mine", 2);
  world->launch({.blocks = 1, .threads = 1}, Fetch{world->witness(), data, flags, mine});
  return world;
}

WorldPointer direct_add(const SubjectOptions& options) {
  auto world = std::make_unique<World>("direct-add", with_peers(options, Reached::directly));
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

WorldPointer direct_mixed(const SubjectOptions& options) {
  auto world = std::make_unique<World>("direct-mixed", with_peers(options, Reached::mixed));
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", 2);
  auto* sum = world->allocate<Word>("sum", 1, RegionKind::signal);
  auto* flags = world->allocate<std::uint64_t>("flags", 2, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, Mixed{world->witness(), source, data, sum, flags});
  return world;
}

}  // namespace gdakit::sim::scenarios
