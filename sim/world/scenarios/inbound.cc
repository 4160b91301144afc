// Data that comes here: get, and atomics that return something.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

struct GetValue {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    for (Word i = 0; i < 2; ++i) {
      Status status;
      const Word value = pe.get_value(data + i, 1, &status);
      witness->expect(status.ok() && value == 30 + i, "get_value returns what PE 1 has");
    }
  }
};

// Reads the result weakly, as a kernel does, once quiet has returned.
struct GetQuiet {
  const Witness* witness;
  Word* data;
  Word* result;
  template <class Pe>
  void operator()(Pe& pe) const {
    witness->expect(pe.get_nbi(result, data, 2, 1).ok(), "get_nbi is taken");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
    auto& m = pe.machine();
    witness->expect(m.load_weak(result) == 30 && m.load_weak(result + 1) == 31,
                    "the result is there after quiet");
  }
};

// Two threads get into words of their own and complete one another's reads.
struct GetShared {
  const Witness* witness;
  Word* data;
  Word* result;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t self = m.block_index();
    witness->expect(pe.get_nbi(result + self, data + self, 1, 1).ok(), "get_nbi is taken");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
    witness->expect(m.load_weak(result + self) == 30 + self, "the result is there after quiet");
  }
};

// Every thread adds to one counter of PE 1 and remembers what it got.
struct FetchAdd {
  const Witness* witness;
  Word* counter;
  Word* seen;
  int rounds;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const std::uint32_t self = m.block_index() * m.block_threads() + m.thread_index();
    for (int i = 0; i < rounds; ++i) {
      Status status;
      const Word old = pe.atomic_fetch_add(counter, 1, 1, &status);
      witness->expect(status.ok(), "atomic_fetch_add succeeds");
      m.store_weak(seen + self * static_cast<std::uint32_t>(rounds) + i, old + 1);
    }
  }
};

// The same by two blocks, while a third one posts, too, and so may ring for them.
struct FetchBesidePuts {
  FetchAdd fetches;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.machine().block_index() < 2) return fetches(pe);
    fetches.witness->expect(pe.put_value(data, 7, 1).ok(), "put_value is taken");
  }
};

void give_data(World& world, Word* data) {
  world.set(1, data, 30);
  world.set(1, data + 1, 31);
}

// With `puts`, one more block puts a word.
WorldPointer fetch(const char* name, const WorldOptions& options, LaunchShape shape, int rounds,
                   bool puts = false) {
  auto world = std::make_unique<World>(name, options);
  const std::uint32_t all = shape.blocks * shape.threads * static_cast<std::uint32_t>(rounds);
  auto* counter = world->allocate<Word>("counter", 1);
  auto* seen = world->allocate<Word>("seen", all);
  const FetchAdd fetches{world->witness(), counter, seen, rounds};
  Word* data = nullptr;
  if (puts) {
    data = world->allocate<Word>("data", 1);
    ++shape.blocks;
    world->launch_on(0, shape, FetchBesidePuts{fetches, data});
  } else {
    world->launch_on(0, shape, fetches);
  }
  world->check([=](After& after) {
    if (puts) after.expect(after.value(1, data) == 7, "PE 1 has the word that was put");
    after.expect(after.value(1, counter) == all, "every addition has happened, once");
    std::uint64_t got = 0;
    for (std::uint32_t i = 0; i < all; ++i) {
      const Word value = after.value(0, seen + i);
      after.expect(value >= 1 && value <= all && (got >> value & 1) == 0,
                   "every addition has returned another number");
      got |= std::uint64_t{1} << (value & 63);
    }
  });
  return world;
}

WorldPointer get_by(Handler handler, const char* name, const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.fetch_slots = 1;
  world_options.handler = handler;
  auto world = std::make_unique<World>(name, world_options);
  auto* data = world->allocate<Word>("data", 2);
  give_data(*world, data);
  world->launch_on(0, {.blocks = 1, .threads = 1}, GetValue{world->witness(), data});
  return world;
}

WorldPointer get_value(const SubjectOptions& options) {
  return get_by(Handler::gpu, "get-value", options);
}

WorldPointer commands_get(const SubjectOptions& options) {
  return get_by(Handler::commands, "commands-get", options);
}

WorldPointer get_quiet(const SubjectOptions& options) {
  auto world = std::make_unique<World>("get-quiet", options_for(options));
  auto* data = world->allocate<Word>("data", 2);
  auto* result = world->allocate<Word>("result", 2);
  give_data(*world, data);
  world->launch_on(0, {.blocks = 1, .threads = 1}, GetQuiet{world->witness(), data, result});
  return world;
}

WorldPointer get_shared(const SubjectOptions& options) {
  auto world = std::make_unique<World>("get-shared", options_for(options));
  auto* data = world->allocate<Word>("data", 2);
  auto* result = world->allocate<Word>("result", 2);
  give_data(*world, data);
  world->launch_on(0, {.blocks = 2, .threads = 1}, GetShared{world->witness(), data, result});
  return world;
}

WorldPointer fetch_add(const SubjectOptions& options) {
  return fetch("fetch-add", options_for(options), {.blocks = 1, .threads = 2}, 1);
}

WorldPointer fetch_slots(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.fetch_slots = 1;
  return fetch("fetch-slots", world_options, {.blocks = 2, .threads = 1}, 2, true);
}

constexpr ScenarioEntry kListed[] = {
    {"get-value", "Values are fetched through one fetch slot.", make<get_value>},
    {"commands-get", "Values are fetched by commands.", make<commands_get>},
    {"get-quiet", "A get is completed by quiet.", make<get_quiet>},
    {"get-shared", "Two blocks complete one another's gets.", make<get_shared>},
    {"fetch-add", "Two lanes add to one word and fetch it.", make<fetch_add>},
    {"fetch-slots", "Two blocks take turns at one fetch slot, a third one puts.",
     make<fetch_slots>},
};

}  // namespace

constinit const Table kInboundTable = kListed;

}  // namespace gdakit::sim::scenarios
