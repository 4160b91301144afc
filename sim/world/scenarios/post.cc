// One poster to a queue.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

struct PutQuiet {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    witness->expect(pe.put_value(data, 42, 1).ok(), "put_value is taken");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// The source is written just before it is sent, and again once it may be reused.
struct PutSource {
  const Witness* witness;
  Word* source;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (Word round = 0; round < 2; ++round) {
      m.store_weak(source, 10 + round);
      m.store_weak(source + 1, 20 + round);
      witness->expect(pe.put(data + 2 * round, source, 2, 1).ok(), "put succeeds");
    }
  }
};

struct ExclusiveQueues {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    const std::uint32_t block = pe.machine().block_index();
    auto own = pe.exclusively_on(1 + block);
    for (Word i = 0; i < 2; ++i) {
      witness->expect(own.put_value(data + 2 * block + i, 10 * (block + 1) + i, 1).ok(),
                      "put_value is taken");
    }
    witness->expect(own.quiet().ok(), "quiet succeeds");
  }
};

// The first two leave doorbell and completion to a later one, the last to quiet.
struct Batched {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    pe.put_value(data, 1, 1, Batch::more);
    pe.put_value(data + 1, 2, 1, Batch::more);
    pe.put_value(data + 2, 3, 1);
    pe.put_value(data + 3, 4, 1, Batch::more);
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

struct PutMany {
  const Witness* witness;
  Word* data;
  int count;
  template <class Pe>
  void operator()(Pe& pe) const {
    for (int i = 0; i < count; ++i) {
      witness->expect(pe.put_value(data, Word(i + 1), 1).ok(), "put_value is taken");
    }
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

WorldPointer put_quiet(const SubjectOptions& options) {
  auto world = std::make_unique<World>("put-quiet", options_for(options));
  auto* data = world->allocate<Word>("data", 1);
  world->launch_on(0, {.blocks = 1, .threads = 1}, PutQuiet{world->witness(), data});
  world->check([=](After& after) { after.expect(after.value(1, data) == 42, "PE 1 has 42"); });
  return world;
}

WorldPointer put_source(const SubjectOptions& options) {
  auto world = std::make_unique<World>("put-source", options_for(options));
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", 4);
  world->launch_on(0, {.blocks = 1, .threads = 1}, PutSource{world->witness(), source, data});
  world->check([=](After& after) {
    const Word expected[] = {10, 20, 11, 21};
    for (int i = 0; i < 4; ++i) {
      after.expect(after.value(1, data + i) == expected[i],
                   "PE 1 has what the source held at the time of the put");
    }
  });
  return world;
}

WorldPointer on_exclusive_queues(const char* name, WorldOptions world_options) {
  world_options.exclusive_queues = 2;
  auto world = std::make_unique<World>(name, world_options);
  auto* data = world->allocate<Word>("data", 4);
  world->launch_on(0, {.blocks = 2, .threads = 1}, ExclusiveQueues{world->witness(), data});
  world->check([=](After& after) {
    for (Word i = 0; i < 4; ++i) {
      after.expect(after.value(1, data + i) == 10 * (i / 2 + 1) + i % 2,
                   "PE 1 has what each block has put");
    }
  });
  return world;
}

WorldPointer exclusive_queues(const SubjectOptions& options) {
  return on_exclusive_queues("exclusive-queues", options_for(options));
}

WorldPointer recordless_exclusive(const SubjectOptions& options) {
  return on_exclusive_queues("recordless-exclusive", recordless_options_for(options));
}

WorldPointer batch(const SubjectOptions& options) {
  auto world = std::make_unique<World>("batch", options_for(options));
  auto* data = world->allocate<Word>("data", 4);
  world->launch_on(0, {.blocks = 1, .threads = 1}, Batched{world->witness(), data});
  world->check([=](After& after) {
    for (Word i = 0; i < 4; ++i) {
      after.expect(after.value(1, data + i) == i + 1, "PE 1 has every word of the batches");
    }
  });
  return world;
}

WorldPointer counter_wrap(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.start_index = 3 * 65536 - 2;
  auto world = std::make_unique<World>("counter-wrap", world_options);
  auto* data = world->allocate<Word>("data", 1);
  world->launch_on(0, {.blocks = 1, .threads = 1}, PutMany{world->witness(), data, 4});
  world->check(
      [=](After& after) { after.expect(after.value(1, data) == 4, "PE 1 has the last value"); });
  return world;
}

// A host thread stands between the poster and the NIC.
WorldPointer put_by(Handler handler, const char* name, const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.handler = handler;
  auto world = std::make_unique<World>(name, world_options);
  auto* source = world->allocate<Word>("source", 2);
  auto* data = world->allocate<Word>("data", 4);
  world->launch_on(0, {.blocks = 1, .threads = 1}, PutSource{world->witness(), source, data});
  world->check([=](After& after) {
    after.expect(after.value(1, data + 3) == 21, "PE 1 has the last word");
  });
  return world;
}

WorldPointer proxy(const SubjectOptions& options) {
  return put_by(Handler::proxy, "proxy", options);
}

WorldPointer commands(const SubjectOptions& options) {
  return put_by(Handler::commands, "commands", options);
}

constexpr ScenarioEntry kListed[] = {
    {"put-quiet", "One thread puts a value and completes it.", make<put_quiet>},
    {"put-source", "One thread puts from memory that it then writes again.", make<put_source>},
    {"exclusive-queues", "Two blocks post to exclusive queues of their own.",
     make<exclusive_queues>},
    {"recordless-exclusive", "The same with queues that have no doorbell record.",
     make<recordless_exclusive>},
    {"batch", "Doorbells and completions are left to later posts and to quiet.", make<batch>},
    {"counter-wrap", "The 16-bit counters of doorbell, record and CQE wrap.", make<counter_wrap>},
    {"proxy", "A host thread rings for the GPU.", make<proxy>},
    {"commands", "A host thread makes WQEs of the GPU's commands.", make<commands>},
};

}  // namespace

constinit const Table kPostTable = kListed;

}  // namespace gdakit::sim::scenarios
