// Queues that are full, slots that are used again, and threads that wait for one another's posts.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// Puts of several pieces, until the queue has no room for more.
struct Pieces {
  const Witness* witness;
  Word* source;
  Word* data;
  std::uint32_t words;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t first = m.block_index() * words;
    for (std::uint32_t i = first; i < first + words; ++i) m.store_weak(source + i, Word{i} + 1);
    witness->expect(pe.put_nbi(data + first, source + first, words, 1).ok(), "put_nbi is taken");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// Batches that fill a quarter and more, so that the slots come round again quickly.
struct Rounds {
  const Witness* witness;
  Word* data;
  int rounds;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (int i = 0; i < rounds; ++i) {
      const Batch batch = i % 4 == 3 ? Batch::last : Batch::more;
      pe.put_value(data + m.block_index(), Word(i + 1), 1, batch);
    }
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// Lanes that post together, so that one of them waits for room for all.
struct Laps {
  const Witness* witness;
  Word* data;
  int rounds;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (int i = 0; i < rounds; ++i) {
      witness->expect(pe.put_value(data + m.lane(), Word(i + 1), 1).ok(), "put_value is taken");
    }
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// Every thread posts once, all lanes of a warp together, and one of them completes it.
struct InLine {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t self = m.block_index() * m.block_threads() + m.thread_index();
    witness->expect(pe.atomic_set(data + self, Word{self} + 1, 1).ok(), "atomic_set is taken");
    if (m.thread_index() == 0) witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// One thread posts, all wait for its ticket and may then change its source.
struct SharedWait {
  const Witness* witness;
  Word* source;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    Ticket ticket{};
    if (m.thread_index() == 0) {
      m.store_weak(source, 5);
      ticket = pe.put_async(data, source, 1, 1);
    }
    const LaneMask all = m.warp_mask();
    ticket.queue = m.shuffle(all, ticket.queue, 0);
    ticket.peer = m.shuffle(all, ticket.peer, 0);
    ticket.index = m.shuffle(all, ticket.index, 0);
    witness->expect(pe.wait(ticket).ok(), "the wait succeeds");
    if (m.thread_index() == m.block_threads() - 1) m.store_weak(source, 6);
  }
};

// Some post while others complete what has been posted.
struct ConcurrentQuiet {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 0) {
      pe.put_value(data, 1, 1, Batch::more);
      pe.put_value(data + 1, 2, 1);
    }
    witness->expect(pe.quiet().ok(), "quiet succeeds");
    if (m.block_index() == 0) {
      pe.put_value(data + 2, 3, 1);
      witness->expect(pe.quiet().ok(), "quiet succeeds again");
    }
  }
};

// Block 0 puts once, block 1 goes more than a lap on. Whoever rings for the first put may sleep for
// all that time.
struct LapUnderSleeper {
  static constexpr int kPuts = 34;

  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    const std::uint32_t block = pe.machine().block_index();
    const int puts = block != 1 ? 1 : kPuts;
    for (int i = 1; i <= puts; ++i) {
      witness->expect(pe.put_value(data + block, Word(i), 1).ok(), "put_value is taken");
    }
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// Block 0 puts word by word. A post of block 1 takes as many slots as a word of ready bits has, so
// that what block 0 expected of its next slot stands at the same bit of another word.
struct RivalOfOneWord {
  static constexpr int kPuts = 3;
  static constexpr std::uint32_t kPlaces = kSlotsPerReadyWord;

  const Witness* witness;
  Word* source;
  Word* data;  // kPuts + kPlaces
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 1) {
      auto warp = pe.warp();
      if (m.lane() == 0) m.store_weak(source, 9);
      witness->expect(warp.iput_nbi(data + kPuts, source, 1, 0, kPlaces, 1).ok(),
                      "iput_nbi is taken");
      witness->expect(warp.quiet().ok(), "quiet succeeds");
    } else if (m.lane() == 0) {
      for (int i = 0; i < kPuts; ++i) {
        witness->expect(pe.put_value(data + i, 9, 1).ok(), "put_value is taken");
      }
      witness->expect(pe.quiet().ok(), "quiet succeeds");
    }
  }
};

// Two full warps, whose first posts fill the queue and whose last one goes round it.
struct FullWarps {
  const Witness* witness;
  Word* data;  // one for each thread
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t self = m.block_index() * m.block_threads() + m.thread_index();
    for (Word i = 0; i <= m.block_index(); ++i) {
      witness->expect(pe.put_value(data + self, i + 1, 1).ok(), "put_value is taken");
    }
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

WorldPointer lap_under_sleeper(const SubjectOptions& options) {
  auto world = std::make_unique<World>("sleeping-holder", options_for(options));
  auto* data = world->allocate<Word>("data", 3);
  world->launch_on(0, {.blocks = 3, .threads = 1}, LapUnderSleeper{world->witness(), data});
  world->check([=](After& after) {
    after.expect(after.value(1, data) == 1 && after.value(1, data + 1) == LapUnderSleeper::kPuts &&
                     after.value(1, data + 2) == 1,
                 "PE 1 has the last word of each block");
  });
  return world;
}

WorldPointer rival_of_one_word(const SubjectOptions& options) {
  constexpr std::uint32_t kWords = RivalOfOneWord::kPuts + RivalOfOneWord::kPlaces;
  WorldOptions world_options = options_for(options);
  world_options.depth = 2 * kSlotsPerReadyWord;
  auto world = std::make_unique<World>("rival", world_options);
  auto* source = world->allocate<Word>("source", 1);
  auto* data = world->allocate<Word>("data", kWords);
  world->launch_on(0, {.blocks = 2, .threads = 2}, RivalOfOneWord{world->witness(), source, data});
  world->check([=](After& after) {
    for (std::uint32_t i = 0; i < kWords; ++i) {
      after.expect(after.value(1, data + i) == 9, "PE 1 has every word");
    }
  });
  return world;
}

WorldPointer full_warps(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.depth = 2 * kSlotsPerReadyWord;
  world_options.start_index = 2 * kSlotsPerReadyWord;
  auto world = std::make_unique<World>("full-warps", world_options);
  auto* data = world->allocate<Word>("data", 2 * kWarpSize);
  world->launch_on(0, {.blocks = 2, .threads = kWarpSize}, FullWarps{world->witness(), data});
  world->check([=](After& after) {
    for (Word i = 0; i < 2 * kWarpSize; ++i) {
      after.expect(after.value(1, data + i) == i / kWarpSize + 1, "PE 1 has every lane's word");
    }
  });
  return world;
}

WorldPointer full_queue(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.max_message_bytes = 8;
  auto world = std::make_unique<World>("full-queue", world_options);
  constexpr std::uint32_t kWords = 18;
  auto* source = world->allocate<Word>("source", 2 * kWords);
  auto* data = world->allocate<Word>("data", 2 * kWords);
  world->launch_on(0, {.blocks = 2, .threads = 1}, Pieces{world->witness(), source, data, kWords});
  world->check([=](After& after) {
    for (Word i = 0; i < 2 * kWords; ++i) {
      after.expect(after.value(1, data + i) == i + 1, "PE 1 has every word");
    }
  });
  return world;
}

WorldPointer far_in_line(const SubjectOptions& options) {
  auto world = std::make_unique<World>("far-in-line", options_for(options));
  constexpr std::uint32_t kBlocks = 6;  // of 15 WQEBBs each, in a queue of 32
  constexpr std::uint32_t kLanes = 7;
  auto* data = world->allocate<Word>("data", kBlocks * kLanes);
  world->launch_on(0, {.blocks = kBlocks, .threads = kLanes}, InLine{world->witness(), data});
  world->check([=](After& after) {
    for (Word i = 0; i < kBlocks * kLanes; ++i) {
      after.expect(after.value(1, data + i) == i + 1, "PE 1 has the word of every thread");
    }
  });
  return world;
}

WorldPointer warp_laps(const SubjectOptions& options) {
  auto world = std::make_unique<World>("warp-laps", options_for(options));
  auto* data = world->allocate<Word>("data", 3);
  world->launch_on(0, {.blocks = 1, .threads = 3}, Laps{world->witness(), data, 13});
  world->check([=](After& after) {
    for (int i = 0; i < 3; ++i) {
      after.expect(after.value(1, data + i) == 13, "PE 1 has the last word of every lane");
    }
  });
  return world;
}

WorldPointer reuse_by(Handler handler, const char* name, const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.start_index = 65536 - 20;
  world_options.handler = handler;
  auto world = std::make_unique<World>(name, world_options);
  auto* data = world->allocate<Word>("data", 2);
  world->launch_on(0, {.blocks = 2, .threads = 1}, Rounds{world->witness(), data, 20});
  world->check([=](After& after) {
    after.expect(after.value(1, data) == 20, "PE 1 has the last word of block 0");
    after.expect(after.value(1, data + 1) == 20, "PE 1 has the last word of block 1");
  });
  return world;
}

WorldPointer slot_reuse(const SubjectOptions& options) {
  return reuse_by(Handler::gpu, "slot-reuse", options);
}

WorldPointer commands_laps(const SubjectOptions& options) {
  return reuse_by(Handler::commands, "commands-laps", options);
}

WorldPointer shared_wait(const SubjectOptions& options) {
  auto world = std::make_unique<World>("shared-wait", options_for(options));
  auto* source = world->allocate<Word>("source", 1);
  auto* data = world->allocate<Word>("data", 1);
  world->launch_on(0, {.blocks = 1, .threads = 3}, SharedWait{world->witness(), source, data});
  world->check([=](After& after) { after.expect(after.value(1, data) == 5, "PE 1 has 5"); });
  return world;
}

WorldPointer concurrent_quiet(const SubjectOptions& options) {
  auto world = std::make_unique<World>("concurrent-quiet", options_for(options));
  auto* data = world->allocate<Word>("data", 3);
  world->launch_on(0, {.blocks = 3, .threads = 1}, ConcurrentQuiet{world->witness(), data});
  world->check([=](After& after) {
    for (Word i = 0; i < 3; ++i) {
      after.expect(after.value(1, data + i) == i + 1, "PE 1 has every word");
    }
  });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"warp-laps", "A warp posts together more than once round the queue.", make<warp_laps>},
    {"full-queue", "Two blocks post more than the queue has room for.", make<full_queue>},
    {"far-in-line", "Six warps post as much as three queues hold.", make<far_in_line>},
    {"slot-reuse", "Slots are used again, over the wrap of the counter.", make<slot_reuse>},
    {"commands-laps", "Commands' slots are used again, over the wrap of the counter.",
     make<commands_laps>},
    {"shared-wait", "Three lanes wait for one ticket.", make<shared_wait>},
    {"concurrent-quiet", "Blocks call quiet while another one posts.", make<concurrent_quiet>},
    {"sleeping-holder", "Two blocks put once, another one more than a lap.",
     make<lap_under_sleeper>},
    {"rival", "A post of 32 slots comes between puts of single words.", make<rival_of_one_word>},
    {"full-warps", "Two full warps fill a queue and go round it.", make<full_warps>},
};

}  // namespace

constinit const Table kRoomTable = kListed;

}  // namespace gdakit::sim::scenarios
