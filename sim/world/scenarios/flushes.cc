// What makes visible what a NIC has written here, where nothing else does: one call at a time, so
// that none lives on the flush of another.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// PE 0 puts words, each with a signal.
template <class Pe>
void put_with_signals(Pe& pe, const Witness* witness, Word* source, Word* data,
                      std::uint64_t* signals, int count) {
  auto& m = pe.machine();
  for (int i = 0; i < count; ++i) {
    m.store_weak(source + i, Word(7 + i));
    witness->expect(
        pe.put_signal_nbi(data + i, source + i, 1, signals + i, 1, SignalOp::set, 1).ok(),
        "put_signal_nbi is taken");
  }
  witness->expect(pe.quiet().ok(), "quiet succeeds");
}

enum class By : std::uint8_t { test, test_all, test_some, fetch, wait_some };

// PE 1 looks for the signals, always in the same way.
template <By kBy>
struct LooksBy {
  static constexpr int kWords = kBy == By::test || kBy == By::fetch ? 1 : 2;

  const Witness* witness;
  Word* source;  // kWords
  Word* data;    // kWords
  std::uint64_t* signals;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      return put_with_signals(pe, witness, source, data, signals, kWords);
    }
    while (!have_come(pe)) m.spin(Site::user);
    for (int i = 0; i < kWords; ++i) {
      witness->expect(m.load_weak(data + i) == Word(7 + i), "the data is there with its signal");
    }
  }

 private:
  template <class Pe>
  bool have_come(Pe& pe) const {
    std::size_t indices[kWords];
    switch (kBy) {
      case By::test: return pe.test(signals, Compare::eq, 1);
      case By::test_all: return pe.test_all(signals, kWords, nullptr, Compare::eq, 1);
      case By::test_some:
        return pe.test_some(signals, kWords, nullptr, Compare::eq, 1, indices) == kWords;
      case By::fetch: return pe.signal_fetch(signals) == 1;
      case By::wait_some: break;
    }
    std::size_t found = 0;
    pe.wait_until_some(signals, kWords, nullptr, Compare::eq, 1, indices, &found);
    return found == kWords;
  }
};

// A get that leaves its doorbell to a put.
struct GetInBatch {
  const Witness* witness;
  Word* data;  // 2
  Word* result;
  template <class Pe>
  void operator()(Pe& pe) const {
    witness->expect(pe.get_nbi(result, data, 1, 1, Batch::more).ok(), "get_nbi is taken");
    witness->expect(pe.put_value(data + 1, 1, 1).ok(), "put_value is taken");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
    witness->expect(pe.machine().load_weak(result) == 30, "the result is there after quiet");
  }
};

// Blocks get words, again and again, and complete one another's reads.
struct GetsByMany {
  const Witness* witness;
  Word* data;
  Word* results;  // 2 for each block
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    Word* const own = results + 2 * m.block_index();
    for (int i = 0; i < 2; ++i) {
      witness->expect(pe.get_nbi(own + i, data, 1, 1).ok(), "get_nbi is taken");
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      witness->expect(m.load_weak(own + i) == 30, "the result is there after quiet");
    }
  }
};

// A block puts words to its own PE through the NIC, and reads each behind quiet. The other one
// waits for words that have come long ago, each time with a flush of its own, on which quiet may
// rely.
struct PutsToOneself {
  static constexpr int kWords = 4;

  const Witness* witness;
  Word* data;           // kWords
  std::uint64_t* here;  // is 0
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto first = pe.on_queue(0);
    for (int i = 0; i < kWords; ++i) {
      if (m.block_index() == 1) {
        witness->expect(pe.wait_until(here, Compare::eq, 0).ok(), "what is there is found");
        continue;
      }
      witness->expect(first.put_value(data + i, Word(7 + i), pe.my_pe()).ok(),
                      "put_value is taken");
      witness->expect(first.quiet().ok(), "quiet succeeds");
      witness->expect(m.load_weak(data + i) == Word(7 + i), "what was put to oneself is there");
    }
  }
};

WorldPointer puts_to_oneself(const SubjectOptions& options) {
  auto world = std::make_unique<World>("puts-to-oneself", options_for(options));
  auto* data = world->allocate<Word>("data", PutsToOneself::kWords);
  auto* here = world->allocate<std::uint64_t>("here", 1, RegionKind::signal);
  world->launch_on(0, {.blocks = 2, .threads = 1}, PutsToOneself{world->witness(), data, here});
  return world;
}

template <By kBy>
WorldPointer looks_by(const char* name, const SubjectOptions& options) {
  constexpr int kWords = LooksBy<kBy>::kWords;
  auto world = std::make_unique<World>(name, options_for(options));
  auto* source = world->allocate<Word>("source", kWords);
  auto* data = world->allocate<Word>("data", kWords);
  auto* signals = world->allocate<std::uint64_t>("signals", kWords, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, LooksBy<kBy>{world->witness(), source, data, signals});
  return world;
}

WorldPointer looks_by_test(const SubjectOptions& options) {
  return looks_by<By::test>("looks-by-test", options);
}
WorldPointer looks_by_test_all(const SubjectOptions& options) {
  return looks_by<By::test_all>("looks-by-test-all", options);
}
WorldPointer looks_by_test_some(const SubjectOptions& options) {
  return looks_by<By::test_some>("looks-by-test-some", options);
}
WorldPointer looks_by_fetch(const SubjectOptions& options) {
  return looks_by<By::fetch>("looks-by-fetch", options);
}
WorldPointer looks_by_wait(const SubjectOptions& options) {
  return looks_by<By::wait_some>("looks-by-wait-some", options);
}

WorldPointer get_in_batch(const SubjectOptions& options) {
  auto world = std::make_unique<World>("get-in-batch", options_for(options));
  auto* data = world->allocate<Word>("data", 2);
  auto* result = world->allocate<Word>("result", 1);
  world->set(1, data, 30);
  world->launch_on(0, {.blocks = 1, .threads = 1}, GetInBatch{world->witness(), data, result});
  return world;
}

WorldPointer gets_by_many(const SubjectOptions& options) {
  auto world = std::make_unique<World>("gets-by-many", options_for(options));
  auto* data = world->allocate<Word>("data", 1);
  auto* results = world->allocate<Word>("results", 6);
  world->set(1, data, 30);
  world->launch_on(0, {.blocks = 3, .threads = 1}, GetsByMany{world->witness(), data, results});
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"looks-by-test", "A PE tests for a signal, and reads its data.", make<looks_by_test>},
    {"looks-by-test-all", "A PE tests for two signals.", make<looks_by_test_all>},
    {"looks-by-test-some", "A PE asks which signals have come.", make<looks_by_test_some>},
    {"looks-by-fetch", "A PE fetches its signal until it has come.", make<looks_by_fetch>},
    {"looks-by-wait-some", "A PE waits for some of two signals.", make<looks_by_wait>},
    {"get-in-batch", "A put ends the batch of a get.", make<get_in_batch>},
    {"puts-to-oneself", "A PE's NIC writes to that PE, while another block flushes.",
     make<puts_to_oneself>},
    {"gets-by-many", "Three blocks get and complete one another's reads.", make<gets_by_many>},
};

}  // namespace

constinit const Table kFlushesTable = kListed;

}  // namespace gdakit::sim::scenarios
