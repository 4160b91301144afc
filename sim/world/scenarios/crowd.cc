// Many posters to one queue: lanes, warps, blocks.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

Word word_of(std::uint32_t block, std::uint32_t thread, Word salt) {
  return 1000 * (block + 1) + 10 * (thread + 1) + salt;
}

// Every thread puts words of its own, from memory.
struct PutOwn {
  const Witness* witness;
  Word* source;
  Word* data;
  int rounds;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t self = m.block_index() * m.block_threads() + m.thread_index();
    for (int round = 0; round < rounds; ++round) {
      const std::uint32_t at =
          self * static_cast<std::uint32_t>(rounds) + static_cast<std::uint32_t>(round);
      m.store_weak(source + at, word_of(m.block_index(), m.thread_index(), Word(round)));
      witness->expect(pe.put_nbi(data + at, source + at, 1, 1).ok(), "put_nbi is taken");
    }
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// The second block puts two words, and another one when the first block has put. If that one rang
// for its first two, the baton lies where the second block goes on. The flag tells it so, and
// orders nothing.
struct PutAgain {
  const Witness* witness;
  Word* data;
  Word* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const auto put = [&](std::uint32_t at) {
      witness->expect(pe.put_value(data + at, word_of(at, 0, 0), 1).ok(), "the put is taken");
    };
    if (m.block_index() == 0) {
      put(0);
      m.store(order::RelaxedGpu{}, flag, 1);
    } else {
      put(1);
      put(2);
      while (m.load(order::RelaxedGpu{}, flag) == 0) m.spin(Site::user);
      put(3);
    }
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// All write the source, the group puts it as one.
template <bool kBlock>
struct GroupPut {
  const Witness* witness;
  Word* source;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (Word round = 0; round < 2; ++round) {
      m.store_weak(source + m.thread_index(), word_of(0, m.thread_index(), round));
      const Status status = [&] {
        Word* const to = data + round * m.block_threads();
        if constexpr (kBlock) {
          return pe.block().put(to, source, m.block_threads(), 1);
        } else {
          return pe.warp().put(to, source, m.block_threads(), 1);
        }
      }();
      witness->expect(status.ok(), "the group's put succeeds");
    }
  }
};

// Four lanes whose post of nine WQEBBs crosses a word of ready bits.
struct SwapAll {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t self = m.block_index() * m.block_threads() + m.thread_index();
    witness->expect(
        pe.atomic_set(data + self, word_of(m.block_index(), m.thread_index(), 0), 1).ok(),
        "atomic_set is taken");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// Each warp puts one word to many places, by one post; those of the last warp fill a word of ready
// bits.
struct FillReadyWord {
  static constexpr std::uint32_t kPlaces = kSlotsPerReadyWord;

  const Witness* witness;
  Word* source;
  Word* data;
  std::uint32_t first;  // places of the first warp
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    auto warp = pe.warp();
    const std::uint32_t self = m.block_index();
    const std::uint32_t places = self == 0 ? first : kPlaces;
    if (m.lane() == 0) m.store_weak(source + self, Word{self} + 1);
    witness->expect(warp.iput_nbi(data + self * first, source + self, 1, 0, places, 1).ok(),
                    "iput_nbi is taken");
    witness->expect(warp.quiet().ok(), "quiet succeeds");
  }
};

// One block prepares data and hands it over, another one sends it.
struct HandedOver {
  const Witness* witness;
  Word* source;
  Word* data;
  Word* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 0) {
      m.store_weak(source, 7);
      m.store(order::Release<Scope::gpu>{}, flag, 1);
      return;
    }
    while (m.load(order::Acquire<Scope::gpu>{}, flag) == 0) m.spin(Site::user);
    witness->expect(pe.put(data, source, 1, 1).ok(), "put succeeds");
  }
};

void expect_own(World& world, Word* data, LaunchShape shape, int rounds) {
  world.check([=](After& after) {
    for (std::uint32_t block = 0; block < shape.blocks; ++block) {
      for (std::uint32_t thread = 0; thread < shape.threads; ++thread) {
        for (int round = 0; round < rounds; ++round) {
          const std::uint32_t self = block * shape.threads + thread;
          const std::uint32_t at =
              self * static_cast<std::uint32_t>(rounds) + static_cast<std::uint32_t>(round);
          after.expect(after.value(1, data + at) == word_of(block, thread, Word(round)),
                       "PE 1 has every thread's words");
        }
      }
    }
  });
}

WorldPointer put_own(const char* name, const WorldOptions& options, LaunchShape shape, int rounds) {
  auto world = std::make_unique<World>(name, options);
  const std::size_t words = std::size_t{shape.blocks} * shape.threads * std::size_t(rounds);
  auto* source = world->allocate<Word>("source", words);
  auto* data = world->allocate<Word>("data", words);
  world->launch_on(0, shape, PutOwn{world->witness(), source, data, rounds});
  expect_own(*world, data, shape, rounds);
  return world;
}

template <bool kBlock>
WorldPointer group_put(const char* name, const WorldOptions& options) {
  auto world = std::make_unique<World>(name, options);
  constexpr std::uint32_t kThreads = 3;
  auto* source = world->allocate<Word>("source", kThreads);
  auto* data = world->allocate<Word>("data", 2 * kThreads);
  world->launch_on(0, {.blocks = 1, .threads = kThreads},
                   GroupPut<kBlock>{world->witness(), source, data});
  world->check([=](After& after) {
    for (std::uint32_t i = 0; i < 2 * kThreads; ++i) {
      after.expect(after.value(1, data + i) == word_of(0, i % kThreads, i / kThreads),
                   "PE 1 has what every thread of the group wrote before the put");
    }
  });
  return world;
}

WorldPointer warp_post(const SubjectOptions& options) {
  return put_own("warp-post", options_for(options), {.blocks = 1, .threads = 3}, 1);
}

WorldPointer two_blocks(const SubjectOptions& options) {
  return put_own("two-blocks", options_for(options), {.blocks = 3, .threads = 1}, 2);
}

WorldPointer put_again(const SubjectOptions& options) {
  auto world = std::make_unique<World>("put-again", options_for(options));
  auto* data = world->allocate<Word>("data", 4);
  auto* flag = world->allocate<Word>("flag", 1);
  world->launch_on(0, {.blocks = 2, .threads = 1}, PutAgain{world->witness(), data, flag});
  expect_own(*world, data, {.blocks = 4, .threads = 1}, 1);
  return world;
}

WorldPointer two_queues(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.queues = 2;
  return put_own("two-queues", world_options, {.blocks = 2, .threads = 2}, 1);
}

WorldPointer warp_group(const SubjectOptions& options) {
  return group_put<false>("warp-group", options_for(options));
}

WorldPointer block_group(const SubjectOptions& options) {
  return group_put<true>("block-group", options_for(options));
}

WorldPointer swap_all(const char* name, std::uint64_t start, LaunchShape shape,
                      const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.depth = 2 * kSlotsPerReadyWord;
  world_options.start_index = start;
  auto world = std::make_unique<World>(name, world_options);
  auto* data = world->allocate<Word>("data", std::size_t{shape.blocks} * shape.threads);
  world->launch_on(0, shape, SwapAll{world->witness(), data});
  expect_own(*world, data, shape, 1);
  return world;
}

WorldPointer ready_words(const SubjectOptions& options) {
  return swap_all("ready-words", 30, {.blocks = 2, .threads = 2}, options);
}

// Whoever crosses is not the first to hold the baton.
WorldPointer ready_words_later(const SubjectOptions& options) {
  return swap_all("ready-words-later", 25, {.blocks = 3, .threads = 2}, options);
}

// Two warps, whose posts begin at `start` in a queue of two words of ready bits.
WorldPointer fill_ready_words(const char* name, std::uint32_t start, std::uint32_t first,
                              const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.depth = 2 * kSlotsPerReadyWord;
  world_options.start_index = start;
  auto world = std::make_unique<World>(name, world_options);
  const std::uint32_t all = first + FillReadyWord::kPlaces;
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", all);
  world->launch_on(0, {.blocks = 2, .threads = 2},
                   FillReadyWord{world->witness(), source, data, first});
  world->check([=](After& after) {
    for (std::uint32_t i = 0; i < all; ++i) {
      after.expect(after.value(1, data + i) == (i < first ? 1 : 2), "PE 1 has every word");
    }
  });
  return world;
}

// The second post goes on to the first one's word, as it is a lap later.
WorldPointer ready_words_lap(const SubjectOptions& options) {
  return fill_ready_words("ready-words-lap", kSlotsPerReadyWord, kSlotsPerReadyWord, options);
}

// Both fill the last word up to its end, behind which the first one is still of the lap before.
WorldPointer ready_words_end(const SubjectOptions& options) {
  return fill_ready_words("ready-words-end", kSlotsPerReadyWord / 2, kSlotsPerReadyWord / 2,
                          options);
}

WorldPointer handed_over(const SubjectOptions& options) {
  auto world = std::make_unique<World>("handed-over", options_for(options));
  auto* source = world->allocate<Word>("source", 1);
  auto* data = world->allocate<Word>("data", 1);
  auto* flag = world->allocate<Word>("flag", 1);
  world->launch_on(0, {.blocks = 2, .threads = 1},
                   HandedOver{world->witness(), source, data, flag});
  world->check([=](After& after) { after.expect(after.value(1, data) == 7, "PE 1 has 7"); });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"warp-post", "Three lanes of a warp put words of their own.", make<warp_post>},
    {"warp-group", "A warp puts as one what all its lanes wrote.", make<warp_group>},
    {"block-group", "A block puts as one what all its threads wrote.", make<block_group>},
    {"two-blocks", "Three blocks post to one queue at once.", make<two_blocks>},
    {"put-again", "A block goes on where another one may have rung for its first puts.",
     make<put_again>},
    {"two-queues", "Two blocks of two threads, each on a queue of its own.", make<two_queues>},
    {"ready-words", "Posts that cross from one word of ready bits to the next.", make<ready_words>},
    {"ready-words-later", "The third of three posts crosses to the next word of ready bits.",
     make<ready_words_later>},
    {"ready-words-lap", "Two warps post a lap over two words of ready bits.",
     make<ready_words_lap>},
    {"ready-words-end", "Two warps' posts fill the last word of ready bits up to its end.",
     make<ready_words_end>},
    {"handed-over", "One block puts what another one has written.", make<handed_over>},
};

}  // namespace

constinit const Table kCrowdTable = kListed;

}  // namespace gdakit::sim::scenarios
