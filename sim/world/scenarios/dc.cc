// Queues of DC, which peers share; peers to which there is no queue; and queues that have no
// doorbell record.
#include "sim/world/scenarios/scenarios.h"

namespace gdakit::sim::scenarios {
namespace {

using Word = std::uint64_t;

// PEs 1 and 2 are the peers of PE 0.
constexpr int kPeers = 2;

// Two blocks of PE 0 tell both peers of data, by one queue.
struct TwoTargets {
  const Witness* witness;
  Word* source;
  Word* data;
  std::uint64_t* signals;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      const std::uint32_t self = m.block_index();
      m.store_weak(source + self, Word{self} + 8);
      for (int peer = 1; peer <= kPeers; ++peer) {
        witness->expect(
            pe.put_signal_nbi(data + self, source + self, 1, signals + self, 1, SignalOp::set, peer)
                .ok(),
            "put_signal_nbi is taken");
      }
      witness->expect(pe.quiet().ok(), "quiet succeeds");
      m.store_weak(source + self, Word{0});
      return;
    }
    for (Word i = 0; i < kPeers; ++i) {
      witness->expect(pe.wait_until(signals + i, Compare::eq, 1).ok(), "the signal comes");
      witness->expect(m.load_weak(data + i) == i + 8, "the data is there when the signal is");
    }
  }
};

// Two blocks fetch from both peers by one queue and one fetch slot.
struct FetchFromTwo {
  const Witness* witness;
  Word* counter;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    const auto self = static_cast<int>(pe.machine().block_index());
    const int first = 1 + self;
    Status status;
    const Word value = pe.get_value(data, first, &status);
    witness->expect(status.ok() && value == Word(first) + 10, "get_value brings its peer's value");
    for (int i = 0; i < kPeers; ++i) {
      const int peer = 1 + (self + i) % kPeers;
      const Word old = pe.atomic_fetch_add(counter, Word{1}, peer, &status);
      witness->expect(status.ok() && old <= 1, "atomic_fetch_add brings what was there");
    }
  }
};

// Lanes that post to one peer together fill the queue, the next time to the other one.
struct LapsOfTwo {
  const Witness* witness;
  Word* data;
  int rounds;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    Word* const own = data + m.block_index() * m.block_threads() + m.lane();
    for (int i = 0; i < rounds; ++i) {
      const Batch batch = i % 3 == 2 ? Batch::last : Batch::more;
      witness->expect(pe.put_value(own, Word(i + 1), 1 + i % kPeers, batch).ok(),
                      "put_value is taken");
    }
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// A get and a put of one thread, each behind the other one of the other peer.
struct GetQuietOfTwo {
  const Witness* witness;
  Word* data;
  Word* here;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    pe.get_nbi(here, data, 1, 1, Batch::more);
    pe.get_nbi(here + 1, data, 1, 2);
    witness->expect(pe.quiet().ok(), "quiet succeeds");
    witness->expect(m.load_weak(here) == 11 && m.load_weak(here + 1) == 12,
                    "what was got is there after quiet");
  }
};

// PE 0 has no queue to PE 1, and one to PE 2.
struct ToNobody {
  const Witness* witness;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    const Status refused{StatusCode::invalid_argument, format::Syndrome::none, 1};
    witness->expect(pe.put_value(data, 1, 2, Batch::more).ok(), "put_value to PE 2 is taken");
    witness->expect(pe.put_value(data, 1, 1) == refused, "put_value to PE 1 is refused");
    witness->expect(pe.atomic_add(data, Word{1}, 1) == refused, "atomic_add, too");
    Status status;
    pe.get_value(data, 1, &status);
    witness->expect(status == refused, "get_value, too");
    witness->expect(pe.wait(Ticket{0, 1, 1, {}}) == refused, "there is no ticket of PE 1");
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

// A put from memory that is then written again, and a batch that stays open for the next block.
struct WithoutRecord {
  const Witness* witness;
  Word* source;
  Word* data;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    const Word first = 2 * m.block_index();
    for (Word i = first; i < first + 2; ++i) {
      m.store_weak(source + first, i + 8);
      pe.put_value(data + 4 + i, i + 1, 1, Batch::more);
      witness->expect(pe.put(data + i, source + first, 1, 1).ok(), "put succeeds");
    }
    witness->expect(pe.quiet().ok(), "quiet succeeds");
  }
};

WorldOptions dc_options(const SubjectOptions& options) {
  WorldOptions world = options_for(options);
  world.pes = 1 + kPeers;
  world.dc_queues = 1;
  return world;
}

WorldPointer dc_put_signal(const SubjectOptions& options) {
  auto world = world_of("dc-put-signal", dc_options(options));
  auto* source = world->allocate<Word>("source", kPeers);
  auto* data = world->allocate<Word>("data", kPeers);
  auto* signals = world->allocate<std::uint64_t>("signals", kPeers, RegionKind::signal);
  const TwoTargets kernel{world->witness(), source, data, signals};
  world->launch_on(0, {.blocks = 2, .threads = 1}, kernel);
  for (std::uint32_t pe = 1; pe <= kPeers; ++pe) {
    world->launch_on(pe, {.blocks = 1, .threads = 1}, kernel);
  }
  return world;
}

void give_data(World& world, const Word* data) {
  for (std::uint32_t pe = 1; pe <= kPeers; ++pe) world.set(pe, data, Word{pe} + 10);
}

WorldPointer dc_fetch(const SubjectOptions& options) {
  WorldOptions world_options = dc_options(options);
  world_options.fetch_slots = 1;
  auto world = std::make_unique<World>("dc-fetch", world_options);
  auto* counter = world->allocate<Word>("counter", 1);
  auto* data = world->allocate<Word>("data", 1);
  give_data(*world, data);
  world->launch_on(0, {.blocks = 2, .threads = 1}, FetchFromTwo{world->witness(), counter, data});
  world->check([=](After& after) {
    for (std::uint32_t pe = 1; pe <= kPeers; ++pe) {
      after.expect(after.value(pe, counter) == 2, "each block has added one to each counter");
    }
  });
  return world;
}

WorldPointer dc_laps(const SubjectOptions& options) {
  WorldOptions world_options = dc_options(options);
  world_options.start_index = 65536 - 8;
  auto world = std::make_unique<World>("dc-laps", world_options);
  auto* data = world->allocate<Word>("data", 4);
  constexpr int kRounds = 6;
  world->launch_on(0, {.blocks = 2, .threads = 2}, LapsOfTwo{world->witness(), data, kRounds});
  world->check([=](After& after) {
    for (int i = 0; i < 4; ++i) {
      after.expect(after.value(1, data + i) == kRounds - 1 && after.value(2, data + i) == kRounds,
                   "each peer has the last value of each lane");
    }
  });
  return world;
}

WorldPointer dc_get(const SubjectOptions& options) {
  auto world = std::make_unique<World>("dc-get", dc_options(options));
  auto* data = world->allocate<Word>("data", 1);
  auto* here = world->allocate<Word>("here", kPeers);
  give_data(*world, data);
  world->launch_on(0, {.blocks = 1, .threads = 1}, GetQuietOfTwo{world->witness(), data, here});
  return world;
}

WorldPointer dc_proxy(const SubjectOptions& options) {
  WorldOptions world_options = dc_options(options);
  world_options.handler = Handler::proxy;
  auto world = std::make_unique<World>("dc-proxy", world_options);
  auto* data = world->allocate<Word>("data", 1);
  auto* here = world->allocate<Word>("here", kPeers);
  give_data(*world, data);
  world->launch_on(0, {.blocks = 1, .threads = 1}, GetQuietOfTwo{world->witness(), data, here});
  return world;
}

WorldPointer no_queue(const SubjectOptions& options) {
  WorldOptions world_options = options_for(options);
  world_options.pes = 3;
  world_options.unconnected = {{0, 1}};
  world_options.expect_quiet = false;
  auto world = std::make_unique<World>("no-queue", world_options);
  auto* data = world->allocate<Word>("data", 1);
  world->launch_on(0, {.blocks = 2, .threads = 1}, ToNobody{world->witness(), data});
  world->check([=](After& after) {
    after.expect(after.value(1, data) == 0 && after.value(2, data) == 1,
                 "PE 2 has what was put there, and PE 1 nothing");
    const FaultReport fault = after.pe_state(0).fault;
    after.expect(
        is_complete_report(fault.state) && fault.peer == 1 && fault.what == Fault::not_connected,
        "it is reported that there is no queue to PE 1");
  });
  return world;
}

WorldPointer recordless(const SubjectOptions& options) {
  auto world = std::make_unique<World>("recordless", recordless_options_for(options));
  auto* source = world->allocate<Word>("source", 4);
  auto* data = world->allocate<Word>("data", 8);
  world->launch_on(0, {.blocks = 2, .threads = 1}, WithoutRecord{world->witness(), source, data});
  world->check([=](After& after) {
    for (Word i = 0; i < 4; ++i) {
      after.expect(after.value(1, data + i) == i + 8 && after.value(1, data + 4 + i) == i + 1,
                   "PE 1 has what was put");
    }
  });
  return world;
}

constexpr ScenarioEntry kListed[] = {
    {"dc-put-signal", "Two blocks put and signal to two peers by one queue of DC.",
     make<dc_put_signal>},
    {"placed-dc-put-signal", "The same, where puts are placed in any order.",
     make_placed<dc_put_signal>},
    {"dc-fetch", "Two blocks fetch from two peers by one queue of DC and one fetch slot.",
     make<dc_fetch>},
    {"dc-laps", "Lanes fill a queue of DC again and again, and its counter wraps.", make<dc_laps>},
    {"dc-get", "Gets from two peers by a queue of DC are completed by quiet.", make<dc_get>},
    {"dc-proxy", "A host thread rings for a queue of DC.", make<dc_proxy>},
    {"no-queue",
     "Two blocks post to a peer to which there is no queue, and to one to which there "
     "is.",
     make<no_queue>},
    {"recordless", "Two blocks post to a queue that has no doorbell record.", make<recordless>},
};

}  // namespace

constinit const Table kDcTable = kListed;

}  // namespace gdakit::sim::scenarios
