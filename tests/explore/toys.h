// Subjects without a memory model, whose state is small enough to know everything about them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/choice/subject.h"
#include "sim/explore/generator.h"

namespace gdakit::sim::test {

// What agents of a toy do, a step each.
struct Op {
  enum class Kind : std::uint8_t {
    local,  // nothing that others see
    load,   // any of the last `value` values of the register: Choice::load
    store,  // `value`
    inc,    // stores what the agent loaded last, plus one
    add,    // adds `value` at once
    await,  // can go on only when the register is not 0, and reads it
    poll,   // the same, but by looking again and again
    sc,     // appends itself to a list that all share
  };
  Kind kind = Kind::local;
  std::uint32_t place = 0;
  std::uint32_t value = 1;
};

struct ToyState {
  std::vector<std::vector<std::uint64_t>> places;  // all values, the newest last
  std::vector<std::vector<std::uint64_t>> seen;    // by agent: what it has read
  std::vector<std::uint64_t> sc_order;

  std::uint64_t newest(std::uint32_t place) const { return places[place].back(); }
  std::uint64_t hash() const {
    std::uint64_t sum = 0;
    const auto add = [&](std::uint64_t value) { sum = scramble(sum * 3 + value + 1); };
    for (const auto& history : places) add(history.back());
    for (const auto& values : seen) {
      add(values.size());
      for (const std::uint64_t value : values) add(value);
    }
    for (const std::uint64_t agent : sc_order) add(agent);
    return sum;
  }
};

class Toy : public Subject {
 public:
  using Program = std::vector<std::vector<Op>>;  // by agent
  // Says what is wrong with a final state; "" if nothing is.
  using Invariant = std::function<std::string(const ToyState&)>;

  Toy(std::string name, std::uint32_t places, Program program, Invariant invariant = {})
      : name_(std::move(name)),
        places_(places),
        program_(std::move(program)),
        invariant_(std::move(invariant)) {}

  const std::string& name() const override { return name_; }

  RunResult run(Chooser& chooser, Trace* trace) override {
    state_ = ToyState{{places_, {0}}, std::vector<std::vector<std::uint64_t>>(program_.size()), {}};
    positions_.assign(program_.size(), 0);
    yielded_.assign(program_.size(), false);
    steps.clear();
    running_ = 0;
    if (trace != nullptr) {
      for (std::size_t i = 0; i < program_.size(); ++i) {
        trace->lanes.push_back({"agent " + std::to_string(i), "agents"});
      }
    }
    RunResult result;
    for (;;) {
      const std::vector<Candidate> candidates = ready();
      if (candidates.empty()) break;
      const std::uint32_t picked = chooser.choose_agent(candidates);
      if (chooser.redundant()) {
        result.redundant = true;
        return result;
      }
      running_ = candidates[picked].agent;
      steps.push_back({running_, candidates[picked].next});
      step(running_, chooser, trace);
      ++result.accesses;
      if (result.accesses > 10000) {
        result.finding = FindingKind::hang;
        result.text = "the toy does not end";
        return result;
      }
    }
    result.outcome = state_.hash();
    finish(result);
    return result;
  }

  const ToyState& state() const { return state_; }

  // Of the last execution: who did what, in order.
  std::vector<std::pair<std::uint32_t, NextStep>> steps;

 private:
  bool done(std::size_t agent) const { return positions_[agent] == program_[agent].size(); }

  NextStep next_of(const Op& op) const {
    switch (op.kind) {
      case Op::Kind::local: return {NextStep::Kind::local, 0};
      case Op::Kind::sc: return {NextStep::Kind::sc, 0};
      case Op::Kind::load:
      case Op::Kind::await:
      case Op::Kind::poll: return {NextStep::Kind::load, op.place};
      default: return {NextStep::Kind::store, op.place};
    }
  }

  std::vector<Candidate> ready() const {
    std::vector<Candidate> candidates;
    const auto add = [&](std::uint32_t agent) {
      if (done(agent)) return;
      const Op& op = program_[agent][positions_[agent]];
      if (op.kind == Op::Kind::await && state_.newest(op.place) == 0) return;
      candidates.push_back({agent, next_of(op), yielded_[agent]});
    };
    add(running_);
    for (std::uint32_t agent = 0; agent < program_.size(); ++agent) {
      if (agent != running_) add(agent);
    }
    return candidates;
  }

  void step(std::uint32_t agent, Chooser& chooser, Trace* trace) {
    const Op op = program_[agent][positions_[agent]];
    yielded_[agent] = false;
    std::vector<std::uint64_t>& history = state_.places[op.place];
    std::vector<std::uint64_t>& seen = state_.seen[agent];
    std::uint32_t stale = 0;
    switch (op.kind) {
      case Op::Kind::local: break;
      case Op::Kind::load: {
        const auto values = static_cast<std::uint32_t>(history.size());
        stale = chooser.choose(Choice::load, std::min(op.value, values));
        seen.push_back(history[values - 1 - stale]);
        break;
      }
      case Op::Kind::store: history.push_back(op.value); break;
      case Op::Kind::inc: history.push_back((seen.empty() ? 0 : seen.back()) + 1); break;
      case Op::Kind::add: history.push_back(history.back() + op.value); break;
      case Op::Kind::await: seen.push_back(history.back()); break;
      case Op::Kind::poll:
        yielded_[agent] = history.back() == 0;
        if (!yielded_[agent]) seen.push_back(history.back());
        break;
      case Op::Kind::sc: state_.sc_order.push_back(agent); break;
    }
    if (!yielded_[agent]) ++positions_[agent];
    if (trace != nullptr) note(agent, op, stale, *trace);
  }

  void note(std::uint32_t agent, const Op& op, std::uint32_t stale, Trace& trace) const {
    static constexpr const char* kNames[] = {"local", "load",  "store", "inc",
                                             "add",   "await", "poll",  "sc"};
    Event event;
    event.lane = agent;
    event.kind = op.kind == Op::Kind::load ? EventKind::load : EventKind::note;
    event.what = kNames[static_cast<std::size_t>(op.kind)];
    event.where = "place " + std::to_string(op.place);
    event.bytes = 8;
    event.value = op.kind == Op::Kind::load ? state_.seen[agent].back() : state_.newest(op.place);
    event.stale_by = stale;
    trace.events.push_back(event);
  }

  void finish(RunResult& result) const {
    for (std::size_t agent = 0; agent < program_.size(); ++agent) {
      if (done(agent)) continue;
      result.finding = FindingKind::hang;
      result.text = "agent " + std::to_string(agent) + " waits for ever";
      return;
    }
    if (!invariant_) return;
    result.text = invariant_(state_);
    if (!result.text.empty()) result.finding = FindingKind::invariant;
  }

  std::string name_;
  std::uint32_t places_;
  Program program_;
  Invariant invariant_;
  ToyState state_;
  std::vector<std::size_t> positions_;
  std::vector<bool> yielded_;
  std::uint32_t running_ = 0;
};

// `agents` agents that each count one register up `times` times; by load and store (racy), or at
// once.
inline Toy counter(bool racy, std::uint32_t agents = 2, std::uint32_t times = 1) {
  std::vector<Op> body;
  for (std::uint32_t i = 0; i < times; ++i) {
    if (racy) {
      body.push_back({Op::Kind::load, 0, 1});
      body.push_back({Op::Kind::inc, 0});
    } else {
      body.push_back({Op::Kind::add, 0, 1});
    }
  }
  const std::uint64_t expected = std::uint64_t{agents} * times;
  return Toy(racy ? "racy-counter" : "counter", 1, Toy::Program(agents, body),
             [expected](const ToyState& state) -> std::string {
               if (state.newest(0) == expected) return "";
               return "the counter is " + std::to_string(state.newest(0)) + " and not " +
                      std::to_string(expected);
             });
}

// A flag after data, with loads that may be stale: agent 1 waits for the flag and then must see the
// data.
inline Toy message(bool stale) {
  return Toy(stale ? "stale-message" : "message", 2,
             {{{Op::Kind::store, 0, 7}, {Op::Kind::store, 1, 1}},
              {{Op::Kind::poll, 1}, {Op::Kind::load, 0, stale ? 2u : 1u}}},
             [](const ToyState& state) -> std::string {
               return state.seen[1].back() == 7 ? "" : "the data is not there";
             });
}

}  // namespace gdakit::sim::test
