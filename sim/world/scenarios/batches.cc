// Batches: tickets of open ones, and exclusive queues that are handed over or answered behind them.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// Waits for the first and then for the last ticket of a batch that nothing else ends; what was
// waited for may be written again.
struct TicketsOfBatch {
  const Witness* witness;
  Word* source;  // 3
  Word* data;    // 3
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    for (Word i = 0; i < 3; ++i) m.store_weak(source + i, i + 1);
    Ticket tickets[3];
    for (Word i = 0; i < 3; ++i) {
      tickets[i] = pe.put_async(data + i, source + i, 1, 1, Batch::more);
      if (i != 1) continue;
      witness->expect(pe.wait(tickets[0]).ok(), "the wait for the first ticket succeeds");
      m.store_weak(source, 9);
    }
    witness->expect(pe.wait(tickets[1]).ok(), "the wait for the second ticket succeeds");
    witness->expect(pe.wait(tickets[2]).ok(), "the wait for the last ticket succeeds");
    m.store_weak(source + 2, 9);
  }
};

// Block 0 leaves a batch open on an exclusive queue and hands it over; block 1 goes on with a
// handle of its own.
struct BatchHandedOver {
  const Witness* witness;
  Word* data;  // 3
  Word* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 0) {
      auto own = pe.exclusively_on(1);
      for (Word i = 0; i < 2; ++i) {
        witness->expect(own.put_value(data + i, i + 1, 1, Batch::more).ok(), "the put is taken");
      }
      m.store(order::Release<Scope::gpu>{}, flag, 1);
      return;
    }
    while (m.load(order::Acquire<Scope::gpu>{}, flag) == 0) m.spin(Site::user);
    auto own = pe.exclusively_on(1);
    witness->expect(own.put_value(data + 2, 3, 1).ok(), "put_value is taken");
    witness->expect(own.quiet().ok(), "quiet succeeds");
  }
};

// PE 0's block 0 batches a get with a put that PE 1 answers. Block 1 gets the answer and so knows
// that the get was posted: its quiet completes it. The blocks take turns by a word that orders
// nothing.
struct BatchAnswered {
  static constexpr Word kRounds = 2;

  const Witness* witness;
  Word* data;
  Word* back;  // kRounds
  std::uint64_t* flag;
  std::uint64_t* answer;
  Word* turn;
  template <class Pe>
  void operator()(Pe& pe) const {
    const bool is_first = pe.machine().block_index() == 0;
    auto own = pe.exclusively_on(1);
    for (Word round = 1; round <= kRounds; ++round) {
      if (pe.my_pe() == 1 && is_first) reply(pe, round);
      if (pe.my_pe() == 0 && is_first) ask(pe, own, round);
      if (pe.my_pe() == 0 && !is_first) complete(pe, round);
    }
  }

 private:
  template <class Pe>
  void reply(Pe& pe, Word round) const {
    witness->expect(pe.wait_until(flag, Compare::eq, round).ok(), "the flag comes");
    witness->expect(pe.put_value(answer, round, 0).ok(), "put_value is taken");
  }
  template <class Pe, class Own>
  void ask(Pe& pe, Own& own, Word round) const {
    auto& m = pe.machine();
    witness->expect(own.get_nbi(back + round - 1, data, 1, 1, Batch::more).ok(),
                    "get_nbi is taken");
    witness->expect(own.put_value(flag, round, 1).ok(), "put_value is taken");
    while (m.load(order::RelaxedGpu{}, turn) != round) m.spin(Site::user);
  }
  template <class Pe>
  void complete(Pe& pe, Word round) const {
    auto& m = pe.machine();
    witness->expect(pe.wait_until(answer, Compare::eq, round).ok(), "the answer comes");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
    witness->expect(m.load_weak(back + round - 1) == 7, "the get has brought the word");
    m.store(order::RelaxedGpu{}, turn, round);
  }
};

WorldPointer tickets_of_batch(const SubjectOptions& options) {
  auto world = std::make_unique<World>("batch-tickets", options_for(options));
  auto* source = world->allocate<Word>("source", 3);
  auto* data = world->allocate<Word>("data", 3);
  world->launch_on(0, {.blocks = 1, .threads = 1}, TicketsOfBatch{world->witness(), source, data});
  world->check([=](After& after) {
    for (Word i = 0; i < 3; ++i) {
      after.expect(after.value(1, data + i) == i + 1, "PE 1 has every word as it was put");
    }
  });
  return world;
}

WorldOptions exclusive_options(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.exclusive_queues = 1;
  return world_options;
}

WorldPointer batch_handed_over(const SubjectOptions& options) {
  auto world = std::make_unique<World>("batch-handed-over", exclusive_options(options));
  auto* data = world->allocate<Word>("data", 3);
  auto* flag = world->allocate<Word>("flag", 1);
  world->launch_on(0, {.blocks = 2, .threads = 1}, BatchHandedOver{world->witness(), data, flag});
  world->check([=](After& after) {
    for (Word i = 0; i < 3; ++i) {
      after.expect(after.value(1, data + i) == i + 1, "PE 1 has every word");
    }
  });
  return world;
}

WorldPointer answered_world(const char* name, const WorldOptions& options) {
  auto world = std::make_unique<World>(name, options);
  auto* data = world->allocate<Word>("data", 1);
  auto* back = world->allocate<Word>("back", BatchAnswered::kRounds);
  auto* flag = world->allocate<std::uint64_t>("flag", 1, RegionKind::signal);
  auto* answer = world->allocate<std::uint64_t>("answer", 1, RegionKind::signal);
  auto* turn = world->allocate<Word>("turn", 1);
  world->set(1, data, 7);
  world->launch({.blocks = 2, .threads = 1},
                BatchAnswered{world->witness(), data, back, flag, answer, turn});
  return world;
}

WorldPointer batch_answered(const SubjectOptions& options) {
  return answered_world("batch-answered", exclusive_options(options));
}

WorldPointer recordless_answered(const SubjectOptions& options) {
  WorldOptions world = recordless_options_for(options);
  world.exclusive_queues = 1;
  return answered_world("recordless-answered", world);
}

WorldPointer proxy_answered(const SubjectOptions& options) {
  WorldOptions world = exclusive_options(options);
  world.handler = Handler::proxy;
  return answered_world("proxy-answered", world);
}

constexpr ScenarioEntry kListed[] = {
    {"batch-tickets", "A thread waits for the first ticket of an open batch, and the last.",
     make<tickets_of_batch>},
    {"batch-handed-over", "A block goes on with another one's batch of an exclusive queue.",
     make<batch_handed_over>},
    {"batch-answered", "A block completes what an owner's batch got, once it is answered.",
     make<batch_answered>},
    {"recordless-answered", "The same of a queue without a doorbell record.",
     make<recordless_answered>},
    {"proxy-answered", "The same where a host thread rings.", make<proxy_answered>},
};

}  // namespace

constinit const Table kBatchesTable = kListed;

}  // namespace gdakit::sim::scenarios
