// What does a simulated execution cost? Executions per second of two small tests, to be held
// against the goals (50,000/s of message passing, 5,000/s of put and quiet on one core), and what
// single accesses and switches add.
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "sim/explore/mixed.h"
#include "sim/explore/replay.h"
#include "sim/explore/scenario_list.h"
#include "sim/weak/memory.h"
#include "sim/world/world.h"

namespace {

using namespace gdakit;
using namespace gdakit::sim;
using weak::Access;
using weak::AgentId;
using weak::Memory;
using weak::Sem;

struct Numbers final : weak::Names {
  std::string place(weak::Address address) const override { return std::to_string(address); }
  std::string agent(AgentId agent) const override { return std::to_string(agent); }
};

constexpr std::uint32_t kAgents = 16;
constexpr int kAccesses = 512;  // of an execution

// A memory with agents in two blocks of each of two GPUs, and plain choices.
struct Bare {
  Numbers names;
  Memory memory{4096, names};
  ReplayStrategy strategy{{}};
  Chooser chooser{strategy};

  void begin() {
    chooser.begin();
    memory.begin({}, chooser, nullptr);
    for (std::uint32_t i = 0; i < kAgents; ++i) memory.add_agent({i / 4, i / 8, false});
  }
};

template <class Step>
void accesses(benchmark::State& state, Step&& step) {
  Bare bare;
  for (auto _ : state) {
    bare.begin();
    for (int i = 0; i < kAccesses; ++i) step(bare.memory, i);
  }
  state.SetItemsProcessed(state.iterations() * kAccesses);
}

AgentId agent_of(int i) { return static_cast<AgentId>(i % static_cast<int>(kAgents)); }

void load(benchmark::State& state) {
  accesses(state, [](Memory& memory, int i) {
    benchmark::DoNotOptimize(memory.load(agent_of(i), 8 * static_cast<weak::Address>(i % 64), 8,
                                         {.sem = Sem::relaxed, .scope = Scope::gpu}));
  });
}
BENCHMARK(load);

void load_acquire_of_release(benchmark::State& state) {
  accesses(state, [](Memory& memory, int i) {
    const weak::Address at = 8 * static_cast<weak::Address>(i / 2 % 64);
    if (i % 2 == 0) {
      memory.store(agent_of(i), at, 8, 1, {.sem = Sem::release, .scope = Scope::system});
    } else {
      memory.load(agent_of(i), at, 8, {.sem = Sem::acquire, .scope = Scope::system});
    }
  });
}
BENCHMARK(load_acquire_of_release);

void store_weak(benchmark::State& state) {
  accesses(state, [](Memory& memory, int i) {
    memory.store(agent_of(i), 8 * static_cast<weak::Address>(i), 8, 1, {});
  });
}
BENCHMARK(store_weak);

void rmw_acq_rel(benchmark::State& state) {
  const weak::Update add{
      .apply =
          [](const weak::Update& update, std::uint64_t old, std::uint64_t* fresh) {
            *fresh = old + update.operand;
            return true;
          },
      .operand = 1};
  accesses(state, [&](Memory& memory, int i) {
    memory.rmw(agent_of(i), 0, 8, add, {.sem = Sem::acq_rel, .scope = Scope::system});
  });
}
BENCHMARK(rmw_acq_rel);

void fence_release(benchmark::State& state) {
  accesses(state,
           [](Memory& memory, int i) { memory.fence(agent_of(i), Sem::release, Scope::system); });
}
BENCHMARK(fence_release);

void fence_sc(benchmark::State& state) {
  accesses(state, [](Memory& memory, int i) { memory.fence(agent_of(i), Sem::sc, Scope::system); });
}
BENCHMARK(fence_sc);

// Message passing by two agents, every interleaving and value by chance.
void message_passing(benchmark::State& state) {
  Numbers names;
  Memory memory(64, names);
  MixedStrategy strategy(1);
  Chooser chooser(strategy);
  for (auto _ : state) {
    chooser.begin();
    memory.begin({.find_races = false}, chooser, nullptr);
    memory.add_agent({0, 0, false});
    memory.add_agent({1, 0, false});
    int done[2] = {0, 0};
    while (done[0] < 2 || done[1] < 2) {
      Candidate candidates[2];
      std::size_t count = 0;
      for (std::uint32_t i = 0; i < 2; ++i) {
        if (done[i] < 2) candidates[count++].agent = i;
      }
      const std::uint32_t who = candidates[chooser.choose_agent({candidates, count})].agent;
      const int step = done[who]++;
      if (who == 0) {
        memory.store(0, step == 0 ? 0 : 8, 8, 1,
                     {.sem = step == 0 ? Sem::weak : Sem::release, .scope = Scope::gpu});
      } else {
        memory.load(1, step == 0 ? 8 : 0, 8,
                    {.sem = step == 0 ? Sem::acquire : Sem::weak, .scope = Scope::gpu});
      }
    }
    chooser.end();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(message_passing);

// Two threads that only give way to each other.
struct Yields {
  std::uint64_t* word;
  template <class Pe>
  void operator()(Pe& pe) const {
    for (int i = 0; i < 64; ++i) pe.machine().fetch_add(order::RelaxedGpu{}, word, 1);
  }
};

// Every access of another thread: what a switch between fibers adds, against the same accesses by
// one thread.
void accesses_of_threads(benchmark::State& state) {
  World world("switch", {.pes = 1});
  auto* const word = world.allocate<std::uint64_t>("word", 1);
  const auto threads = static_cast<std::uint32_t>(state.range(0));
  for (std::uint32_t i = 0; i < threads; ++i) {
    world.launch_on(0, {.blocks = 1, .threads = 1}, Yields{word});
  }
  // Pick 1 is always another agent.
  struct Alternate final : Strategy {
    bool begin() override { return true; }
    std::uint32_t pick(Choice, std::uint32_t) override { return 0; }
    std::uint32_t pick_agent(std::span<const Candidate>) override { return 1; }
  } strategy;
  Chooser chooser(strategy);
  std::uint64_t accesses = 0;
  for (auto _ : state) {
    chooser.begin();
    accesses += world.run(chooser, nullptr).accesses;
    chooser.end();
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(accesses));
}
BENCHMARK(accesses_of_threads)->Arg(1)->Arg(2);

void scenario(benchmark::State& state, const char* name) {
  std::unique_ptr<Subject> subject;
  for (const ScenarioEntry& entry : scenario_list()) {
    if (std::string(entry.name) == name) subject = entry.make({});
  }
  MixedStrategy strategy(1);
  Chooser chooser(strategy);
  std::uint64_t accesses = 0;
  for (auto _ : state) {
    chooser.begin();
    accesses += subject->run(chooser, nullptr).accesses;
    chooser.end();
  }
  state.SetItemsProcessed(state.iterations());
  state.counters["accesses"] =
      static_cast<double>(accesses) / static_cast<double>(state.iterations());
}
BENCHMARK_CAPTURE(scenario, put_quiet, "put-quiet");
BENCHMARK_CAPTURE(scenario, two_blocks, "two-blocks");
BENCHMARK_CAPTURE(scenario, full_queue, "full-queue");

}  // namespace

BENCHMARK_MAIN();
