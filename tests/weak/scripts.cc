#include "tests/weak/scripts.h"

#include <memory>
#include <utility>

#include "sim/explore/exhaustive.h"

namespace gdakit::sim::weak::test {
namespace {

constexpr std::size_t kBytes = 64;

class PlainNames final : public Names {
 public:
  std::string place(Address address) const override { return "byte " + std::to_string(address); }
  std::string agent(AgentId agent) const override { return "agent " + std::to_string(agent); }
};

// Runs the scripts' steps in an order that the chooser picks.
void run_steps(Memory& memory, Chooser& chooser, const std::vector<Script>& scripts,
               std::vector<Script::Values>& values) {
  std::vector<std::vector<Script::Step>> steps;
  for (const Script& script : scripts) steps.push_back(script.steps());
  std::vector<std::size_t> next(scripts.size());
  std::uint32_t last = 0;
  std::vector<Candidate> candidates;
  while (!chooser.redundant()) {
    candidates.clear();
    for (std::uint32_t i = 0; i < scripts.size(); ++i) {
      const std::uint32_t agent = (last + i) % static_cast<std::uint32_t>(scripts.size());
      if (next[agent] < steps[agent].size()) candidates.push_back({agent, {}, false});
    }
    if (candidates.empty()) return;
    last = candidates[chooser.choose_agent(candidates)].agent;
    steps[last][next[last]++](memory, static_cast<AgentId>(last), values[last]);
  }
}

// Calls visit(memory, outcome) at the end of every execution.
template <class Visit>
void run_all(const std::vector<Script>& scripts, const std::vector<Address>& places,
             const MemoryOptions& options, Visit&& visit) {
  const PlainNames names;
  Memory memory(kBytes, names);
  ExhaustiveStrategy strategy;
  Chooser chooser(strategy);
  while (chooser.begin()) {
    memory.begin(options, chooser, nullptr);
    for (const Script& script : scripts) memory.add_agent(script.place());
    const AgentId observer = memory.add_agent({1000, 1000});
    std::vector<Script::Values> values(scripts.size());
    run_steps(memory, chooser, scripts, values);
    std::vector<std::uint64_t> outcome;
    for (const Script::Values& some : values) {
      outcome.insert(outcome.end(), some.begin(), some.end());
    }
    memory.join_all(observer);
    for (const Address place : places) outcome.push_back(memory.load(observer, place, 8, {}));
    visit(memory, outcome);
    chooser.end();
  }
}

}  // namespace

Update adding(std::uint64_t operand) {
  Update update;
  update.operand = operand;
  update.apply = [](const Update& of, std::uint64_t old, std::uint64_t* fresh) {
    *fresh = old + of.operand;
    return true;
  };
  return update;
}

std::vector<Script::Step> Script::steps() const {
  std::vector<Step> all = steps_;
  all.insert(all.end(), ends_.begin(), ends_.end());
  return all;
}

Script& Script::step(Step step) {
  steps_.push_back(std::move(step));
  return *this;
}

Script& Script::store(Address to, std::uint64_t value, const Access& access, std::uint32_t size) {
  return step(
      [=](Memory& memory, AgentId self, Values&) { memory.store(self, to, size, value, access); });
}

Script& Script::load(Address from, const Access& access, std::uint32_t size) {
  return step([=](Memory& memory, AgentId self, Values& values) {
    values.push_back(memory.load(self, from, size, access));
  });
}

Script& Script::load_later(Address from, const Access& access) {
  // The two steps share the access that is open; executions come one after the other.
  const auto later = std::make_shared<Later>();
  step([=](Memory& memory, AgentId self, Values&) {
    *later = memory.load_later(self, from, 8, access);
  });
  ends_.push_back(
      [=](Memory& memory, AgentId, Values& values) { values.push_back(memory.settle(*later)); });
  return *this;
}

Script& Script::add(Address at, std::uint64_t operand, const Access& access) {
  return step([=](Memory& memory, AgentId self, Values& values) {
    values.push_back(memory.rmw(self, at, 8, adding(operand), access));
  });
}

Script& Script::fence(Sem sem, Scope scope) {
  return step([=](Memory& memory, AgentId self, Values&) { memory.fence(self, sem, scope); });
}

Outcomes outcomes(const std::vector<Script>& scripts, const MemoryOptions& options) {
  return finals(scripts, {}, options);
}

Outcomes finals(const std::vector<Script>& scripts, const std::vector<Address>& places,
                const MemoryOptions& options) {
  MemoryOptions quiet = options;
  quiet.find_races = false;
  Outcomes all;
  run_all(scripts, places, quiet,
          [&](Memory&, const std::vector<std::uint64_t>& outcome) { all.insert(outcome); });
  return all;
}

std::set<FindingKind> findings(const std::vector<Script>& scripts) {
  std::set<FindingKind> all;
  run_all(scripts, {}, {},
          [&](Memory& memory, const std::vector<std::uint64_t>&) { all.insert(memory.finding()); });
  return all;
}

std::string finding_text(const std::vector<Script>& scripts) {
  std::string text;
  run_all(scripts, {}, {}, [&](Memory& memory, const std::vector<std::uint64_t>&) {
    if (text.empty()) text = memory.finding_text();
  });
  return text;
}

}  // namespace gdakit::sim::weak::test
