// What operations compute and where their bytes go: atomics, signals, waits for words, copies to
// direct peers, and many elements at once.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

constexpr std::uint32_t kExclusive = 1;  // the exclusive queue, behind a shared one
constexpr Word kTop = Word{1} << 63;
constexpr Word kMiddle = Word{1} << 31;

// Swaps a word that is as expected and one that is not, and sets a third one, which takes two
// slots; a put comes behind that. Then bits that are set are turned off: no carry may pass to the
// next one.
struct Atomics {
  const Witness* witness;
  Word* words;  // 6
  template <class Pe>
  void operator()(Pe& pe) const {
    witness->expect(pe.atomic_compare_swap(words, 5, 7, 1) == 5, "the old value is returned");
    witness->expect(pe.atomic_compare_swap(words + 1, 5, 7, 1) == 6, "the old value is returned");
    witness->expect(pe.atomic_set(words + 2, 8, 1).ok(), "atomic_set is taken");
    witness->expect(pe.put_value(words + 3, 9, 1).ok(), "put_value is taken");
    witness->expect(pe.atomic_xor(words + 4, kMiddle, 1).ok(), "atomic_xor is taken");
    witness->expect(pe.atomic_xor(words + 5, kTop | 1, 1).ok(), "atomic_xor is taken");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

struct PutOnce {
  const Witness* witness;
  Word* data;
  int peer;
  template <class Pe>
  void operator()(Pe& pe) const {
    witness->expect(pe.put_value(data, 7, peer).ok(), "put_value is taken");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// One signal is set twice, each time with data: to 1, and to a number with the highest bit set.
struct SetsAgain {
  const Witness* witness;
  Word* data;  // 2
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      for (Word i = 0; i < 2; ++i) {
        m.store_weak(data + i, 7 + i);
        const Word value = i == 0 ? 1 : kTop;
        witness->expect(pe.put_signal(data + i, data + i, 1, signal, value, SignalOp::set, 1).ok(),
                        "put_signal succeeds");
      }
      return;
    }
    Status status;
    witness->expect(pe.signal_wait_until(signal, Compare::gt, 1, &status) == kTop && status.ok(),
                    "the wait returns what the signal was set to last");
    witness->expect(m.load_weak(data) == 7 && m.load_weak(data + 1) == 8,
                    "the data of both is there");
  }
};

// PE 0 sets a signal to one number after the other, while PE 1 waits until it is another one than
// some of them. In the end it is.
struct ChangingSignal {
  static constexpr Word kLast = 7;

  const Witness* witness;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) {
      for (Word i = 1; i <= kLast; ++i) {
        witness->expect(pe.signal(signal, i, SignalOp::set, 1).ok(), "signal is taken");
      }
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      return;
    }
    for (Word i = 1; i < kLast; ++i) {
      Status status;
      witness->expect(pe.signal_wait_until(signal, Compare::ne, i, &status) != i && status.ok(),
                      "the wait returns a value with which the comparison holds");
    }
  }
};

// Waits for words that are all left out.
struct WaitsForNone {
  const Witness* witness;
  Word* words;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    const int skip[] = {1, 1};
    std::size_t index = 0;
    witness->expect(pe.wait_until_any(words, 2, skip, Compare::eq, 1, &index).ok(),
                    "wait_until_any returns at once");
    witness->expect(index == ~std::size_t{0}, "it names no word");
    witness->expect(pe.wait_until_all(words, 2, skip, Compare::eq, 1).ok(),
                    "wait_until_all returns at once");
  }
};

// Puts five numbers from an address that is aligned otherwise than the one they go to.
struct Unaligned {
  static constexpr std::uint32_t kNumbers = 5;

  const Witness* witness;
  std::uint32_t* source;  // 12
  std::uint32_t* data;    // 12
  template <class Pe>
  void operator()(Pe& pe) const {
    for (std::uint32_t i = 0; i < 12; ++i) pe.machine().store_weak(source + i, 7 + i);
    witness->expect(pe.put_bytes(data, source + 1, kNumbers * sizeof(*data), 1).ok(),
                    "put_bytes succeeds");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// All PEs but PE 1 add to its word.
struct AddsOfTwo {
  static constexpr Word kAdds = 3;

  const Witness* witness;
  Word* sum;
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 1) return;
    for (Word i = 0; i < kAdds; ++i) {
      witness->expect(pe.atomic_add(sum, Word{1}, 1).ok(), "atomic_add is taken");
    }
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// The lanes of a warp put many words apart, each of which one of them has stored.
struct WarpElements {
  const Witness* witness;
  Word* source;  // count
  Word* data;    // 2 * count
  std::uint32_t count;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (std::uint32_t i = m.lane(); i < count; i += m.block_threads()) {
      m.store_weak(source + i, Word{i} + 7);
    }
    witness->expect(pe.warp().iput(data, source, 2, 1, count, 1).ok(), "iput succeeds");
  }
};

// A block puts words apart to a direct peer by the handle of an exclusive queue; its first thread
// tells of all of them.
struct BlockElements {
  const Witness* witness;
  Word* source;  // 8
  Word* data;    // 16
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      for (Word i = m.thread_index(); i < 8; i += m.block_threads())
        m.store_weak(source + i, 7 + i);
      auto own = pe.exclusively_on(kExclusive);
      witness->expect(own.block().iput(data, source, 2, 1, 8, 1).ok(), "iput succeeds");
      if (m.thread_index() != 0) return;
      witness->expect(own.signal(signal, 1, SignalOp::set, 1).ok(), "signal is taken");
      return;
    }
    witness->expect(pe.wait_until(signal, Compare::eq, 1).ok(), "the signal comes");
    for (Word i = 0; i < 8; ++i) {
      witness->expect(m.load_weak(data + 2 * i) == 7 + i, "the words of both threads are there");
    }
  }
};

WorldOptions commands_options(const SubjectOptions& options) {
  WorldOptions world = options_for(options);
  world.handler = Handler::commands;
  return world;
}

template <Handler kHandler>
WorldPointer atomics_by(const SubjectOptions& options) {
  const bool is_gpu = kHandler == Handler::gpu;
  WorldOptions world_options = options_for(options);
  world_options.handler = kHandler;
  auto world = std::make_unique<World>(is_gpu ? "atomics" : "commands-atomics", world_options);
  constexpr Word kBefore[] = {5, 6, 1, 2, kMiddle | 5, kTop | 9};
  constexpr Word kAfter[] = {7, 6, 8, 9, 5, 8};
  auto* words = world->allocate<Word>("words", std::size(kBefore));
  for (std::size_t i = 0; i < std::size(kBefore); ++i) world->set(1, words + i, kBefore[i]);
  world->launch_on(0, {.blocks = 1, .threads = 1}, Atomics{world->witness(), words});
  world->check([=](After& after) {
    for (std::size_t i = 0; i < std::size(kAfter); ++i) {
      after.expect_eq("word " + std::to_string(i), after.value(1, words + i), kAfter[i]);
    }
  });
  return world;
}

WorldPointer last_number(const SubjectOptions& options) {
  WorldOptions world_options = commands_options(options);
  world_options.start_index = 65535;
  auto world = std::make_unique<World>("commands-last-number", world_options);
  auto* data = world->allocate<Word>("data", 1);
  world->launch_on(0, {.blocks = 1, .threads = 1}, PutOnce{world->witness(), data, 1});
  world->check([=](After& after) { after.expect(after.value(1, data) == 7, "PE 1 has the word"); });
  return world;
}

// The last PE is the first one that is not among the near ones.
WorldPointer far_peer(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.pes = kNearPes + 1;
  auto world = world_of("far-peer", world_options, Reached::directly);
  auto* data = world->allocate<Word>("data", 1);
  world->launch_on(0, {.blocks = 1, .threads = 1},
                   PutOnce{world->witness(), data, static_cast<int>(kNearPes)});
  world->check([=](After& after) {
    after.expect(after.value(kNearPes, data) == 7 && after.value(0, data) == 0,
                 "the last PE has the word, and PE 0 has not");
  });
  return world;
}

WorldPointer sets_again(const SubjectOptions& options, Reached reached) {
  auto world = world_of("signal-set-again", options_for(options), reached);
  auto* data = world->allocate<Word>("data", 2);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, SetsAgain{world->witness(), data, signal});
  return world;
}

WorldPointer changing_signal(const SubjectOptions& options) {
  auto world = std::make_unique<World>("signal-changes", options_for(options));
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, ChangingSignal{world->witness(), signal});
  return world;
}

WorldPointer waits_for_none(const SubjectOptions& options) {
  auto world = std::make_unique<World>("wait-for-none", options_for(options));
  auto* words = world->allocate<Word>("words", 2, RegionKind::signal);
  world->launch_on(0, {.blocks = 1, .threads = 1}, WaitsForNone{world->witness(), words});
  return world;
}

WorldPointer unaligned(const SubjectOptions& options) {
  auto world = world_of("unaligned", options_for(options), Reached::directly);
  auto* source = world->allocate<std::uint32_t>("source", 12);
  auto* data = world->allocate<std::uint32_t>("data", 12);
  for (std::uint32_t i = 0; i < 12; ++i) world->set(1, data + i, 100 + i);
  world->launch_on(0, {.blocks = 1, .threads = 1}, Unaligned{world->witness(), source, data});
  world->check([=](After& after) {
    for (std::uint32_t i = 0; i < 12; ++i) {
      const bool is_put = i < Unaligned::kNumbers;
      after.expect(after.value(1, data + i) == (is_put ? 8 : 100) + i,
                   is_put ? "PE 1 has what was put" : "what is behind it is as it was");
    }
  });
  return world;
}

// A value of 8 bytes whose halves lie in two words.
struct Pair {
  std::uint32_t first;
  std::uint32_t second;
};
// PE 0 puts one, tells of it, and looks at another one, whose halves PE 1 writes meanwhile.
struct PutsPair {
  const Witness* witness;
  std::uint32_t* data;     // 4
  std::uint32_t* changes;  // 4
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto* const pair = reinterpret_cast<Pair*>(data + 1);
    if (pe.my_pe() == 1) {
      m.store(order::RelaxedSystem{}, changes + 1, 7u);
      m.store(order::RelaxedSystem{}, changes + 2, 7u);
      witness->expect(pe.wait_until(signal, Compare::eq, 1).ok(), "the signal comes");
      witness->expect(m.load_weak(data + 1) == 5 && m.load_weak(data + 2) == 6,
                      "both halves are there with the signal");
      return;
    }
    witness->expect(pe.put_value(pair, Pair{5, 6}, 1).ok(), "put_value succeeds");
    witness->expect(pe.signal(signal, 1, SignalOp::set, 1).ok(), "signal succeeds");
    const Pair got = pe.get_value(pair, 1);
    witness->expect(got.first == 5 && got.second == 6, "both halves come back");
    const Pair seen = pe.get_value(reinterpret_cast<Pair*>(changes + 1), 1);
    witness->expect(seen.first % 7 == 0 && seen.second % 7 == 0, "each half is old or new");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

WorldPointer pair(const SubjectOptions& options, Reached reached) {
  auto world = world_of("pair", options_for(options), reached);
  auto* data = world->allocate<std::uint32_t>("data", 4);
  auto* changes = world->allocate<std::uint32_t>("changes", 4);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, PutsPair{world->witness(), data, changes, signal});
  world->check([=](After& after) {
    after.expect(after.value(1, data) == 0 && after.value(1, data + 3) == 0,
                 "what is beside the value is as it was");
  });
  return world;
}

WorldPointer adds_of_two(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.pes = 3;
  auto world = world_of("adds", world_options, Reached::partly);
  auto* sum = world->allocate<Word>("sum", 1);
  world->launch({.blocks = 1, .threads = 1}, AddsOfTwo{world->witness(), sum});
  world->check(
      [=](After& after) { after.expect_eq("the sum", after.value(1, sum), 2 * AddsOfTwo::kAdds); });
  return world;
}

WorldPointer warp_of(const char* name, const WorldOptions& options, std::uint32_t threads,
                     std::uint32_t count) {
  auto world = std::make_unique<World>(name, options);
  auto* source = world->allocate<Word>("source", count);
  auto* data = world->allocate<Word>("data", std::size_t{2} * count);
  world->launch_on(0, {.blocks = 1, .threads = threads},
                   WarpElements{world->witness(), source, data, count});
  world->check([=](After& after) {
    for (std::uint32_t i = 0; i < count; ++i) {
      after.expect(after.value(1, data + 2 * i) == Word{i} + 7,
                   "PE 1 has the element " + std::to_string(i));
    }
  });
  return world;
}

// The lanes have more elements than the queue has slots.
WorldPointer warp_elements(const SubjectOptions& options) {
  return warp_of("warp-elements", options_for(options), 3, 48);
}

// They post more at once than the host thread takes up at once.
WorldPointer commands_elements(const SubjectOptions& options) {
  WorldOptions world_options = commands_options(options);
  world_options.depth = 128;
  return warp_of("commands-elements", world_options, 4, 40);
}

WorldPointer block_elements(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.exclusive_queues = 1;
  auto world = world_of("block-elements", world_options, Reached::directly);
  auto* source = world->allocate<Word>("source", 8);
  auto* data = world->allocate<Word>("data", 16);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  const BlockElements kernel{world->witness(), source, data, signal};
  world->launch_on(0, {.blocks = 1, .threads = 2}, kernel);
  world->launch_on(1, {.blocks = 1, .threads = 1}, kernel);
  return world;
}

// Two PEs change bits of one word, each its own ones, and fetch what it was into a word of theirs,
// which another block reads.
struct Bits {
  const Witness* witness;
  std::uint32_t* word;  // on PE 1
  std::uint32_t* seen;
  Word* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const int shift = 8 * pe.my_pe();
    if (m.block_index() == 1) {
      while (m.load(order::Acquire<Scope::gpu>{}, flag) == 0) m.spin(Site::user);
      witness->expect((m.load_weak(seen) >> shift & 0xff) == 0x06,
                      "the fetched word has what the PE did before");
      return;
    }
    witness->expect(pe.atomic_and(word, ~(0xf0u << shift), 1).ok(), "atomic_and is taken");
    witness->expect(pe.atomic_or(word, 0x03u << shift, 1).ok(), "atomic_or is taken");
    witness->expect(pe.atomic_xor(word, 0x05u << shift, 1).ok(), "atomic_xor is taken");
    witness->expect(pe.atomic_fetch_add_nbi(seen, word, 0x10u << shift, 1).ok(),
                    "atomic_fetch_add_nbi is taken");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
    m.store(order::Release<Scope::gpu>{}, flag, Word{1});
  }
};

WorldPointer bits(const SubjectOptions& options, Reached reached) {
  auto world = world_of("bits", options_for(options), reached);
  auto* word = world->allocate<std::uint32_t>("word", 1);
  auto* seen = world->allocate<std::uint32_t>("seen", 1);
  auto* flag = world->allocate<Word>("flag", 1);
  world->set(1, word, 0xf0f0u);
  world->launch({.blocks = 2, .threads = 1}, Bits{world->witness(), word, seen, flag});
  world->check([=](After& after) {
    after.expect(after.value(1, word) == 0x1616u, "every change of every bit counts");
  });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"atomics", "Words are swapped and set, and bits turned off.", make<atomics_by<Handler::gpu>>},
    {"bits", "Two PEs change bits of one word, each its own ones.", make<bits, kNic>},
    {"direct-bits", "The same of a direct peer's word.", make<bits, kDirect>},
    {"commands-atomics", "Commands swap and set words; one of them takes two slots.",
     make<atomics_by<Handler::commands>>},
    {"commands-last-number", "The first CQE names the largest number of a WQE.", make<last_number>},
    {"commands-elements", "A warp posts more commands than are taken up at once.",
     make<commands_elements>},
    {"warp-elements", "A warp puts more elements apart than the queue has slots.",
     make<warp_elements>},
    {"signal-set-again", "A signal is set twice, each time with data.", make<sets_again, kNic>},
    {"direct-signal-set-again", "A direct peer's signal is set twice, each time with data.",
     make<sets_again, kDirect>},
    {"signal-changes", "A signal goes on changing while a PE waits for it.", make<changing_signal>},
    {"wait-for-none", "Waits for no word at all end at once.", make<waits_for_none>},
    {"direct-unaligned", "Numbers are stored from an address aligned otherwise.", make<unaligned>},
    {"pair", "A value whose halves lie in two words.", make<pair, kNic>},
    {"direct-pair", "The same at a direct peer.", make<pair, kDirect>},
    {"direct-far-peer", "A word is stored to the first peer that is not near.", make<far_peer>},
    {"direct-block-elements",
     "A block of an exclusive queue stores words apart, its first thread tells of them.",
     make<block_elements>},
    {"partly-adds", "A PE that others reach directly, and one that they do not, add to one word.",
     make<adds_of_two>},
};

}  // namespace

constinit const Table kValuesTable = kListed;

}  // namespace gdakit::sim::scenarios
