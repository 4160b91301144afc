// What happens, or is answered, once: atomics whose old values are there after quiet, groups that
// signal and ask as one, and which word a wait has found.
#include <string>

#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// Every atomic whose old value quiet completes, each on a word of its own that holds kOld.
template <class T>
struct LaterAtomics {
  static constexpr std::size_t kWords = 8;
  static constexpr T kOld = 6;
  static constexpr T kAfter[kWords] = {9, 6, 9, 4, 15, 10, 7, 6};

  const Witness* witness;
  T* words;
  T* old;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    expect_taken(pe.atomic_compare_swap_nbi(old, words, 6, 9, 1));
    expect_taken(pe.atomic_compare_swap_nbi(old + 1, words + 1, 9, 5, 1));
    expect_taken(pe.atomic_swap_nbi(old + 2, words + 2, 9, 1));
    expect_taken(pe.atomic_fetch_and_nbi(old + 3, words + 3, 12, 1));
    expect_taken(pe.atomic_fetch_or_nbi(old + 4, words + 4, 9, 1, Batch::more));
    expect_taken(pe.atomic_fetch_xor_nbi(old + 5, words + 5, 12, 1));
    expect_taken(pe.atomic_fetch_inc_nbi(old + 6, words + 6, 1));
    expect_taken(pe.atomic_fetch_nbi(old + 7, words + 7, 1));
    witness->expect(pe.quiet().ok(), "quiet succeeds");
    for (std::size_t i = 0; i < kWords; ++i) {
      witness->expect(m.load_weak(old + i) == kOld, "every old value is there after quiet");
    }
  }

 private:
  void expect_taken(Status status) const { witness->expect(status.ok(), "the atomic is taken"); }
};

// PE 1 stores words and tells of each by another flag. PE 0 looks at the flags by atomics that
// change nothing, and reads the words.
struct FetchedBits {
  static constexpr int kWords = 3;

  const Witness* witness;
  Word* data;            // kWords
  std::uint64_t* flags;  // kWords
  Word* mine;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (int i = 0; i < kWords; ++i) {
      if (pe.my_pe() == 1) {
        m.store_weak(data + i, Word(8 + i));
        witness->expect(pe.signal(flags + i, 1, SignalOp::set, 1).ok(), "signal is taken");
        continue;
      }
      while (fetched(pe, i) == 0) m.spin(Site::user);
      witness->expect(pe.get(mine, data + i, 1, 1).ok(), "get succeeds");
      witness->expect(m.load_weak(mine) == Word(8 + i), "the word is there when its flag is");
    }
  }

 private:
  template <class Pe>
  std::uint64_t fetched(Pe& pe, int i) const {
    switch (i) {
      case 0: return pe.atomic_fetch_and(flags, ~std::uint64_t{0}, 1);
      case 1: return pe.atomic_fetch_or(flags + 1, std::uint64_t{0}, 1);
      default: return pe.atomic_fetch_xor(flags + 2, std::uint64_t{0}, 1);
    }
  }
};

// A warp and a block put and signal as one: each time the signal counts one.
struct GroupsAdd {
  static constexpr int kWords = 3;  // of each put
  static constexpr Word kSignals = 4;

  const Witness* witness;
  Word* source;  // 2 * kWords
  Word* data;    // 2 * kWords
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 1) {
      witness->expect(pe.wait_until(signal, Compare::ge, kSignals).ok(), "the signals come");
      for (Word i = 0; i < 2 * kWords; ++i) {
        witness->expect(m.load_weak(data + i) == 20 + i, "what the groups have put is there");
      }
      return;
    }
    for (Word i = m.thread_index(); i < 2 * kWords; i += m.block_threads()) {
      m.store_weak(source + i, 20 + i);
    }
    expect_taken(pe.warp().put_signal(data, source, kWords, signal, 1, SignalOp::add, 1));
    expect_taken(pe.block().put_signal_nbi(data + kWords, source + kWords, kWords, signal, 1,
                                           SignalOp::add, 1));
    expect_taken(pe.warp().put_signal_nbi(data, source, 0, signal, 1, SignalOp::add, 1));
    // By a handle that has to look more closely where PE 1 is.
    expect_taken(
        pe.on_queue(0).block().put_signal(data, source, kWords, signal, 1, SignalOp::add, 1));
    witness->expect(pe.block().quiet().ok(), "quiet succeeds");
  }

 private:
  void expect_taken(Status status) const { witness->expect(status.ok(), "the signal is taken"); }
};

enum class As : std::uint8_t { warp, block };

// PE 0 sets words, and a group of PE 1 looks for them in every way until it finds them: all of its
// threads hear the same.
template <As kAs>
struct GroupLooks {
  static constexpr std::size_t kWords = 11;

  const Witness* witness;
  std::uint64_t* words;    // kWords: two for each call of several, one for each other
  std::uint64_t* answers;  // one for each thread
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) {
      for (std::size_t i = 0; i < kWords; ++i) {
        witness->expect(pe.put_value(words + i, 1, 1).ok(), "put_value is taken");
      }
      // A signal that goes on changing is the same for all, too.
      witness->expect(pe.put_value(words + kWords - 1, 2, 1).ok(), "put_value is taken");
      return;
    }
    if constexpr (kAs == As::warp) {
      auto group = pe.warp();
      look(group);
    } else {
      auto group = pe.block();
      look(group);
    }
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  template <class Group>
  void look(Group& pe) const {
    std::size_t which = kNone;
    Status status = pe.wait_until_any(words, 2, nullptr, Compare::eq, 1, &which);
    witness->expect(status.ok() && agreed(pe, which) < 2, "a word is found");
    do {
      which = pe.test_any(words + 2, 2, nullptr, Compare::eq, 1);
    } while (agreed(pe, which) == kNone);
    std::size_t indices[2] = {2, 2};
    which = 0;
    status = pe.wait_until_some(words + 4, 2, nullptr, Compare::eq, 1, indices, &which);
    witness->expect(status.ok() && agreed(pe, which) != 0, "some words are found");
    do {
      which = pe.test_some(words + 6, 2, nullptr, Compare::eq, 1, indices);
    } while (agreed(pe, which) != 2);
    witness->expect(pe.thread_index() != 0 || (indices[0] == 0 && indices[1] == 1),
                    "the first thread has the indices of both words");
    do {
      which = pe.test(words + 8, Compare::eq, 1) ? 1 : 0;
    } while (agreed(pe, which) == 0);
    do {
      which = pe.signal_fetch(words + 9, &status);
    } while (agreed(pe, which) == 0);
    which = pe.signal_wait_until(words + 10, Compare::ne, 0, &status);
    witness->expect(status.ok() && agreed(pe, which) != 0, "the last signal comes");
  }

  // What the first thread has heard, for all; each compares its own with it.
  template <class Group>
  std::size_t agreed(Group& pe, std::size_t answer) const {
    auto& m = pe.machine();
    m.store_weak(answers + m.thread_index(), answer);
    m.sync_block();
    const std::size_t first = m.load_weak(answers);
    witness->expect(answer == first, "all threads of a group hear the same");
    m.sync_block();
    m.spin(Site::user);
    return first;
  }
};

// PEs 1 and 2 put a word each, with a signal of its own. PE 0 waits for any signal, and for the
// other one, and reads the word of that which it is told.
struct TwoSenders {
  const Witness* witness;
  Word* source;
  Word* data;              // 2
  std::uint64_t* signals;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() != 0) {
      const int self = pe.my_pe() - 1;
      m.store_weak(source, Word(8 + self));
      witness->expect(
          pe.put_signal(data + self, source, 1, signals + self, 1, SignalOp::set, 0).ok(),
          "put_signal succeeds");
      return;
    }
    int skip[2] = {0, 0};
    for (int i = 0; i < 2; ++i) {
      std::size_t which = ~std::size_t{0};
      witness->expect(pe.wait_until_any(signals, 2, skip, Compare::eq, 1, &which).ok(),
                      "a signal comes");
      witness->expect(which < 2 && skip[which] == 0, "it is one that was waited for");
      if (which >= 2) return;
      witness->expect(m.load_weak(data + which) == 8 + which, "the data of that signal is there");
      skip[which] = 1;
    }
  }
};

// PE 0 sets a word and takes that back, and then sets another one, which stays: whoever waits for
// any of them, for some or for one, is told of what it has found.
struct TakenBack {
  const Witness* witness;
  std::uint64_t* words;  // 5: two for each of _any and _some, one alone
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 1) return wait(pe);
    for (int first = 0; first < 6; first += 2) {
      witness->expect(pe.put_value(words + first, 1, 1).ok(), "put_value is taken");
      witness->expect(pe.put_value(words + first, 0, 1).ok(), "put_value is taken");
      const int last = first == 4 ? first : first + 1;
      witness->expect(pe.put_value(words + last, 2, 1).ok(), "put_value is taken");
    }
  }

 private:
  template <class Pe>
  void wait(Pe& pe) const {
    std::size_t which = ~std::size_t{0};
    witness->expect(pe.wait_until_any(words, 2, nullptr, Compare::ne, 0, &which).ok() && which < 2,
                    "one of two words is found");
    std::size_t found = 0;
    std::size_t indices[2] = {2, 2};
    witness->expect(
        pe.wait_until_some(words + 2, 2, nullptr, Compare::ne, 0, indices, &found).ok() &&
            (found == 1 || found == 2),
        "some of two words are found");
    for (std::size_t i = 0; i < found; ++i) {
      witness->expect(indices[i] < 2 && (i == 0 || indices[0] < indices[1]),
                      "each that is found has an index of its own");
    }
    Status status;
    const Word seen = pe.signal_wait_until(words + 4, Compare::ne, 0, &status);
    witness->expect(status.ok() && (seen == 1 || seen == 2),
                    "a wait returns the value with which it ended");
  }
};

// PE 0 puts words, each of which adds one to a signal. PE 1 waits for the next one and reads as
// many words as the value says that it was told.
struct Counted {
  static constexpr Word kPuts = 3;

  const Witness* witness;
  Word* source;  // kPuts
  Word* data;    // kPuts
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      for (Word i = 0; i < kPuts; ++i) {
        m.store_weak(source + i, 8 + i);
        witness->expect(
            pe.put_signal_nbi(data + i, source + i, 1, signal, 1, SignalOp::add, 1).ok(),
            "put_signal_nbi is taken");
      }
      return;
    }
    for (Word seen = 0; seen < kPuts;) {
      Status status;
      seen = pe.signal_wait_until(signal, Compare::gt, seen, &status);
      if (!status) return witness->expect(false, "the signal comes");
      read(m, seen);
      const Word now = pe.signal_fetch(signal);
      witness->expect(now >= seen, "a signal that counts does not go back");
      read(m, now);
    }
  }

 private:
  template <class M>
  void read(M& m, Word count) const {
    for (Word i = 0; i < count; ++i) {
      witness->expect(m.load_weak(data + i) == 8 + i, "as many words are there as the signal says");
    }
  }
};

template <class T>
WorldPointer later_atomics(const SubjectOptions& options, Reached reached) {
  using Kernel = LaterAtomics<T>;
  const std::string bits = std::to_string(8 * sizeof(T));
  auto world = world_of("later-atomics-" + bits, options_for(options), reached);
  auto* words = world->template allocate<T>("words", Kernel::kWords);
  auto* old = world->template allocate<T>("old", Kernel::kWords);
  for (std::size_t i = 0; i < Kernel::kWords; ++i) world->set(1, words + i, Kernel::kOld);
  world->launch_on(0, {.blocks = 1, .threads = 1}, Kernel{world->witness(), words, old});
  world->check([=](After& after) {
    for (std::size_t i = 0; i < Kernel::kWords; ++i) {
      after.expect(after.value(1, words + i) == Kernel::kAfter[i],
                   "each atomic has been made once");
    }
  });
  return world;
}

WorldPointer fetched_bits(const SubjectOptions& options, Reached reached) {
  auto world = world_of("fetched-bits", options_for(options), reached);
  auto* data = world->allocate<Word>("data", FetchedBits::kWords);
  auto* flags = world->allocate<std::uint64_t>("flags", FetchedBits::kWords, RegionKind::signal);
  auto* mine = world->allocate<Word>("mine", 1);
  world->launch({.blocks = 1, .threads = 1}, FetchedBits{world->witness(), data, flags, mine});
  return world;
}

WorldPointer groups_add(const SubjectOptions& options, Reached reached) {
  auto world = world_of("groups-add", options_for(options), reached);
  auto* source = world->allocate<Word>("source", 2 * GroupsAdd::kWords);
  auto* data = world->allocate<Word>("data", 2 * GroupsAdd::kWords);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  const GroupsAdd kernel{world->witness(), source, data, signal};
  world->launch_on(0, {.blocks = 1, .threads = 3}, kernel);
  world->launch_on(1, {.blocks = 1, .threads = 1}, kernel);
  world->check([=](After& after) {
    after.expect_eq("the signal", after.value(1, signal), GroupsAdd::kSignals);
  });
  return world;
}

template <As kAs>
WorldPointer group_looks(const SubjectOptions& options) {
  constexpr std::uint32_t kThreads = 2;
  auto world =
      std::make_unique<World>(kAs == As::warp ? "warp-looks" : "block-looks", options_for(options));
  auto* words =
      world->allocate<std::uint64_t>("words", GroupLooks<kAs>::kWords, RegionKind::signal);
  auto* answers = world->allocate<std::uint64_t>("answers", kThreads);
  const GroupLooks<kAs> kernel{world->witness(), words, answers};
  world->launch_on(0, {.blocks = 1, .threads = 1}, kernel);
  world->launch_on(1, {.blocks = 1, .threads = kThreads}, kernel);
  return world;
}

WorldPointer two_senders(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.pes = 3;
  auto world = std::make_unique<World>("any-of-two-senders", world_options);
  auto* source = world->allocate<Word>("source", 1);
  auto* data = world->allocate<Word>("data", 2);
  auto* signals = world->allocate<std::uint64_t>("signals", 2, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, TwoSenders{world->witness(), source, data, signals});
  return world;
}

WorldPointer taken_back(const SubjectOptions& options) {
  auto world = std::make_unique<World>("word-taken-back", options_for(options));
  auto* words = world->allocate<std::uint64_t>("words", 5, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, TakenBack{world->witness(), words});
  return world;
}

WorldPointer counted(const SubjectOptions& options) {
  auto world = std::make_unique<World>("signal-counts", options_for(options));
  auto* source = world->allocate<Word>("source", Counted::kPuts);
  auto* data = world->allocate<Word>("data", Counted::kPuts);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, Counted{world->witness(), source, data, signal});
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"later-atomics-64", "Every atomic whose old value is there after quiet.",
     make<later_atomics<Word>, kNic>},
    {"later-atomics-32", "The same of words of 4 bytes.", make<later_atomics<std::uint32_t>, kNic>},
    {"direct-later-atomics-64", "The same at a direct peer.", make<later_atomics<Word>, kDirect>},
    {"fetched-bits", "A PE looks for data by atomics that change nothing.",
     make<fetched_bits, kNic>},
    {"direct-fetched-bits", "The same of a direct peer's flags.", make<fetched_bits, kDirect>},
    {"groups-add", "Groups put and add to a signal, each time once.", make<groups_add, kNic>},
    {"direct-groups-add", "The same at a direct peer.", make<groups_add, kDirect>},
    {"mixed-groups-add", "The same where signals go through the NIC.", make<groups_add, kMixed>},
    {"warp-looks", "A warp looks for words, and its lanes hear the same.",
     make<group_looks<As::warp>>},
    {"block-looks", "A block looks for words, and its threads hear the same.",
     make<group_looks<As::block>>},
    {"any-of-two-senders", "A PE waits for any of two signals, and reads the data of that one.",
     make<two_senders>},
    {"word-taken-back", "Words that are set and taken back while a PE waits for any of them.",
     make<taken_back>},
    {"signal-counts", "A PE reads as many words as a signal says that goes on counting.",
     make<counted>},
};

}  // namespace

constinit const Table kCountsTable = kListed;

}  // namespace gdakit::sim::scenarios
