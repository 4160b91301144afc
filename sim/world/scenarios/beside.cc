// One thread in the middle of something, and another one beside it: batches on one queue, READs
// that flush, fetch slots; and a barrier of four.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

constexpr std::uint32_t kSecondNic = 1;  // the shared queue of that NIC

// Block 0 leaves a batch open and ends it, while block 1 opens one on the same queue that it ends
// only later.
template <bool kWaits>
struct BatchBesideBatch {
  const Witness* witness;
  Word* source;
  Word* data;  // 2
  Word* flag;
  std::uint64_t* answer;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 1) {
      if (m.block_index() == 0 && !kWaits) reply(pe);
    } else if (m.block_index() == 1) {
      witness->expect(pe.put_value(data + 1, 8, 1, Batch::more).ok(), "put_value is taken");
      while (m.load(order::RelaxedGpu{}, flag) == 0) m.spin(Site::user);
      witness->expect(pe.quiet().ok(), "quiet succeeds");
    } else {
      m.store_weak(source, 7);
      const Ticket put = pe.put_async(data, source, 1, 1, Batch::more);
      end(pe, put);
      m.store(order::RelaxedGpu{}, flag, 1);
      witness->expect(pe.quiet().ok(), "quiet succeeds");
    }
  }

 private:
  // By a wait for the ticket; or by a call that moves nothing, behind which PE 1 is waited for.
  template <class Pe>
  void end(Pe& pe, const Ticket& put) const {
    if (kWaits) {
      witness->expect(pe.wait(put).ok(), "the wait succeeds");
    } else {
      witness->expect(pe.put_nbi(data, data, 0, 1).ok(), "an empty put is taken");
      witness->expect(pe.wait_until(answer, Compare::eq, 1).ok(), "PE 1 answers");
    }
  }
  template <class Pe>
  void reply(Pe& pe) const {
    witness->expect(pe.wait_until(data, Compare::eq, 7).ok(), "the word comes");
    witness->expect(pe.put_value(answer, 1, 0).ok(), "put_value is taken");
  }
};

// An atomic by a handle of the second NIC, whose batch a put ends. PE 1 answers the atomic.
struct WordInBatch {
  const Witness* witness;
  Word* data;
  Word* sum;
  std::uint64_t* answer;
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() == 1) {
      witness->expect(pe.wait_until(sum, Compare::eq, 1).ok(), "the sum comes");
      witness->expect(pe.put_value(answer, 1, 0).ok(), "put_value is taken");
      return;
    }
    auto second = pe.on_queue(kSecondNic);
    witness->expect(second.atomic_add(sum, Word{1}, 1, Batch::more).ok(), "atomic_add is taken");
    witness->expect(second.put_value(data, 7, 1).ok(), "put_value is taken");
    witness->expect(pe.wait_until(answer, Compare::eq, 1).ok(), "PE 1 answers");
  }
};

// Two blocks put to both peers by one queue of DC of the second NIC, and tell of it by the first.
struct DcShared {
  const Witness* witness;
  Word* source;          // 2
  Word* data;            // 2
  std::uint64_t* flags;  // 2
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t self = m.block_index();
    if (pe.my_pe() == 0) {
      m.store_weak(source + self, 8);
      auto second = pe.on_queue(kSecondNic);
      auto first = pe.on_queue(0);
      for (int peer = 1; peer < 3; ++peer) {
        witness->expect(second.put(data + self, source + self, 1, peer).ok(), "put succeeds");
        witness->expect(first.put_value(flags + self, 1, peer).ok(), "put_value is taken");
      }
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      return;
    }
    witness->expect(pe.wait_until(flags + self, Compare::eq, 1).ok(), "the flag comes");
    witness->expect(m.load_weak(data + self) == 8, "the data is there when the flag is");
  }
};

// Each of four direct peers puts to the next one. Behind the barrier each finds what all have put,
// also of those whose messages came by way of others.
struct BarrierOfFour {
  const Witness* witness;
  Word* words;
  template <class Pe>
  void operator()(Pe& pe) const {
    const int n = pe.n_pes();
    const int next = (pe.my_pe() + 1) % n;
    witness->expect(pe.put_value(words, 10 + Word(pe.my_pe()), next).ok(), "put_value is taken");
    witness->expect(pe.barrier_all().ok(), "barrier_all succeeds");
    for (int i = 0; i < n; ++i) {
      witness->expect(pe.get_value(words, (i + 1) % n) == 10 + Word(i), "what PE i put is there");
    }
  }
};

// Lanes of full warps fetch in one call, on a queue with as many fetch slots as one of them needs.
struct WarpsFetch {
  const Witness* witness;
  Word* counter;
  template <class Pe>
  void operator()(Pe& pe) const {
    for (int i = 0; i < 2; ++i) {
      Status status;
      const Word old = pe.atomic_fetch_add(counter, 1, 1, &status);
      witness->expect(status.ok() && old < 4 * kWarpSize, "each addition returns a number");
    }
  }
};

template <bool kWaits>
WorldPointer batch_beside_batch(const char* name, const SubjectOptions& options) {
  auto world = std::make_unique<World>(name, options_for(options));
  auto* source = world->allocate<Word>("source", 1);
  auto* data = world->allocate<Word>("data", 2, RegionKind::signal);
  auto* flag = world->allocate<Word>("flag", 1);
  auto* answer = world->allocate<std::uint64_t>("answer", 1, RegionKind::signal);
  world->launch({.blocks = 2, .threads = 1},
                BatchBesideBatch<kWaits>{world->witness(), source, data, flag, answer});
  world->check([=](After& after) {
    after.expect(after.value(1, data) == 7 && after.value(1, data + 1) == 8,
                 "PE 1 has the words of both blocks");
  });
  return world;
}

WorldPointer batch_beside_wait(const SubjectOptions& options) {
  return batch_beside_batch<true>("batch-beside-wait", options);
}

WorldPointer batch_beside_end(const SubjectOptions& options) {
  return batch_beside_batch<false>("batch-beside-end", options);
}

WorldPointer word_in_batch(const SubjectOptions& options) {
  auto world = std::make_unique<World>("nics-word-in-batch", two_nics(options));
  auto* data = world->allocate<Word>("data", 1);
  auto* sum = world->allocate<Word>("sum", 1, RegionKind::signal);
  auto* answer = world->allocate<std::uint64_t>("answer", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, WordInBatch{world->witness(), data, sum, answer});
  return world;
}

WorldPointer dc_shared(const SubjectOptions& options) {
  WorldOptions world_options = two_nics(options);
  world_options.pes = 3;
  world_options.dc_queues = 1;
  auto world = std::make_unique<World>("nics-dc-shared", world_options);
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", 2);
  auto* flags = world->allocate<std::uint64_t>("flags", 2, RegionKind::signal);
  world->launch({.blocks = 2, .threads = 1}, DcShared{world->witness(), source, data, flags});
  return world;
}

WorldPointer barrier_of_four(const SubjectOptions& options) {
  auto world = world_of("barrier-of-four",
                        options_for(options, 4, CollectiveAlgorithm::logarithmic), kDirect);
  auto* words = world->allocate<Word>("words", 1, RegionKind::signal);
  world->launch({.blocks = 1, .threads = 1}, BarrierOfFour{world->witness(), words});
  return world;
}

WorldPointer warps_fetch(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.depth = 128;
  world_options.fetch_slots = kWarpSize;
  auto world = std::make_unique<World>("warps-fetch", world_options);
  auto* counter = world->allocate<Word>("counter", 1);
  world->launch_on(0, {.blocks = 2, .threads = kWarpSize}, WarpsFetch{world->witness(), counter});
  world->check([=](After& after) {
    after.expect(after.value(1, counter) == 4 * kWarpSize, "every addition counts");
  });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"batch-beside-wait", "A block waits for its open batch beside another one's.",
     make<batch_beside_wait>},
    {"batch-beside-end", "A block ends its batch by an empty put beside another one's.",
     make<batch_beside_end>},
    {"nics-word-in-batch", "An atomic in a batch of the second NIC, which a put ends.",
     make<word_in_batch>},
    {"nics-dc-shared", "Two blocks put to two peers by a queue of DC of the second NIC.",
     make<dc_shared>},
    {"direct-barrier-of-four", "Four direct peers put before a barrier, and look behind it.",
     make<barrier_of_four>},
    {"warps-fetch", "Full warps take turns at fetch slots.", make<warps_fetch>},
};

}  // namespace

constinit const Table kBesideTable = kListed;

}  // namespace gdakit::sim::scenarios
