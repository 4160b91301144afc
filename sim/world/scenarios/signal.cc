// PEs that wait for one another: signals, the order of puts, barriers.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

struct PutSignal {
  const Witness* witness;
  Word* source;
  Word* data;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(source, 8);
      m.store_weak(source + 1, 9);
      witness->expect(pe.put_signal(data, source, 2, signal, 1, SignalOp::set, 1).ok(),
                      "put_signal succeeds");
      return;
    }
    witness->expect(pe.wait_until(signal, Compare::eq, 1).ok(), "the signal comes");
    witness->expect(m.load_weak(data) == 8 && m.load_weak(data + 1) == 9,
                    "the data is there when the signal is");
  }
};

// Two blocks send and add to one signal; the receiver waits for both.
struct SignalAdd {
  const Witness* witness;
  Word* source;
  Word* data;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      const std::uint32_t self = m.block_index();
      m.store_weak(source + self, Word{self} + 8);
      witness->expect(
          pe.put_signal_nbi(data + self, source + self, 1, signal, 1, SignalOp::add, 1).ok(),
          "put_signal_nbi is taken");
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      return;
    }
    witness->expect(pe.wait_until(signal, Compare::ge, 2).ok(), "both signals come");
    witness->expect(m.load_weak(data) == 8 && m.load_weak(data + 1) == 9,
                    "the data of both is there");
  }
};

// A put, a fence, and a put that says that the first one has been made.
struct FenceOrder {
  const Witness* witness;
  Word* source;
  Word* data;
  std::uint64_t* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(source, 8);
      pe.put_nbi(data, source, 1, 1);
      witness->expect(pe.fence().ok(), "fence succeeds");
      pe.put_value(flag, 1, 1);
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      return;
    }
    witness->expect(pe.wait_until(flag, Compare::eq, 1).ok(), "the flag comes");
    witness->expect(m.load_weak(data) == 8, "the data is there when the flag is");
  }
};

// Puts and gets of several packets: a signal comes behind all of a put, completion behind a get.
struct LongPut {
  static constexpr Word kWords = 64;

  const Witness* witness;
  Word* source;
  Word* data;
  Word* back;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      for (Word i = 0; i < kWords; ++i) m.store_weak(source + i, 100 + i);
      pe.put_signal_nbi(data, source, kWords, signal, 1, SignalOp::set, 1);
      witness->expect(pe.get(back, data, kWords, 1).ok(), "get succeeds");
      for (Word i = 0; i < kWords; ++i) {
        witness->expect(m.load_weak(back + i) == 100 + i, "a get finds what was put before it");
      }
      return;
    }
    witness->expect(pe.wait_until(signal, Compare::eq, 1).ok(), "the signal comes");
    for (Word i = 0; i < kWords; ++i) {
      witness->expect(m.load_weak(data + i) == 100 + i, "all of it is there with the signal");
    }
  }
};

// A put, quiet, and a put that tells of the first.
struct QuietOrder {
  const Witness* witness;
  Word* data;
  std::uint64_t* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) {
      pe.put_value(data, Word{8}, 1);
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      pe.put_value(flag, 1, 1);
      return;
    }
    witness->expect(pe.wait_until(flag, Compare::eq, 1).ok(), "the flag comes");
    witness->expect(pe.machine().load_weak(data) == 8, "the data is there when the flag is");
  }
};

// Each PE passes what it got on to the next one.
struct RingOfThree {
  const Witness* witness;
  Word* data;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const int next = (pe.my_pe() + 1) % pe.n_pes();
    if (pe.my_pe() == 0) m.store_weak(data, 5);
    if (pe.my_pe() != 0) {
      witness->expect(pe.wait_until(signal, Compare::eq, 1).ok(), "the signal comes");
    }
    if (next != 0) {
      witness->expect(pe.put_signal(data, data, 1, signal, 1, SignalOp::set, next).ok(),
                      "put_signal succeeds");
    } else {
      witness->expect(m.load_weak(data) == 5, "the last PE has what the first one sent");
    }
  }
};

// What is put before a barrier is there after it, twice.
struct Barrier {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const int peer = 1 - pe.my_pe();
    for (Word round = 1; round <= 2; ++round) {
      if (m.thread_index() == 0) pe.put_value(data, 10 * round + Word(pe.my_pe()), peer);
      witness->expect(pe.block().barrier_all().ok(), "barrier_all succeeds");
      witness->expect(m.load_weak(data) == 10 * round + Word(peer),
                      "what the peer has put before the barrier is there");
      witness->expect(pe.block().sync_all().ok(), "sync_all succeeds");
    }
  }
};

WorldPointer put_signal(const SubjectOptions& options, Reached reached) {
  auto world = world_of("put-signal", options_for(options), reached);
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", 2);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, PutSignal{world->witness(), source, data, signal});
  return world;
}

WorldPointer signal_add(const SubjectOptions& options, Reached reached) {
  auto world = world_of("signal-add", options_for(options), reached);
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", 2);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  const SignalAdd kernel{world->witness(), source, data, signal};
  world->launch_on(0, {.blocks = 2, .threads = 1}, kernel);
  world->launch_on(1, {.blocks = 1, .threads = 1}, kernel);
  return world;
}

WorldPointer fence_order(const SubjectOptions& options, Reached reached) {
  auto world = world_of("fence-order", options_for(options), reached);
  auto* source = world->allocate<Word>("source", 1);
  auto* data = world->allocate<Word>("data", 1);
  auto* flag = world->allocate<std::uint64_t>("flag", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, FenceOrder{world->witness(), source, data, flag});
  return world;
}

WorldPointer long_put(const SubjectOptions& options, Reached reached) {
  WorldOptions shape = options_for(options);
  shape.max_message_bytes = 8 * LongPut::kWords;
  auto world = world_of("long-put", shape, reached);
  auto* source = world->allocate<Word>("source", LongPut::kWords);
  auto* data = world->allocate<Word>("data", LongPut::kWords);
  auto* back = world->allocate<Word>("back", LongPut::kWords);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, LongPut{world->witness(), source, data, back, signal});
  return world;
}

WorldPointer quiet_order(const SubjectOptions& options, Reached reached) {
  auto world = world_of("quiet-order", options_for(options), reached);
  auto* data = world->allocate<Word>("data", 1);
  auto* flag = world->allocate<std::uint64_t>("flag", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, QuietOrder{world->witness(), data, flag});
  return world;
}

WorldPointer ring_of_three(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.pes = 3;
  auto world = std::make_unique<World>("ring-of-three", world_options);
  auto* data = world->allocate<Word>("data", 1);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, RingOfThree{world->witness(), data, signal});
  return world;
}

WorldPointer barrier(const SubjectOptions& options, Reached reached) {
  auto world = world_of("barrier", options_for(options), reached);
  auto* data = world->allocate<Word>("data", 1);
  world->launch({.blocks = 1, .threads = 2}, Barrier{world->witness(), data});
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"put-signal", "Data with a signal, and a PE that waits for it.", make<put_signal, kNic>},
    {"signal-add", "Two blocks add to one signal.", make<signal_add, kNic>},
    {"fence-order", "A put, a fence, and a put that tells of the first.", make<fence_order, kNic>},
    {"quiet-order", "A put, quiet, and a put that tells of the first.", make<quiet_order, kNic>},
    {"long-put", "A put of several packets with a signal, got back again.", make<long_put, kNic>},
    {"ring-of-three", "Three PEs pass a value on.", make<ring_of_three>},
    {"barrier", "What is put before a barrier is there after it.", make<barrier, kNic>},
};

constexpr ScenarioEntry kListedDirect[] = {
    {"direct-put-signal", "Data by stores, and a signal behind it.", make<put_signal, kDirect>},
    {"direct-signal-add", "Two blocks store, and add to one signal.", make<signal_add, kDirect>},
    {"direct-fence-order", "Stores, a fence, and a store that tells of the first.",
     make<fence_order, kDirect>},
    {"direct-barrier", "What is stored before a barrier is there after it.",
     make<barrier, kDirect>},
};

constexpr ScenarioEntry kListedMixed[] = {
    {"mixed-barrier", "What is stored before a barrier through the NIC is there after it.",
     make<barrier, kMixed>},
};

constexpr ScenarioEntry kListedPlaced[] = {
    {"placed-put-signal", "Data with a signal, where puts are placed in any order.",
     make_placed<put_signal>},
    {"placed-signal-add", "Two blocks add to one signal behind puts that keep no order.",
     make_placed<signal_add>},
    {"placed-fence-order", "A fence between puts that keep no order by themselves.",
     make_placed<fence_order>},
    {"placed-quiet-order", "Quiet between puts that keep no order by themselves.",
     make_placed<quiet_order>},
    {"placed-long-put", "Packets of a put that are placed in any order.", make_placed<long_put>},
    {"placed-barrier", "A barrier behind puts that keep no order.", make_placed<barrier>},
};

}  // namespace

constinit const Table kSignalTable = kListed;
constinit const Table kSignalDirectTable = kListedDirect;
constinit const Table kSignalMixedTable = kListedMixed;
constinit const Table kSignalPlacedTable = kListedPlaced;

}  // namespace gdakit::sim::scenarios
