// Heaps of several chunks, each with keys of its own: transfers in front of a border, across it and
// behind it, by every call that can lie across one.
#include "sim/world/scenarios/elsewhere.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

constexpr std::uint32_t kExclusive = 1;  // the exclusive queue, behind a shared one
constexpr std::uint32_t kSecondNic = 1;  // the shared queue of that NIC

// Twelve bytes, which no border of pages leaves in one piece everywhere.
struct Triple {
  std::uint32_t words[3];
};

// One handle puts a word in front of a border, two across it, and one behind it. The border is
// behind the second word, of the source or of what is put.
struct PutsAcross {
  const Witness* witness;
  Word* source;  // 4
  Word* data;    // 4
  std::uint32_t queue;
  bool is_exclusive;
  template <class Pe>
  void operator()(Pe& pe) const {
    for (Word i = 0; i < 4; ++i) pe.machine().store_weak(source + i, 7 + i);
    if (is_exclusive) {
      put(pe.exclusively_on(queue));
    } else {
      put(pe.on_queue(queue));
    }
  }

 private:
  template <class Handle>
  void put(Handle&& handle) const {
    witness->expect(handle.put_nbi(data, source, 1, 1).ok(), "the first put is taken");
    witness->expect(handle.put_nbi(data + 1, source + 1, 2, 1).ok(), "the put across is taken");
    witness->expect(handle.put_nbi(data + 3, source + 3, 1, 1).ok(), "the last put is taken");
    witness->expect(handle.quiet().ok(), "quiet succeeds");
  }
};

// The first put of a handle goes to the first byte of the second chunk; so does the first get of
// another one.
struct FirstByte {
  const Witness* witness;
  Word* source;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    pe.machine().store_weak(source, 7);
    witness->expect(pe.put_nbi(data, source, 1, 1).ok(), "put_nbi is taken");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
    auto other = pe.on_queue(0);
    Status status;
    witness->expect(other.get_value(data, 1, &status) == 7 && status.ok(),
                    "get_value returns what was put");
  }
};

// The owner of an exclusive queue puts a word, a value across a border, of which three bytes lie in
// front of it, and another word.
struct ValueAcross {
  const Witness* witness;
  Word* data;  // 2
  Octet* value;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto own = pe.exclusively_on(kExclusive);
    witness->expect(own.put_value(data, 7, 1).ok(), "the first put_value is taken");
    witness->expect(own.put_value(value, Octet{{1, 2, 3, 4, 5, 6, 7, 8}}, 1).ok(),
                    "the put_value across is taken");
    witness->expect(own.put_value(data + 1, 9, 1).ok(), "the last put_value is taken");
    witness->expect(own.quiet().ok(), "quiet succeeds");
  }
};

// PE 0 puts three words with a signal; between any two of them is a border.
struct SignalAcross {
  const Witness* witness;
  Word* source;  // 3
  Word* data;    // 3
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      for (Word i = 0; i < 3; ++i) m.store_weak(source + i, 7 + i);
      witness->expect(pe.put_signal(data, source, 3, signal, 1, SignalOp::set, 1).ok(),
                      "put_signal succeeds");
      return;
    }
    witness->expect(pe.wait_until(signal, Compare::eq, 1).ok(), "the signal comes");
    for (Word i = 0; i < 3; ++i) {
      witness->expect(m.load_weak(data + i) == 7 + i, "all words are there when the signal is");
    }
  }
};

// PE 0 puts every second element; borders cut the second and the last one of them. PE 1 waits for
// the end of the last one, and nobody completes what was put before PE 1 has answered.
struct ElementsAcross {
  const Witness* witness;
  Triple* source;  // 3
  Triple* data;    // 5
  std::uint64_t* seen;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      for (std::uint32_t i = 0; i < 9; ++i) m.store_weak(source[i / 3].words + i % 3, 7 + i);
      witness->expect(pe.iput_nbi(data, source, 2, 1, 3, 1).ok(), "iput_nbi is taken");
      witness->expect(pe.wait_until(seen, Compare::eq, 1).ok(), "PE 1 says that it has the end");
    } else {
      witness->expect(pe.wait_until(data[4].words + 2, Compare::eq, 15).ok(), "the end comes");
      witness->expect(pe.put_value(seen, 1, 0).ok(), "put_value is taken");
    }
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// One handle puts to one address of two PEs, of which the second refuses its key.
struct KeysOfPeers {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    witness->expect(pe.put_value(data, 7, 1).ok(), "put_value to PE 1 is taken");
    witness->expect(pe.put_value(data, 8, 2).ok(), "put_value to PE 2 is taken");
    const Status status = pe.quiet();
    witness->expect(status.code == StatusCode::queue_error && status.peer == 2,
                    "quiet says that the queue to PE 2 is broken");
  }
};

// Where the border is of the puts across it.
enum class Side : std::uint8_t { here, there };

WorldPointer puts_across(const char* name, const WorldOptions& options, Side side,
                         std::uint32_t queue, bool is_exclusive) {
  auto world = std::make_unique<World>(name, options);
  auto* source = world->allocate<Word>("source", 4);
  auto* data = world->allocate<Word>("data", 4);
  world->split_at((side == Side::here ? source : data) + 2);
  world->launch_on(0, {.blocks = 1, .threads = 1},
                   PutsAcross{world->witness(), source, data, queue, is_exclusive});
  world->check([=](After& after) {
    for (Word i = 0; i < 4; ++i) {
      after.expect(after.value(1, data + i) == 7 + i, "PE 1 has the word " + std::to_string(i));
    }
  });
  return world;
}

WorldPointer border_there(const SubjectOptions& options) {
  return puts_across("border-there", options_for(options), Side::there, 0, false);
}

WorldPointer border_here(const SubjectOptions& options) {
  return puts_across("border-here", options_for(options), Side::here, 0, false);
}

WorldPointer border_exclusive(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.exclusive_queues = 1;
  return puts_across("border-exclusive", world_options, Side::there, kExclusive, true);
}

WorldPointer border_nics(const SubjectOptions& options) {
  return puts_across("border-nics", two_nics(options), Side::there, kSecondNic, false);
}

WorldPointer border_first_byte(const SubjectOptions& options) {
  auto world = std::make_unique<World>("border-first-byte", options_for(options));
  auto* source = world->allocate<Word>("source", 1);
  auto* data = world->allocate<Word>("data", 1);
  world->split_at(data);
  world->launch_on(0, {.blocks = 1, .threads = 1}, FirstByte{world->witness(), source, data});
  world->check([=](After& after) { after.expect(after.value(1, data) == 7, "PE 1 has the word"); });
  return world;
}

WorldPointer border_value(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.exclusive_queues = 1;
  auto world = std::make_unique<World>("border-value", world_options);
  auto* data = world->allocate<Word>("data", 2);
  auto* around = world->allocate<std::uint8_t>("around", 16);
  world->split_at(around + 8);
  auto* value = reinterpret_cast<Octet*>(around + 5);
  world->launch_on(0, {.blocks = 1, .threads = 1}, ValueAcross{world->witness(), data, value});
  world->check([=](After& after) {
    after.expect(after.value(1, data) == 7 && after.value(1, data + 1) == 9,
                 "PE 1 has the words before and behind the value");
    for (std::uint8_t i = 0; i < 8; ++i) {
      after.expect(after.value(1, around + 5 + i) == i + 1, "PE 1 has every byte of the value");
    }
    after.expect(after.value(1, around + 4) == 0 && after.value(1, around + 13) == 0,
                 "the bytes beside the value are as they were");
  });
  return world;
}

WorldPointer border_signal(const SubjectOptions& options) {
  auto world = std::make_unique<World>("border-signal", options_for(options));
  auto* source = world->allocate<Word>("source", 3);
  auto* data = world->allocate<Word>("data", 3);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->split_at(data + 1);
  world->split_at(data + 2);
  world->launch({.blocks = 1, .threads = 1}, SignalAcross{world->witness(), source, data, signal});
  return world;
}

WorldPointer border_elements(const SubjectOptions& options) {
  auto world = std::make_unique<World>("border-elements", options_for(options));
  auto* source = world->allocate<Triple>("source", 3);
  auto* data = world->allocate<Triple>("data", 5, RegionKind::signal);
  auto* seen = world->allocate<std::uint64_t>("seen", 1, RegionKind::signal);
  world->split_at(data[2].words + 1);
  world->split_at(data[4].words + 1);
  world->launch({.blocks = 1, .threads = 1}, ElementsAcross{world->witness(), source, data, seen});
  world->check([=](After& after) {
    for (std::uint32_t i = 0; i < 9; ++i) {
      after.expect(after.value(1, data[i / 3 * 2].words + i % 3) == 7 + i,
                   "PE 1 has every part of every element");
    }
  });
  return world;
}

WorldPointer keys_of_peers(const SubjectOptions& options) {
  WorldOptions world_options = breaking(options_for(options), 2);
  world_options.pes = 3;
  auto world = std::make_unique<World>("keys-of-peers", world_options);
  auto* data = world->allocate<Word>("data", 1);
  world->launch_on(0, {.blocks = 1, .threads = 1}, KeysOfPeers{world->witness(), data});
  world->check([=](After& after) {
    after.expect(after.value(1, data) == 7, "PE 1 has what was put there");
    after.expect(after.value(2, data) == 0, "nothing was written with a bad key");
  });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"border-there", "Puts before, across and behind a border of the peer's chunks.",
     make<border_there>},
    {"border-here", "Puts from before, across and behind a border of this PE's chunks.",
     make<border_here>},
    {"border-exclusive", "Puts across a border of the peer's chunks by an owner.",
     make<border_exclusive>},
    {"border-nics", "Puts across a border of the peer's chunks by the second NIC.",
     make<border_nics>},
    {"border-first-byte", "A put and a get of the first byte of the second chunk.",
     make<border_first_byte>},
    {"border-value", "A value that a border cuts, between two words.", make<border_value>},
    {"border-signal", "A put with a signal over two borders.", make<border_signal>},
    {"border-elements", "Elements apart, of which a border cuts two.", make<border_elements>},
    {"keys-of-peers", "One handle puts to two PEs, of which one refuses the key.",
     make<keys_of_peers>},
};

}  // namespace

constinit const Table kBordersTable = kListed;

}  // namespace gdakit::sim::scenarios
