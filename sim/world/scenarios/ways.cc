// PEs with several NICs: words by the first one, beside words and behind data of the others, by
// every kind of operation, again and again.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

constexpr std::uint32_t kSecondNic = 1;           // the shared queue of that NIC
constexpr std::uint32_t kExclusiveSecondNic = 3;  // the exclusive one, behind two shared ones

// Blocks, each on a queue of another NIC, add to one word: by atomics whose old values are there
// after quiet, by a signal alone, and by one behind a put.
struct AllAdd {
  static constexpr std::uint32_t kNics = 3;
  static constexpr Word kAdded = 1 + 16 + 256;  // by each block

  const Witness* witness;
  Word* source;  // kNics
  Word* data;    // kNics
  Word* counter;
  Word* seen;  // kNics
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t self = m.block_index();
    m.store_weak(source + self, 8);
    const Status added = self == 0 ? pe.atomic_fetch_inc_nbi(seen, counter, 1)
                                   : pe.atomic_fetch_add_nbi(seen + self, counter, 1, 1);
    witness->expect(added.ok(), "an addition is taken");
    witness->expect(pe.signal(counter, 16, SignalOp::add, 1).ok(), "signal is taken");
    witness->expect(
        pe.put_signal_nbi(data + self, source + self, 1, counter, 256, SignalOp::add, 1).ok(),
        "put_signal_nbi is taken");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// Puts by the second NIC, each with a signal behind it that brings nothing: put_signal of no
// elements, and a signal alone.
struct EmptySignals {
  static constexpr int kPuts = 3;

  const Witness* witness;
  Word* source;  // kPuts
  Word* data;    // kPuts
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (int i = 0; i < kPuts; ++i) {
      if (pe.my_pe() == 0) {
        m.store_weak(source + i, Word(8 + i));
        put(pe, i);
        continue;
      }
      witness->expect(pe.wait_until(signal, Compare::gt, Word(i)).ok(), "the signal comes");
      witness->expect(m.load_weak(data + i) == Word(8 + i),
                      "what was put before the signal is there");
    }
  }

 private:
  template <class Pe>
  void put(Pe& pe, int i) const {
    auto second = pe.on_queue(kSecondNic);
    const Batch batch = i == 1 ? Batch::more : Batch::last;
    witness->expect(second.put_nbi(data + i, source + i, 1, 1, batch).ok(), "put_nbi is taken");
    Status told;
    switch (i) {
      case 0: told = second.put_signal(data, source, 0, signal, 1, SignalOp::set, 1); break;
      case 1: told = second.put_signal_nbi(data, source, 0, signal, 2, SignalOp::set, 1); break;
      default: told = second.signal(signal, 1, SignalOp::add, 1); break;
    }
    witness->expect(told.ok(), "the signal is taken");
  }
};

// An atomic by a handle of the second NIC, a fence, and a put that tells of it.
struct FenceBehindAtomic {
  const Witness* witness;
  Word* words;  // 2
  std::uint64_t* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (Word i = 0; i < 2; ++i) {
      if (pe.my_pe() == 0) {
        auto second = pe.on_queue(kSecondNic);
        const Status changed =
            i == 0 ? second.atomic_set(words, 8, 1) : second.atomic_add(words + 1, Word{9}, 1);
        witness->expect(changed.ok(), "the atomic is taken");
        witness->expect(second.fence().ok(), "fence succeeds");
        witness->expect(second.put_value(flag, i + 1, 1).ok(), "put_value is taken");
        continue;
      }
      witness->expect(pe.wait_until(flag, Compare::gt, i).ok(), "the flag comes");
      witness->expect(m.load_weak(words + i) == 8 + i, "the word is there when the flag is");
    }
  }
};

// The owner of an exclusive queue puts and waits, again and again, and tells of each put by the
// first NIC. The shared queue of its NIC has posted more than it ever does.
struct OwnerAgain {
  static constexpr int kBefore = 4;
  static constexpr int kPuts = 3;

  const Witness* witness;
  Word* source;  // kPuts
  Word* data;    // kPuts
  Word* others;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) return put(pe);
    for (int i = 0; i < kPuts; ++i) {
      witness->expect(pe.wait_until(signal, Compare::gt, Word(i)).ok(), "the word comes");
      witness->expect(m.load_weak(data + i) == Word(8 + i), "the data is there when the word is");
    }
  }

 private:
  template <class Pe>
  void put(Pe& pe) const {
    auto& m = pe.machine();
    auto second = pe.on_queue(kSecondNic);
    for (int i = 0; i < kBefore; ++i) {
      witness->expect(second.put_value(others, Word(i), 1).ok(), "put_value is taken");
    }
    auto own = pe.exclusively_on(kExclusiveSecondNic);
    for (int i = 0; i < kPuts; ++i) {
      m.store_weak(source + i, Word(8 + i));
      witness->expect(own.wait(own.put_async(data + i, source + i, 1, 1)).ok(),
                      "the put completes");
      witness->expect(pe.on_queue(0).put_value(signal, Word(i + 1), 1).ok(), "put_value is taken");
    }
  }
};

WorldPointer all_add(const SubjectOptions& options) {
  constexpr std::uint32_t kNics = AllAdd::kNics;
  WorldOptions world_options = options_for(options);
  world_options.nics = world_options.queues = kNics;
  auto world = std::make_unique<World>("nics-all-add", world_options);
  auto* source = world->allocate<Word>("source", kNics);
  auto* data = world->allocate<Word>("data", kNics);
  auto* counter = world->allocate<Word>("counter", 1, RegionKind::signal);
  auto* seen = world->allocate<Word>("seen", kNics);
  world->launch_on(0, {.blocks = kNics, .threads = 1},
                   AllAdd{world->witness(), source, data, counter, seen});
  world->check([=](After& after) {
    after.expect(after.value(1, counter) == kNics * AllAdd::kAdded, "every addition counts");
    Word before = 0;  // a bit for each number of ones that were added
    for (std::uint32_t i = 0; i < kNics; ++i) before |= Word{1} << after.value(0, seen + i) % 16;
    after.expect(before == (1 << kNics) - 1, "no two fetches return one value");
  });
  return world;
}

WorldPointer empty_signals(const SubjectOptions& options) {
  auto world = std::make_unique<World>("nics-empty-signals", two_nics(options));
  auto* source = world->allocate<Word>("source", EmptySignals::kPuts);
  auto* data = world->allocate<Word>("data", EmptySignals::kPuts);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, EmptySignals{world->witness(), source, data, signal});
  return world;
}

WorldPointer fence_behind_atomic(const SubjectOptions& options) {
  auto world = std::make_unique<World>("nics-fence-behind-atomic", two_nics(options));
  auto* words = world->allocate<Word>("words", 2);
  auto* flag = world->allocate<std::uint64_t>("flag", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, FenceBehindAtomic{world->witness(), words, flag});
  return world;
}

WorldPointer owner_again(const SubjectOptions& options) {
  WorldOptions world_options = two_nics(options);
  world_options.exclusive_queues = 2;
  auto world = std::make_unique<World>("nics-owner-again", world_options);
  auto* source = world->allocate<Word>("source", OwnerAgain::kPuts);
  auto* data = world->allocate<Word>("data", OwnerAgain::kPuts);
  auto* others = world->allocate<Word>("others", 1);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1},
                OwnerAgain{world->witness(), source, data, others, signal});
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"nics-all-add", "Blocks of three NICs add to one word, by all that adds.", make<all_add>},
    {"nics-empty-signals", "Puts by the second NIC, and signals behind them that bring nothing.",
     make<empty_signals>},
    {"nics-fence-behind-atomic",
     "An atomic by a handle of the second NIC, a fence, and a put that tells of it.",
     make<fence_behind_atomic>},
    {"nics-owner-again", "An owner puts by the second NIC and tells by the first, again and again.",
     make<owner_again>},
};

}  // namespace

constinit const Table kWaysTable = kListed;

}  // namespace gdakit::sim::scenarios
