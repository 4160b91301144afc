// PEs with two NICs, over which their queues are spread: puts and gets by either, words by the
// first, whose atomics are atomic with each other alone (device/word_queue.h).
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

constexpr std::uint32_t kSecondNic = 1;           // the shared queue of that NIC
constexpr std::uint32_t kAlsoSecondNic = 3;       // another one, where there are four
constexpr std::uint32_t kExclusiveSecondNic = 3;  // the exclusive one, behind two shared ones

// PE 0 puts a word with a signal, PE 1 waits for the signal and reads the word.
struct NicsPutSignal {
  const Witness* witness;
  Word* source;
  Word* data;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(source, 8);
      auto second = pe.on_queue(kSecondNic);
      witness->expect(second.put_signal(data, source, 1, signal, 1, SignalOp::set, 1).ok(),
                      "put_signal succeeds");
      return;
    }
    witness->expect(pe.wait_until(signal, Compare::eq, 1).ok(), "the signal comes");
    witness->expect(m.load_weak(data) == 8, "the data is there when the signal is");
  }
};

// The same by the owner of an exclusive queue, in two calls.
struct NicsExclusive {
  const Witness* witness;
  Word* source;
  Word* data;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(source, 8);
      auto own = pe.exclusively_on(kExclusiveSecondNic);
      witness->expect(own.put_nbi(data, source, 1, 1, Batch::more).ok(), "put_nbi is taken");
      witness->expect(own.signal(signal, 1, SignalOp::set, 1).ok(), "signal is taken");
      witness->expect(own.quiet().ok(), "quiet succeeds");
      return;
    }
    witness->expect(pe.wait_until(signal, Compare::eq, 1).ok(), "the signal comes");
    witness->expect(m.load_weak(data) == 8, "the data is there when the signal is");
  }
};

// The other way round: a put by the first NIC, quiet, and a put by the second that tells of it.
struct NicsQuiet {
  const Witness* witness;
  Word* source;
  Word* data;
  std::uint64_t* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(source, 8);
      pe.on_queue(0).put_nbi(data, source, 1, 1);
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      witness->expect(pe.on_queue(kSecondNic).put_value(flag, 1, 1).ok(), "put_value is taken");
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      return;
    }
    witness->expect(pe.wait_until(flag, Compare::eq, 1).ok(), "the flag comes");
    witness->expect(m.load_weak(data) == 8, "the data is there when the flag is");
  }
};

// A word that one NIC puts, and behind quiet the other one gets and puts again.
struct NicsAgain {
  const Witness* witness;
  Word* word;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto first = pe.on_queue(0);
    auto second = pe.on_queue(kSecondNic);
    witness->expect(first.put_value(word, 1, 1).ok(), "put_value is taken");
    witness->expect(first.quiet().ok(), "quiet succeeds");
    Status status;
    const Word seen = second.get_value(word, 1, &status);
    witness->expect(status.ok() && seen == 1, "the second NIC finds what the first one has put");
    witness->expect(second.put_value(word, 2, 1).ok(), "put_value is taken");
    witness->expect(second.quiet().ok(), "quiet succeeds");
  }
};

// Puts to two peers by one queue of DC, and words by the first NIC that tell of them.
struct NicsDc {
  const Witness* witness;
  Word* source;
  Word* data;
  std::uint64_t* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(source, 8);
      auto second = pe.on_queue(kSecondNic);
      for (int peer = 1; peer < 3; ++peer) second.put_nbi(data, source, 1, peer);
      witness->expect(second.quiet().ok(), "quiet succeeds");
      auto first = pe.on_queue(0);
      for (int peer = 1; peer < 3; ++peer) first.put_value(flag, 1, peer);
      witness->expect(first.quiet().ok(), "quiet succeeds");
      return;
    }
    witness->expect(pe.wait_until(flag, Compare::eq, 1).ok(), "the flag comes");
    witness->expect(m.load_weak(data) == 8, "the data is there when the flag is");
  }
};

// Two blocks, each on a queue of another NIC, add to one word of PE 1, fetching and not.
struct NicsAtomics {
  const Witness* witness;
  Word* counter;
  Word* seen;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    witness->expect(pe.atomic_inc(counter, 1).ok(), "atomic_inc is taken");
    Status status;
    m.store_weak(seen + m.block_index(), pe.atomic_fetch_add(counter, 1, 1, &status));
    witness->expect(status.ok(), "atomic_fetch_add succeeds");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// A put, a fence, and an atomic that tells of the put.
struct NicsFence {
  const Witness* witness;
  Word* source;
  Word* data;
  std::uint64_t* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(source, 8);
      auto second = pe.on_queue(kSecondNic);
      second.put_nbi(data, source, 1, 1);
      witness->expect(second.fence().ok(), "fence succeeds");
      witness->expect(second.atomic_inc(flag, 1).ok(), "atomic_inc is taken");
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      return;
    }
    witness->expect(pe.wait_until(flag, Compare::eq, 1).ok(), "the flag comes");
    witness->expect(m.load_weak(data) == 8, "the data is there when the flag is");
  }
};

// A batch that an atomic ends; nobody completes it, and PE 1 waits for what was put.
struct NicsBatch {
  const Witness* witness;
  std::uint64_t* flag;
  std::uint64_t* counter;
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 0) {
      auto second = pe.on_queue(kSecondNic);
      witness->expect(second.put_value(flag, 1, 1, Batch::more).ok(), "put_value is taken");
      witness->expect(second.atomic_inc(counter, 1, Batch::last).ok(), "atomic_inc is taken");
      return;
    }
    witness->expect(pe.wait_until(flag, Compare::eq, 1).ok(), "the flag comes");
    witness->expect(pe.wait_until(counter, Compare::eq, 1).ok(), "the count comes");
  }
};

// Words that each NIC brings here.
struct NicsGet {
  const Witness* witness;
  Word* data;
  Word* result;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (std::uint32_t queue = 0; queue < 2; ++queue) {
      auto on = pe.on_queue(queue);
      witness->expect(on.get_nbi(result + queue, data + queue, 1, 1).ok(), "get_nbi is taken");
    }
    witness->expect(pe.quiet().ok(), "quiet succeeds");
    witness->expect(m.load_weak(result) == 30 && m.load_weak(result + 1) == 31,
                    "both results are there after quiet");
  }
};

// Two blocks put by the second NIC and wait for that; either may flush both puts. Of the second
// block another thread tells of its put by the first NIC. The first block posts nothing more, by
// which the first NIC would know of its flush.
struct NicsShared {
  const Witness* witness;
  Word* source;
  Word* data;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t self = m.block_index();
    if (pe.my_pe() == 0) {
      if (m.thread_index() == 0) {
        m.store_weak(source + self, 8);
        auto second = pe.on_queue(kAlsoSecondNic);
        const Ticket put = second.put_async(data + self, source + self, 1, 1);
        witness->expect(second.wait(put).ok(), "the put completes");
      }
      m.sync_block();
      if (self == 0 || m.thread_index() == 0) return;
      auto first = pe.on_queue(0);
      witness->expect(first.put_value(signal, 1, 1).ok(), "put_value is taken");
      witness->expect(first.quiet().ok(), "quiet succeeds");
      return;
    }
    witness->expect(pe.wait_until(signal, Compare::eq, 1).ok(), "the word comes");
    witness->expect(m.load_weak(data + 1) == 8, "the data is there when the word is");
  }
};

// The owner of an exclusive queue waits for a put, and another block for everything: either may
// flush it, by a queue of the NIC that is not the owner's. A thread beside the owner, which has
// posted nothing else, tells of the put by the first NIC.
struct NicsForeign {
  const Witness* witness;
  Word* source;
  Word* data;
  std::uint64_t* signal;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 1) {
      witness->expect(pe.wait_until(signal, Compare::eq, 1).ok(), "the word comes");
      witness->expect(m.load_weak(data) == 8, "the data is there when the word is");
      return;
    }
    const bool first = m.thread_index() == 0;
    if (m.block_index() == 1) {
      if (first) witness->expect(pe.quiet().ok(), "quiet succeeds");
      return;
    }
    if (first) {
      m.store_weak(source, 8);
      auto own = pe.exclusively_on(kExclusiveSecondNic);
      witness->expect(own.wait(own.put_async(data, source, 1, 1)).ok(), "the put completes");
    }
    m.sync_block();
    if (!first) witness->expect(pe.on_queue(0).put_value(signal, 1, 1).ok(), "put_value is taken");
  }
};

// What is put by each NIC before a barrier is there after it.
struct NicsBarrier {
  const Witness* witness;
  Word* source;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const int peer = 1 - pe.my_pe();
    for (std::uint32_t queue = 0; queue < 2; ++queue) {
      m.store_weak(source + queue, Word{queue} + 8);
      pe.on_queue(queue).put_nbi(data + queue, source + queue, 1, peer);
    }
    witness->expect(pe.barrier_all().ok(), "barrier_all succeeds");
    witness->expect(m.load_weak(data) == 8 && m.load_weak(data + 1) == 9,
                    "what the peer has put before the barrier is there");
  }
};

// Data that PE 0 brings and a word that tells of it.
struct ToldWords {
  Word* source;
  Word* data;
  std::uint64_t* signal;

  ToldWords(World& world, std::size_t count)
      : source(world.allocate<Word>("source", count)),
        data(world.allocate<Word>("data", count)),
        signal(world.allocate<std::uint64_t>("signal", 1, RegionKind::signal)) {}
};

// A thread of each PE.
template <class Kernel>
WorldPointer told_world(const char* name, const WorldOptions& options) {
  auto world = world_of(name, options);
  const ToldWords words(*world, 1);
  world->launch({.blocks = 1, .threads = 1},
                Kernel{world->witness(), words.source, words.data, words.signal});
  return world;
}

// Two blocks of PE 0, which have a word each, and a thread of PE 1.
template <class MakeKernel>
WorldPointer shared_world(const char* name, const WorldOptions& options, const MakeKernel& make) {
  auto world = std::make_unique<World>(name, options);
  const auto kernel = make(*world, ToldWords(*world, 2));
  world->launch_on(0, {.blocks = 2, .threads = 2}, kernel);
  world->launch_on(1, {.blocks = 1, .threads = 1}, kernel);
  return world;
}

WorldPointer nics_put_signal(const SubjectOptions& options) {
  return told_world<NicsPutSignal>("nics-put-signal", two_nics(options));
}

WorldPointer nics_exclusive(const SubjectOptions& options) {
  WorldOptions world = two_nics(options);
  world.exclusive_queues = 2;
  return told_world<NicsExclusive>("nics-exclusive", world);
}

WorldPointer nics_fence(const SubjectOptions& options) {
  return told_world<NicsFence>("nics-fence", two_nics(options));
}

WorldPointer nics_quiet(const SubjectOptions& options) {
  return told_world<NicsQuiet>("nics-quiet", two_nics(options));
}

WorldPointer nics_dc(const SubjectOptions& options) {
  WorldOptions world = two_nics(options);
  world.pes = 3;
  world.dc_queues = 1;
  return told_world<NicsDc>("nics-dc", world);
}

WorldPointer nics_again(const SubjectOptions& options) {
  auto world = std::make_unique<World>("nics-again", two_nics(options));
  auto* word = world->allocate<Word>("word", 1);
  world->launch_on(0, {.blocks = 1, .threads = 1}, NicsAgain{world->witness(), word});
  world->check(
      [=](After& after) { after.expect(after.value(1, word) == 2, "what was put last is there"); });
  return world;
}

WorldPointer nics_atomics(const SubjectOptions& options) {
  auto world = std::make_unique<World>("nics-atomics", two_nics(options));
  auto* counter = world->allocate<Word>("counter", 1);
  auto* seen = world->allocate<Word>("seen", 2);
  world->launch_on(0, {.blocks = 2, .threads = 1}, NicsAtomics{world->witness(), counter, seen});
  world->check([=](After& after) {
    after.expect(after.value(1, counter) == 4, "every addition counts");
    after.expect(after.value(0, seen) != after.value(0, seen + 1),
                 "no two fetches return one value");
  });
  return world;
}

WorldPointer nics_batch(const SubjectOptions& options) {
  auto world = std::make_unique<World>("nics-batch", two_nics(options));
  auto* flag = world->allocate<std::uint64_t>("flag", 1, RegionKind::signal);
  auto* counter = world->allocate<std::uint64_t>("counter", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, NicsBatch{world->witness(), flag, counter});
  return world;
}

WorldPointer nics_get(const SubjectOptions& options) {
  auto world = std::make_unique<World>("nics-get", two_nics(options));
  auto* data = world->allocate<Word>("data", 2);
  auto* result = world->allocate<Word>("result", 2);
  world->set(1, data, Word{30});
  world->set(1, data + 1, Word{31});
  world->launch_on(0, {.blocks = 1, .threads = 1}, NicsGet{world->witness(), data, result});
  return world;
}

WorldPointer nics_shared(const SubjectOptions& options) {
  WorldOptions world = two_nics(options);
  world.queues = 4;
  return shared_world("nics-shared", world, [](World& in, const ToldWords& words) {
    return NicsShared{in.witness(), words.source, words.data, words.signal};
  });
}

WorldPointer nics_foreign(const SubjectOptions& options) {
  WorldOptions world = two_nics(options);
  world.exclusive_queues = 2;
  return shared_world("nics-foreign", world, [](World& in, const ToldWords& words) {
    return NicsForeign{in.witness(), words.source, words.data, words.signal};
  });
}

WorldPointer nics_barrier(const SubjectOptions& options) {
  auto world = world_of("nics-barrier", two_nics(options));
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", 2);
  world->launch({.blocks = 1, .threads = 1}, NicsBarrier{world->witness(), source, data});
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"nics-put-signal", "Data by the second NIC with a signal by the first.",
     make<nics_put_signal>},
    {"nics-exclusive", "The same by the owner of an exclusive queue.", make<nics_exclusive>},
    {"nics-atomics", "Blocks on queues of two NICs add to one word.", make<nics_atomics>},
    {"nics-fence", "A put by the second NIC, a fence, and an atomic that tells of it.",
     make<nics_fence>},
    {"nics-quiet", "A put by the first NIC, quiet, and a put by the second that tells of it.",
     make<nics_quiet>},
    {"nics-again", "A word that the first NIC puts, and the second gets and puts again.",
     make<nics_again>},
    {"nics-dc", "Puts to two peers by a queue of DC of the second NIC, told of by the first.",
     make<nics_dc>},
    {"nics-batch", "A batch of the second NIC that an atomic ends.", make<nics_batch>},
    {"nics-get", "Gets by two NICs, complete after quiet.", make<nics_get>},
    {"nics-shared", "Two blocks put by the second NIC, one tells by the first.", make<nics_shared>},
    {"nics-foreign", "An owner waits for a put by the second NIC while a block calls quiet.",
     make<nics_foreign>},
    {"nics-barrier", "What is put by two NICs before a barrier is there after it.",
     make<nics_barrier>},
    {"placed-nics-put-signal", "Data by the second NIC in any order, a signal by the first.",
     make_placed<nics_put_signal>},
    {"placed-nics-fence", "A fence behind a put by the second NIC that keeps no order.",
     make_placed<nics_fence>},
    {"placed-nics-quiet", "Quiet between two NICs' puts, which keep no order.",
     make_placed<nics_quiet>},
    {"placed-nics-dc", "Puts by a queue of DC of the second NIC, placed in any order.",
     make_placed<nics_dc>},
    {"placed-nics-barrier", "A barrier behind two NICs' puts that keep no order.",
     make_placed<nics_barrier>},
};

}  // namespace

constinit const Table kSeveralNicsTable = kListed;

}  // namespace gdakit::sim::scenarios
