// Barriers, messages, narrow releases, joins: knowledge that does not travel with stores.
#include <gtest/gtest.h>

#include "sim/explore/exhaustive.h"
#include "sim/explore/replay.h"
#include "tests/weak/scripts.h"

namespace gdakit::sim::weak::test {
namespace {

class PlainNames final : public Names {
 public:
  std::string place(Address) const override { return "a place"; }
  std::string agent(AgentId) const override { return "an agent"; }
};

// Runs `body`, which decides the order itself, with every choice of the memory, and collects what
// it returns.
template <class Body>
std::set<std::uint64_t> values_of(const std::vector<Place>& places, Body&& body,
                                  const MemoryOptions& options = {}) {
  const PlainNames names;
  Memory memory(64, names);
  ExhaustiveStrategy strategy;
  Chooser chooser(strategy);
  std::set<std::uint64_t> all;
  while (chooser.begin()) {
    memory.begin(options, chooser, nullptr);
    for (const Place& place : places) memory.add_agent(place);
    all.insert(body(memory));
    chooser.end();
  }
  return all;
}

using Values = std::set<std::uint64_t>;

TEST(MemoryEdges, ABarrierCarriesWeakStoresToAllWhoLeaveIt) {
  const auto read = [](bool arrives, bool leaves) {
    return values_of({kBlock0, kBlock0}, [=](Memory& memory) {
      BarrierClock barrier;
      memory.store(0, kX, 8, 1, weak());
      if (arrives) memory.arrive(0, barrier);
      memory.arrive(1, barrier);
      if (leaves) memory.leave(1, barrier);
      return memory.load(1, kX, 8, weak());
    });
  };
  EXPECT_EQ(read(true, true), Values{1});
  EXPECT_EQ(read(false, true), (Values{0, 1}));
  EXPECT_EQ(read(true, false), (Values{0, 1}));
}

TEST(MemoryEdges, JoiningMakesKnown) {
  const auto read = [](bool join) {
    return values_of({kBlock0, kHost}, [=](Memory& memory) {
      memory.store(0, kX, 8, 1, weak());
      if (join) memory.join_all(1);
      return memory.load(1, kX, 8, weak());
    });
  };
  EXPECT_EQ(read(true), Values{1});
  EXPECT_EQ(read(false), (Values{0, 1}));
}

TEST(MemoryEdges, AReleaseCanBeForTheAgentsOfOneGpuOnly) {
  const auto read = [](std::uint32_t reach, const Place& reader) {
    return values_of({kNic, reader}, [=](Memory& memory) {
      Access flag = release();
      flag.reach_gpu = reach;
      memory.store(0, kX, 8, 1, relaxed());
      memory.store(0, kFlag, 8, 1, flag);
      return memory.load(1, kFlag, 8, acquire()) == 0 ? 1 : memory.load(1, kX, 8, weak());
    });
  };
  EXPECT_EQ(read(kAnyGpu, kBlock0), Values{1});
  EXPECT_EQ(read(kBlock0.gpu, kBlock0), Values{1});
  EXPECT_EQ(read(kBlock0.gpu, kGpu1), (Values{0, 1}));
}

TEST(MemoryEdges, AMessageCarriesWhatFencesReleased) {
  const auto read = [](Scope scope, bool fence) {
    return values_of({kBlock0, kNic}, [=](Memory& memory) {
      memory.store(0, kX, 8, 1, weak());
      if (fence) memory.fence(0, Sem::release, scope);
      memory.receive(1, memory.send(0));
      return memory.load(1, kX, 8, weak());
    });
  };
  EXPECT_EQ(read(Scope::system, true), Values{1});
  EXPECT_EQ(read(Scope::gpu, true), (Values{0, 1}));
  EXPECT_EQ(read(Scope::system, false), (Values{0, 1}));
}

TEST(MemoryEdges, MessagesKnowTheirOrder) {
  const auto known = values_of({kBlock0, kBlock0, kNic}, [](Memory& memory) {
    const Message first = memory.send(0);
    const Message other = memory.send(1);
    const Message second = memory.send(0);
    memory.fence(0, Sem::release, Scope::system);
    const Message released = memory.send(0);
    memory.fence(0, Sem::release, Scope::gpu);
    const Message narrow = memory.send(0);
    EXPECT_TRUE(memory.known_before(first, second));
    EXPECT_FALSE(memory.known_before(second, first));
    EXPECT_FALSE(memory.known_before(first, other));
    EXPECT_FALSE(memory.released_before(first, second, 2));
    EXPECT_TRUE(memory.released_before(second, released, 2));
    // A fence of gpu scope does not reach the NIC, the older one of system scope still does.
    EXPECT_FALSE(memory.released_before(released, narrow, 2));
    EXPECT_TRUE(memory.released_before(second, narrow, 2));
    return 0u;
  });
  EXPECT_EQ(known, Values{0});
}

TEST(MemoryEdges, WritesThatAreKnownToBeOldAreForgotten) {
  const auto oldest = [](std::uint32_t history) {
    MemoryOptions options;
    options.history = history;
    const Values values = values_of(
        {kBlock0, kGpu1},
        [](Memory& memory) {
          for (std::uint64_t i = 1; i <= 6; ++i) memory.store(0, kX, 8, i, relaxed());
          return memory.load(1, kX, 8, relaxed());
        },
        options);
    EXPECT_EQ(*values.rbegin(), 6u);
    return *values.begin();
  };
  EXPECT_EQ(oldest(16), 0u);
  EXPECT_EQ(oldest(4), 3u);
  EXPECT_EQ(oldest(2), 5u);
}

TEST(MemoryEdges, AnAgentReadsOnlySoMuchStaleInARow) {
  MemoryOptions options;
  options.max_stale = 2;
  const Values values = values_of(
      {kBlock0, kGpu1},
      [](Memory& memory) {
        memory.store(0, kX, 8, 1, relaxed());
        std::uint64_t reads = 1;
        while (memory.load(1, kX, 8, relaxed()) == 0) ++reads;
        return reads;
      },
      options);
  EXPECT_EQ(values, (Values{1, 2, 3}));
}

TEST(MemoryEdges, AWaitLoopReadsSomethingStaleForSoManyTurnsInARow) {
  MemoryOptions options;
  options.max_stale_turns = 2;
  const Values values = values_of(
      {kBlock0, kGpu1},
      [](Memory& memory) {
        memory.store(0, kX, 8, 1, relaxed());
        std::uint64_t turns = 1;
        for (; memory.load(1, kX, 8, relaxed()) == 0; ++turns) memory.end_turn(1);
        return turns;
      },
      options);
  EXPECT_EQ(values, (Values{1, 2, 3}));
}

TEST(MemoryEdges, WithinATurnAnAgentOverlooksMoreThanInSoManyTurns) {
  MemoryOptions options;
  options.max_stale_turns = 1;
  const Values values = values_of(
      {kBlock0, kGpu1},
      [](Memory& memory) {
        memory.store(0, kX, 8, 1, relaxed());
        std::uint64_t old = 0;
        for (int i = 0; i < 3; ++i) old += memory.load(1, kX, 8, weak()) == 0 ? 1 : 0;
        return old;
      },
      options);
  EXPECT_EQ(*values.rbegin(), 3u);
}

TEST(MemoryEdges, AFreshAgentReadsTheNewest) {
  const auto read = [](bool fresh) {
    return values_of({kBlock0, kGpu1}, [=](Memory& memory) {
      memory.set_fresh(1, fresh);
      memory.store(0, kX, 8, 1, relaxed());
      return memory.load(1, kX, 8, relaxed());
    });
  };
  EXPECT_EQ(read(true), Values{1});
  EXPECT_EQ(read(false), (Values{0, 1}));
}

TEST(MemoryEdges, VersionAndReadStaleTellWhenPollingAgainMakesSense) {
  const Values stale = values_of({kBlock0, kGpu1}, [](Memory& memory) {
    const std::uint64_t before = memory.version();
    memory.store(0, kX, 8, 1, relaxed());
    EXPECT_NE(memory.version(), before);
    const std::uint64_t value = memory.load(1, kX, 8, relaxed());
    EXPECT_EQ(memory.read_stale(1), value == 0);
    memory.end_turn(1);
    EXPECT_FALSE(memory.read_stale(1));
    return value;
  });
  EXPECT_EQ(stale, (Values{0, 1}));
}

TEST(MemoryEdges, PartsOfAWordReadForThemselves) {
  const Values values = values_of({kBlock0}, [](Memory& memory) {
    memory.store(0, kX, 8, 0x1111'1111'2222'2222u, weak());
    memory.store(0, kX + 4, 4, 0x3333'3333u, weak());
    EXPECT_EQ(memory.load(0, kX, 4, weak()), 0x2222'2222u);
    EXPECT_EQ(memory.load(0, kX + 6, 2, weak()), 0x3333u);
    return memory.load(0, kX, 8, weak());
  });
  EXPECT_EQ(values, Values{0x3333'3333'2222'2222u});
}

TEST(MemoryEdges, AnUpdateOfAWordTakesEveryPartAsItIs) {
  const Values values = values_of({kBlock0, kBlock0}, [](Memory& memory) {
    memory.store(0, kX, 8, 0x1111'1111'2222'2222u, relaxed());
    memory.store(0, kX + 4, 4, 0x3333'3333u, relaxed());
    memory.join(1, 0);
    EXPECT_EQ(memory.rmw(1, kX, 8, adding(1), relaxed()), 0x3333'3333'2222'2222u);
    return memory.load(1, kX, 8, relaxed());
  });
  EXPECT_EQ(values, Values{0x3333'3333'2222'2223u});
  // Parts that are read late, too.
  const Values late = values_of({kBlock0, kBlock0}, [](Memory& memory) {
    memory.store(0, kX, 4, 1, relaxed());
    memory.store(0, kX + 4, 4, 2, relaxed());
    memory.join(1, 0);
    return memory.settle(memory.rmw_later(1, kX, 8, adding(0), relaxed()));
  });
  EXPECT_EQ(late, Values{0x2'0000'0001u});
}

// Each half comes from a store of its own, and the newest store may be in the half that is read
// anew: what is explained is the store that was overlooked.
TEST(MemoryEdges, ATraceNamesTheStoreThatPartOfAWordOverlooks) {
  const PlainNames names;
  Memory memory(64, names);
  ExhaustiveStrategy strategy;
  Chooser chooser(strategy);
  std::set<std::uint64_t> values;
  while (chooser.begin()) {
    Trace trace;
    memory.begin({.find_races = false}, chooser, &trace);
    for (const Place& place : {kBlock0, kBlock1}) memory.add_agent(place);
    memory.store(0, kX, 4, 1, relaxed());
    memory.store(0, kX + 4, 4, 2, relaxed());
    const std::uint64_t value = memory.load(1, kX, 8, relaxed());
    chooser.end();
    values.insert(value);
    const bool low_is_old = (value & 1) == 0;
    const bool high_is_old = value >> 32 == 0;
    EXPECT_EQ(trace.events.back().stale_by, std::uint32_t{low_is_old} + std::uint32_t{high_is_old});
    std::vector<std::uint32_t> overlooked;
    for (const MissingEdge& edge : trace.missing) overlooked.push_back(edge.from);
    std::vector<std::uint32_t> expected;
    if (low_is_old || high_is_old) expected.push_back(high_is_old ? 1 : 0);
    EXPECT_EQ(overlooked, expected) << value;
  }
  EXPECT_EQ(values, (Values{0, 1, 0x2'0000'0000u, 0x2'0000'0001u}));
}

TEST(MemoryEdges, InitialBytesAreThereAtTheBeginning) {
  const Values values = values_of({kBlock0}, [](Memory& memory) {
    const std::uint32_t half = 0xabcd'ef01u;
    memory.initialize(kX + 4, &half, sizeof(half));
    return memory.load(0, kX, 8, weak());
  });
  EXPECT_EQ(values, Values{0xabcd'ef01'0000'0000u});
}

}  // namespace
}  // namespace gdakit::sim::weak::test
