// Threads that look whether something has come and do not wait, neighbours that share a word of
// memory, and what a thread has stored to its own heap.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// PE 0 puts two words, each with a signal, and gets every second word of PE 1. PE 1 looks until one
// signal has come, then until both have.
struct Looks {
  const Witness* witness;
  Word* source;            // 2
  Word* data;              // 3
  Word* spread;            // 3: of PE 1, the first and the last one
  Word* gathered;          // 2
  std::uint64_t* signals;  // 3, the second one never set
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) {
      send(pe);
    } else {
      look(pe);
    }
  }

 private:
  template <class Pe>
  void send(Pe& pe) const {
    auto& m = pe.machine();
    for (int i = 0; i < 2; ++i) {
      m.store_weak(source + i, Word(7 + i));
      witness->expect(
          pe.put_signal_nbi(data + 2 * i, source + i, 1, signals + 2 * i, 1, SignalOp::set, 1).ok(),
          "put_signal_nbi is taken");
    }
    while (gather(pe) == 0) m.spin(Site::user);
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }

  // Gets every second word; the last one, which is 0 until PE 1 has put it.
  template <class Pe>
  Word gather(Pe& pe) const {
    auto& m = pe.machine();
    const Ticket gets = pe.iget_async(gathered, spread, 1, 2, 2, 1);
    Status status;
    while (!pe.test(gets, &status)) m.spin(Site::user);
    witness->expect(status.ok(), "the gets succeed");
    const Word last = m.load_weak(gathered + 1);
    witness->expect(m.load_weak(gathered) == 30 && (last == 0 || last == 32),
                    "every second word is there once the ticket tests as done");
    return last;
  }

  template <class Pe>
  void look(Pe& pe) const {
    auto& m = pe.machine();
    witness->expect(pe.put_value(spread + 2, 32, 1).ok(), "put_value is taken");
    std::size_t which = ~std::size_t{0};
    while ((which = pe.test_any(signals, 3, nullptr, Compare::eq, 1)) == ~std::size_t{0}) {
      m.spin(Site::user);
    }
    witness->expect(m.load_weak(data + which) == 7 + which / 2, "the data of one signal is there");
    std::size_t indices[3];
    while (pe.test_some(signals, 3, nullptr, Compare::eq, 1, indices) != 2) m.spin(Site::user);
    witness->expect(indices[0] == 0 && indices[1] == 2, "two signals have come");
    const int skip[] = {0, 1, 0};
    witness->expect(pe.test_all(signals, 3, skip, Compare::eq, 1), "all but the second have come");
    witness->expect(!pe.test(signals + 1, Compare::ne, 0), "the second has not");
    witness->expect(m.load_weak(data) == 7 && m.load_weak(data + 2) == 8,
                    "the data of both is there");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// The last of three lanes has written what the warp puts, of which it posts nothing itself.
struct StridedWarp {
  const Witness* witness;
  Word* source;  // 2
  Word* data;    // 3
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (Word i = 0; i < 2 && m.lane() == 2; ++i) m.store_weak(source + i, 7 + i);
    witness->expect(pe.warp().iput(data, source, 2, 1, 2, 1).ok(), "iput succeeds");
  }
};

// Both halves of one word of PE 1, each changed by a block of its own, and a pair of which each
// half is counted by both.
struct Neighbours {
  const Witness* witness;
  std::uint32_t* pair;    // 2
  std::uint32_t* counts;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    const std::uint32_t self = pe.machine().block_index();
    witness->expect(pe.put_value(pair + self, 7 + self, 1).ok(), "put_value is taken");
    witness->expect(pe.atomic_add(counts + self, 1u << 31, 1).ok(), "atomic_add is taken");
    const std::uint32_t old = pe.atomic_fetch_add(counts + (1 - self), 1u << 31, 1);
    witness->expect((old & ~(1u << 31)) == 0, "the halves do not touch each other");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
    witness->expect(pe.get_value(pair + self, 1) == 7 + self,
                    "each half is what its block has put");
  }
};

// A PE stores to its own heap and tells the other one, by a signal and by a barrier; that one gets
// what was stored.
struct OwnStores {
  const Witness* witness;
  Word* words;  // 2
  Word* got;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(words, Word{5});
      witness->expect(pe.signal(signal, 1, SignalOp::set, 1).ok(), "signal is taken");
      m.store_weak(words + 1, Word{6});
    } else {
      witness->expect(pe.wait_until(signal, Compare::eq, 1).ok(), "the signal comes");
      witness->expect(pe.get(got, words, 1, 0).ok(), "get succeeds");
      witness->expect(m.load_weak(got) == 5, "what was stored before the signal is there");
    }
    witness->expect(pe.barrier_all().ok(), "barrier_all succeeds");
    if (pe.my_pe() == 1) {
      witness->expect(pe.get(got, words + 1, 1, 0).ok(), "get succeeds");
      witness->expect(m.load_weak(got) == 6, "what was stored before the barrier is there");
    }
  }
};

WorldPointer looks(const SubjectOptions& options, Reached reached) {
  auto world = world_of("looks", options_for(options), reached);
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", 3);
  auto* spread = world->allocate<Word>("spread", 3);
  auto* gathered = world->allocate<Word>("gathered", 2);
  auto* signals = world->allocate<std::uint64_t>("signals", 3, RegionKind::signal);
  world->set(1, spread, 30);
  world->launch({.blocks = 1, .threads = 1},
                Looks{world->witness(), source, data, spread, gathered, signals});
  return world;
}

WorldPointer strided_warp(const SubjectOptions& options) {
  auto world = std::make_unique<World>("strided-warp", options_for(options));
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", 3);
  world->launch_on(0, {.blocks = 1, .threads = 3}, StridedWarp{world->witness(), source, data});
  world->check([=](After& after) {
    after.expect(after.value(1, data) == 7 && after.value(1, data + 2) == 8, "PE 1 has both words");
  });
  return world;
}

WorldPointer neighbours(const SubjectOptions& options, Reached reached) {
  auto world = world_of("neighbours", options_for(options), reached);
  auto* pair = world->allocate<std::uint32_t>("pair", 2);
  auto* counts = world->allocate<std::uint32_t>("counts", 2);
  world->launch_on(0, {.blocks = 2, .threads = 1}, Neighbours{world->witness(), pair, counts});
  world->check([=](After& after) {
    for (std::uint32_t i = 0; i < 2; ++i) {
      after.expect(after.value(1, pair + i) == 7 + i, "PE 1 has both halves");
      after.expect(after.value(1, counts + i) == 0, "a carry out of a half is lost");
    }
  });
  return world;
}

WorldPointer own_stores(const SubjectOptions& options, Reached reached) {
  auto world = world_of("own-stores", options_for(options), reached);
  auto* words = world->allocate<Word>("words", 2);
  auto* got = world->allocate<Word>("got", 1);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, OwnStores{world->witness(), words, got, signal});
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"looks", "A PE looks for signals, another one whether its gets are done.", make<looks, kNic>},
    {"direct-looks", "The same between direct peers.", make<looks, kDirect>},
    {"strided-warp", "A warp puts apart what one of its lanes wrote.", make<strided_warp>},
    {"neighbours", "Two blocks change the halves of one word.", make<neighbours, kNic>},
    {"direct-neighbours", "Two blocks change the halves of a direct peer's word.",
     make<neighbours, kDirect>},
    {"own-stores", "A PE gets what another one has stored to its own heap, and told of.",
     make<own_stores, kNic>},
    {"direct-own-stores", "The same between direct peers.", make<own_stores, kDirect>},
    {"mixed-own-stores", "The same where signals go through the NIC.", make<own_stores, kMixed>},
};

}  // namespace

constinit const Table kLooksTable = kListed;

}  // namespace gdakit::sim::scenarios
