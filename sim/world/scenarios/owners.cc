// Owners of exclusive queues, and who completes, takes over or goes beside what they post; and
// queues of which more was posted than 32 bits count.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

constexpr std::uint32_t kFirst = 1;  // exclusive queues, behind a shared one
constexpr std::uint32_t kSecond = 2;

// The owner of an exclusive queue has an operation under way and a batch open. Block 1 completes
// what was announced, and leaves the batch to the owner.
struct OthersQuiet {
  static constexpr Word kRounds = 2;

  const Witness* witness;
  Word* data;  // 3 * kRounds
  Word* word;  // of PE 1
  Word* back;  // kRounds
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.machine().block_index() == 1) {
      for (Word i = 0; i < kRounds; ++i) witness->expect(pe.quiet().ok(), "quiet succeeds");
      return;
    }
    auto own = pe.exclusively_on(kFirst);
    for (Word i = 0; i < kRounds; ++i) {
      Word* const to = data + 3 * i;
      witness->expect(own.get_nbi(back + i, word, 1, 1).ok(), "the get is taken");
      witness->expect(own.put_value(to, 3 * i + 1, 1, Batch::more).ok(), "a batch is opened");
      witness->expect(own.put_value(to + 1, 3 * i + 2, 1, Batch::more).ok(), "it goes on");
      witness->expect(own.put_value(to + 2, 3 * i + 3, 1).ok(), "its last put is taken");
    }
    witness->expect(own.quiet().ok(), "the owner's quiet succeeds");
    for (Word i = 0; i < kRounds; ++i) {
      witness->expect(pe.machine().load_weak(back + i) == 30, "what was got is there");
    }
  }
};

// One thread with a handle of a shared queue and two of exclusive ones: each completes what the
// others have announced, to whichever PE. What is complete may be read, or written again.
struct CompletesOthers {
  const Witness* witness;
  Word* source;  // 5
  Word* data;    // 6: the last one of PE 1
  Word* back;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto first = pe.exclusively_on(kFirst);
    auto second = pe.exclusively_on(kSecond);
    for (Word i = 0; i < 5; ++i) m.store_weak(source + i, 7 + i);
    witness->expect(pe.put_nbi(data, source, 1, 1).ok(), "the shared queue takes a put");
    witness->expect(pe.get_nbi(back, data + 5, 1, 1).ok(), "and a get");
    complete(pe, first, 0);
    witness->expect(m.load_weak(back) == 30, "what was got is there");
    witness->expect(second.put_nbi(data + 1, source + 1, 1, 1).ok(), "the second queue takes one");
    complete(pe, first, 1);
    witness->expect(first.put_nbi(data + 2, source + 2, 1, 1).ok(), "the first queue takes one");
    complete(pe, pe, 2);
    const Ticket ticket = pe.put_async(data + 3, source + 3, 1, 1);
    witness->expect(second.wait(ticket).ok(), "the wait for the shared queue's put succeeds");
    m.store_weak(source + 3, Word{9});
    const Ticket looked_at = pe.put_async(data + 4, source + 4, 1, 1);
    Status status;
    while (!first.test(looked_at, &status)) m.spin(Site::user);
    witness->expect(status.ok(), "the test of the shared queue's put succeeds");
    m.store_weak(source + 4, Word{9});
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }

 private:
  template <class Pe, class Handle>
  void complete(Pe& pe, Handle& handle, int at) const {
    witness->expect(handle.quiet().ok(), "another handle's quiet succeeds");
    pe.machine().store_weak(source + at, Word{9});
  }
};

// Two blocks own an exclusive queue by turns. Whose turn it is they know by PE 1 alone, which
// answers what the other one has put: so that one has been posted, and the next one goes behind it.
struct HandedByPeer {
  static constexpr Word kTurns = 3;

  const Witness* witness;
  Word* source;  // kTurns
  Word* data;    // likewise
  std::uint64_t* signal;
  std::uint64_t* answer;
  template <class Pe>
  void operator()(Pe& pe) const {
    const Word block = pe.machine().block_index();
    if (pe.my_pe() == 1) {
      for (Word turn = 1; turn <= kTurns && block == 0; ++turn) reply(pe, turn);
      return;
    }
    for (Word turn = 1; turn <= kTurns; ++turn) {
      if (turn % 2 != block) take(pe, turn);
    }
  }

 private:
  template <class Pe>
  void reply(Pe& pe, Word turn) const {
    witness->expect(pe.wait_until(signal, Compare::eq, turn).ok(), "the signal comes");
    witness->expect(pe.machine().load_weak(data + turn - 1) == 10 + turn,
                    "what was put with it is there");
    witness->expect(pe.put_value(answer, turn, 0).ok(), "put_value is taken");
  }
  template <class Pe>
  void take(Pe& pe, Word turn) const {
    pe.machine().store_weak(source + turn - 1, 10 + turn);
    witness->expect(pe.wait_until(answer, Compare::eq, turn - 1).ok(), "it is this block's turn");
    auto own = pe.exclusively_on(kFirst);
    witness->expect(
        own.put_signal_nbi(data + turn - 1, source + turn - 1, 1, signal, turn, SignalOp::set, 1)
            .ok(),
        "put_signal_nbi is taken");
    if (turn == kTurns) witness->expect(own.quiet().ok(), "quiet succeeds");
  }
};

// Two blocks post by one queue, or each by its own, while the number of what was posted there takes
// one bit more than 32. They complete it by quiet, by a wait, and as it is fetched.
struct FarOn {
  static constexpr Word kPuts = 4;

  const Witness* witness;
  Word* source;  // 2
  Word* data;    // 2 * kPuts
  Word* back;    // 2
  bool is_exclusive;
  template <class Pe>
  void operator()(Pe& pe) const {
    const std::uint32_t block = pe.machine().block_index();
    if (is_exclusive) {
      act(pe.exclusively_on(kFirst + block), block);
    } else {
      act(pe, block);
    }
  }

 private:
  template <class Handle>
  void act(Handle&& handle, Word block) const {
    auto& m = handle.machine();
    Word* const to = data + kPuts * block;
    m.store_weak(source + block, Word{1});
    const Ticket ticket = handle.put_async(to, source + block, 1, 1);
    witness->expect(handle.put_value(to + 1, 2, 1, Batch::more).ok(), "put_value is taken");
    witness->expect(handle.put_value(to + 2, 3, 1).ok(), "put_value is taken");
    witness->expect(handle.wait(ticket).ok(), "the wait succeeds");
    m.store_weak(source + block, Word{9});
    witness->expect(handle.get_nbi(back + block, to, 1, 1).ok(), "get_nbi is taken");
    witness->expect(handle.quiet().ok(), "quiet succeeds");
    witness->expect(m.load_weak(back + block) == 1, "what was got is there");
    witness->expect(handle.put_value(to + 3, 4, 1, Batch::more).ok(), "put_value is taken");
    witness->expect(handle.get_value(to + 3, 1) == 4, "get_value returns what was put");
  }
};

WorldOptions owned(WorldOptions world, std::uint32_t queues) {
  world.exclusive_queues = queues;
  return world;
}

WorldPointer others_quiet(const SubjectOptions& options) {
  auto world = std::make_unique<World>("owner-beside-quiet", owned(options_for(options), 1));
  constexpr Word kWords = 3 * OthersQuiet::kRounds;
  auto* data = world->allocate<Word>("data", kWords);
  auto* word = world->allocate<Word>("word", 1);
  auto* back = world->allocate<Word>("back", OthersQuiet::kRounds);
  world->set(1, word, 30);
  world->launch_on(0, {.blocks = 2, .threads = 1}, OthersQuiet{world->witness(), data, word, back});
  world->check([=](After& after) {
    for (Word i = 0; i < kWords; ++i) {
      after.expect(after.value(1, data + i) == i + 1, "PE 1 has every word of the batches");
    }
  });
  return world;
}

WorldPointer completes_others(const SubjectOptions& options) {
  auto world = std::make_unique<World>("owner-completes-others", owned(options_for(options), 2));
  auto* source = world->allocate<Word>("source", 5);
  auto* data = world->allocate<Word>("data", 6);
  auto* back = world->allocate<Word>("back", 1);
  world->set(1, data + 5, 30);
  world->launch_on(0, {.blocks = 1, .threads = 1},
                   CompletesOthers{world->witness(), source, data, back});
  world->check([=](After& after) {
    for (Word i = 0; i < 5; ++i) {
      after.expect(after.value(1, data + i) == 7 + i, "PE 1 has every word as it was put");
    }
  });
  return world;
}

WorldPointer handed_over(const char* name, const WorldOptions& options) {
  auto world = std::make_unique<World>(name, owned(options, 1));
  auto* source = world->allocate<Word>("source", HandedByPeer::kTurns);
  auto* data = world->allocate<Word>("data", HandedByPeer::kTurns);
  auto* signal = world->allocate<std::uint64_t>("signal", 1, RegionKind::signal);
  auto* answer = world->allocate<std::uint64_t>("answer", 1, RegionKind::signal);
  world->launch({.blocks = 2, .threads = 1},
                HandedByPeer{world->witness(), source, data, signal, answer});
  world->check([=](After& after) {
    for (Word i = 0; i < HandedByPeer::kTurns; ++i) {
      after.expect(after.value(1, data + i) == 11 + i, "PE 1 has the word of each turn");
    }
  });
  return world;
}

WorldPointer handed_by_peer(const SubjectOptions& options) {
  return handed_over("owners-by-turns", options_for(options));
}

WorldPointer recordless_turns(const SubjectOptions& options) {
  return handed_over("recordless-turns", recordless_options_for(options));
}

WorldPointer far_on(const char* name, const SubjectOptions& options, Handler handler,
                    bool is_exclusive) {
  constexpr std::uint64_t kBorder = std::uint64_t{1} << 32;
  WorldOptions world_options = owned(options_for(options), is_exclusive ? 2 : 0);
  world_options.start_index = kBorder - 2;
  world_options.handler = handler;
  auto world = std::make_unique<World>(name, world_options);
  constexpr Word kWords = 2 * FarOn::kPuts;
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", kWords);
  auto* back = world->allocate<Word>("back", 2);
  world->launch_on(0, {.blocks = 2, .threads = 1},
                   FarOn{world->witness(), source, data, back, is_exclusive});
  world->check([=](After& after) {
    for (Word i = 0; i < kWords; ++i) {
      after.expect(after.value(1, data + i) == i % FarOn::kPuts + 1, "PE 1 has every word");
    }
    const QueueState state = after.queue_state(0, is_exclusive ? kSecond : 0, 1);
    after.expect(state.completed > kBorder && state.posted == state.reserved,
                 "the queue knows how far it has come");
  });
  return world;
}

WorldPointer far_queue(const SubjectOptions& options) {
  return far_on("far-queue", options, Handler::gpu, false);
}

WorldPointer far_exclusive(const SubjectOptions& options) {
  return far_on("far-exclusive", options, Handler::gpu, true);
}

WorldPointer far_proxy(const SubjectOptions& options) {
  return far_on("far-proxy", options, Handler::proxy, false);
}

WorldPointer far_commands(const SubjectOptions& options) {
  return far_on("far-commands", options, Handler::commands, false);
}

constexpr ScenarioEntry kListed[] = {
    {"owner-beside-quiet", "A block calls quiet while another one owns a queue with an open batch.",
     make<others_quiet>},
    {"owner-completes-others", "One thread completes by a handle what it posted by others.",
     make<completes_others>},
    {"owners-by-turns", "Blocks own a queue by turns, of which the peer's answers tell.",
     make<handed_by_peer>},
    {"recordless-turns", "The same of a queue without a doorbell record.", make<recordless_turns>},
    {"far-queue", "Two blocks post beyond the 2^32nd slot of a queue.", make<far_queue>},
    {"far-exclusive", "The same by an exclusive queue of each block.", make<far_exclusive>},
    {"far-proxy", "The same by one queue where a host thread rings.", make<far_proxy>},
    {"far-commands", "The same by commands.", make<far_commands>},
};

}  // namespace

constinit const Table kOwnersTable = kListed;

}  // namespace gdakit::sim::scenarios
