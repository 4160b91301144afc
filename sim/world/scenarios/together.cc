// Members of a warp or block of which one is unlike the others, and that need not be the first one;
// and transfers in several pieces.
#include "sim/world/scenarios/group_of.h"
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

constexpr std::uint32_t kLanes = 3;

// Lanes put two words with a signal in one call. A border of chunks cuts the words of one lane: the
// middle one's, and the next time the first one's.
struct OneLaneAcross {
  static constexpr std::uint32_t kRounds = 2;

  const Witness* witness;
  Word* source;            // 2 for each lane
  Word* data;              // likewise, for each round
  std::uint64_t* signals;  // one for each lane
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t lane = m.lane();
    if (pe.my_pe() == 0) {
      Word* const from = source + 2 * lane;
      for (Word i = 0; i < 2; ++i) m.store_weak(from + i, 10 + 2 * lane + i);
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        witness->expect(pe.put_signal_nbi(data + 2 * (kLanes * round + lane), from, 2,
                                          signals + lane, 1, SignalOp::add, 1)
                            .ok(),
                        "put_signal_nbi is taken");
      }
      witness->expect(pe.quiet().ok(), "quiet succeeds");
    } else if (lane == 0) {
      for (std::uint32_t i = kLanes; i-- > 0;) {
        witness->expect(pe.wait_until(signals + i, Compare::eq, kRounds).ok(), "the signal comes");
        for (std::uint32_t round = 0; round < kRounds; ++round) {
          Word* const there = data + 2 * (kLanes * round + i);
          witness->expect(m.load_weak(there) == 10 + 2 * i && m.load_weak(there + 1) == 11 + 2 * i,
                          "both words of the lane are there with its signal");
        }
      }
    }
  }
};

// In one call of a warp all lanes but one leave the doorbell to a later call: that one's word
// comes, though nobody completes it before PE 1 has answered. Of the others' it is not said that
// they are in front of it.
struct OneLaneRings {
  const Witness* witness;
  Word* source;  // one for each lane
  Word* data;    // two for each lane
  std::uint64_t* seen;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t lane = m.lane();
    if (pe.my_pe() == 1) return answer(pe);
    m.store_weak(source + lane, Word{1});
    witness->expect(pe.put_nbi(data + lane, source + lane, 1, 1, batch_of(lane, 0)).ok(),
                    "put_nbi is taken");
    wait_for(pe, 1);
    witness->expect(pe.put_value(data + kLanes + lane, 1, 1, batch_of(lane, 1)).ok(),
                    "put_value is taken");
    wait_for(pe, 2);
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }

 private:
  static constexpr std::uint32_t kRings[] = {2, 1};  // the lane that rings, of each call

  static Batch batch_of(std::uint32_t lane, int call) {
    return lane == kRings[call] ? Batch::last : Batch::more;
  }
  template <class Pe>
  void wait_for(Pe& pe, Word number) const {
    witness->expect(pe.warp().wait_until(seen, Compare::eq, number).ok(),
                    "PE 1 says that it has the word");
  }
  template <class Pe>
  void answer(Pe& pe) const {
    for (Word i = 0; i < 2; ++i) {
      witness->expect(pe.wait_until(data + kLanes * i + kRings[i], Compare::eq, 1).ok(),
                      "the word of the lane that rings comes");
      witness->expect(pe.put_value(seen, i + 1, 0).ok(), "put_value is taken");
    }
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// Each thread of a group adds to a word of PE 1, the group calls quiet, and each puts a flag. Who
// sees any one of the flags finds what all have added.
template <class Group>
struct QuietThenTell {
  const Witness* witness;
  Word* sums;  // one for each thread
  std::uint64_t* flags;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      const std::uint32_t self = m.thread_index();
      witness->expect(pe.atomic_add(sums + self, 5 + Word{self}, 1).ok(), "atomic_add is taken");
      witness->expect(group_of<Group>(pe).quiet().ok(), "quiet succeeds");
      witness->expect(pe.put_value(flags + self, 1, 1).ok(), "put_value is taken");
      return;
    }
    witness->expect(pe.wait_until(flags + m.block_index(), Compare::eq, 1).ok(), "the flag comes");
    for (Word i = 0; i < m.grid_blocks(); ++i) {
      witness->expect(m.load(order::RelaxedSystem{}, sums + i) == 5 + i,
                      "what every thread has added is there when the flag is");
    }
  }
};

// Each thread of a group puts a word, the group calls fence, and each puts a flag. Who sees a flag
// finds the word of the same thread.
template <class Group>
struct FenceThenTell {
  const Witness* witness;
  Word* data;  // one for each thread
  std::uint64_t* flags;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      const std::uint32_t self = m.thread_index();
      witness->expect(pe.put_value(data + self, 7 + Word{self}, 1).ok(), "put_value is taken");
      witness->expect(group_of<Group>(pe).fence().ok(), "fence succeeds");
      witness->expect(pe.put_value(flags + self, 1, 1).ok(), "put_value is taken");
      return;
    }
    const std::uint32_t self = m.block_index();
    witness->expect(pe.wait_until(flags + self, Compare::eq, 1).ok(), "the flag comes");
    witness->expect(m.load_weak(data + self) == 7 + Word{self}, "the word is there when it is");
  }
};

// Each thread of a group puts a word and gets one, the group calls quiet, and each reads and writes
// again what its neighbour had under way. There are more threads than queues to look at.
template <class Group>
struct QuietThenReuse {
  const Witness* witness;
  Word* source;  // one for each thread
  Word* data;    // likewise
  Word* word;
  Word* back;  // one for each thread
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t self = m.thread_index();
    m.store_weak(source + self, 7 + Word{self});
    witness->expect(pe.put_nbi(data + self, source + self, 1, 1).ok(), "put_nbi is taken");
    witness->expect(pe.get_nbi(back + self, word, 1, 1).ok(), "get_nbi is taken");
    witness->expect(group_of<Group>(pe).quiet().ok(), "quiet succeeds");
    const std::uint32_t next = (self + 1) % m.block_threads();
    witness->expect(m.load_weak(back + next) == 30, "what another thread has got is there");
    m.store_weak(source + next, Word{9});
  }
};

// One thread gets three words, each of which is a piece: completed by quiet, by a wait and by a
// look, by a handle of a shared queue and by an owner.
struct GetsInPieces {
  static constexpr Word kWords = 3;

  const Witness* witness;
  Word* data;  // kWords
  Word* back;  // 3 * kWords
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    witness->expect(pe.get_nbi(back, data, kWords, 1).ok(), "get_nbi is taken");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
    expect_there(m, 0);
    const Ticket ticket = pe.get_async(back + kWords, data, kWords, 1);
    Status status;
    while (!pe.test(ticket, &status)) m.spin(Site::user);
    witness->expect(status.ok(), "the gets succeed");
    expect_there(m, kWords);
    auto own = pe.exclusively_on(1);
    witness->expect(own.get(back + 2 * kWords, data, kWords, 1).ok(), "the owner's get succeeds");
    expect_there(m, 2 * kWords);
  }

 private:
  template <class M>
  void expect_there(M& m, Word at) const {
    for (Word i = 0; i < kWords; ++i) {
      witness->expect(m.load_weak(back + at + i) == 30 + i, "every piece of a get is there");
    }
  }
};

WorldPointer one_lane_across(const SubjectOptions& options) {
  constexpr std::uint32_t kRounds = OneLaneAcross::kRounds;
  auto world = std::make_unique<World>("lane-across", options_for(options));
  auto* source = world->allocate<Word>("source", 2 * kLanes);
  auto* data = world->allocate<Word>("data", 2 * kLanes * kRounds);
  auto* signals = world->allocate<std::uint64_t>("signals", kLanes, RegionKind::signal);
  world->split_at(data + 2 + 1);
  world->split_at(data + 2 * kLanes + 1);
  world->launch({.blocks = 1, .threads = kLanes},
                OneLaneAcross{world->witness(), source, data, signals});
  return world;
}

WorldPointer one_lane_rings(const SubjectOptions& options) {
  auto world = std::make_unique<World>("lane-rings", options_for(options));
  auto* source = world->allocate<Word>("source", kLanes);
  auto* data = world->allocate<Word>("data", 2 * kLanes, RegionKind::signal);
  auto* seen = world->allocate<std::uint64_t>("seen", 1, RegionKind::signal);
  const OneLaneRings kernel{world->witness(), source, data, seen};
  world->launch_on(0, {.blocks = 1, .threads = kLanes}, kernel);
  world->launch_on(1, {.blocks = 1, .threads = 1}, kernel);
  world->check([=](After& after) {
    for (std::uint32_t i = 0; i < 2 * kLanes; ++i) {
      after.expect(after.value(1, data + i) == 1, "PE 1 has the words of all lanes");
    }
  });
  return world;
}

template <class Group>
WorldPointer quiet_then_tell(const char* name, const SubjectOptions& options, Reached reached) {
  constexpr std::uint32_t kThreads = 2;  // the queue to PE 1 is the second one's to look at
  auto world = world_of(name, options_for(options), reached);
  auto* sums = world->allocate<Word>("sums", kThreads);
  auto* flags = world->allocate<std::uint64_t>("flags", kThreads, RegionKind::signal);
  const QuietThenTell<Group> kernel{world->witness(), sums, flags};
  world->launch_on(0, {.blocks = 1, .threads = kThreads}, kernel);
  world->launch_on(1, {.blocks = kThreads, .threads = 1}, kernel);
  return world;
}

template <class Group>
WorldPointer fence_then_tell(const char* name, const SubjectOptions& options, Reached reached) {
  constexpr std::uint32_t kThreads = 2;
  auto world = world_of(name, options_for(options), reached);
  auto* data = world->allocate<Word>("data", kThreads);
  auto* flags = world->allocate<std::uint64_t>("flags", kThreads, RegionKind::signal);
  const FenceThenTell<Group> kernel{world->witness(), data, flags};
  world->launch_on(0, {.blocks = 1, .threads = kThreads}, kernel);
  world->launch_on(1, {.blocks = kThreads, .threads = 1}, kernel);
  return world;
}

WorldPointer warp_quiet(const SubjectOptions& options, Reached reached) {
  return quiet_then_tell<WarpGroup>("warp-quiet", options, reached);
}

WorldPointer block_quiet(const SubjectOptions& options, Reached reached) {
  return quiet_then_tell<BlockGroup>("block-quiet", options, reached);
}

WorldPointer warp_fence(const SubjectOptions& options, Reached reached) {
  return fence_then_tell<WarpGroup>("warp-fence", options, reached);
}

WorldPointer block_fence(const SubjectOptions& options, Reached reached) {
  return fence_then_tell<BlockGroup>("block-fence", options, reached);
}

template <class Group>
WorldPointer quiet_then_reuse(const char* name, const SubjectOptions& options) {
  auto world = std::make_unique<World>(name, options_for(options));
  auto* source = world->allocate<Word>("source", kLanes);
  auto* data = world->allocate<Word>("data", kLanes);
  auto* word = world->allocate<Word>("word", 1);
  auto* back = world->allocate<Word>("back", kLanes);
  world->set(1, word, 30);
  world->launch_on(0, {.blocks = 1, .threads = kLanes},
                   QuietThenReuse<Group>{world->witness(), source, data, word, back});
  world->check([=](After& after) {
    for (Word i = 0; i < kLanes; ++i) {
      after.expect(after.value(1, data + i) == 7 + i, "PE 1 has each word as it was put");
    }
  });
  return world;
}

WorldPointer warp_reuses(const SubjectOptions& options) {
  return quiet_then_reuse<WarpGroup>("warp-reuses", options);
}

WorldPointer block_reuses(const SubjectOptions& options) {
  return quiet_then_reuse<BlockGroup>("block-reuses", options);
}

WorldPointer gets_in_pieces(const SubjectOptions& options) {
  constexpr Word kWords = GetsInPieces::kWords;
  WorldOptions world_options = options_for(options);
  world_options.exclusive_queues = 1;
  world_options.max_message_bytes = sizeof(Word);
  auto world = std::make_unique<World>("gets-in-pieces", world_options);
  auto* data = world->allocate<Word>("data", kWords);
  auto* back = world->allocate<Word>("back", 3 * kWords);
  for (Word i = 0; i < kWords; ++i) world->set(1, data + i, 30 + i);
  world->launch_on(0, {.blocks = 1, .threads = 1}, GetsInPieces{world->witness(), data, back});
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"lane-across", "Lanes put with signals in one call, and a border cuts what one of them puts.",
     make<one_lane_across>},
    {"lane-rings", "One lane ends a batch in the call in which the others open it.",
     make<one_lane_rings>},
    {"direct-warp-quiet", "Lanes add, call quiet together, and each tells of all.",
     make<warp_quiet, kDirect>},
    {"direct-block-quiet", "Threads add, call quiet together, and each tells of all.",
     make<block_quiet, kDirect>},
    {"mixed-warp-quiet", "Lanes add through the NIC, call quiet together, and tell directly.",
     make<warp_quiet, kMixed>},
    {"mixed-block-quiet", "Threads add through the NIC, call quiet together, and tell directly.",
     make<block_quiet, kMixed>},
    {"direct-warp-fence", "Lanes put, call fence together, and each tells of its word.",
     make<warp_fence, kDirect>},
    {"direct-block-fence", "Threads put, call fence together, and each tells of its word.",
     make<block_fence, kDirect>},
    {"warp-reuses", "Lanes call quiet together and reuse what their neighbours had under way.",
     make<warp_reuses>},
    {"block-reuses", "Threads call quiet together and reuse what others had under way.",
     make<block_reuses>},
    {"gets-in-pieces", "A thread gets what takes several pieces, by two queues.",
     make<gets_in_pieces>},
};

}  // namespace

constinit const Table kTogetherTable = kListed;

}  // namespace gdakit::sim::scenarios
