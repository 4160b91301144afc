// Executions: their beginning and end, and who can go on. Steps are in runner_steps.cc.
#include "sim/niclitmus/runner.h"

#include <algorithm>

namespace gdakit::sim::niclitmus {
namespace {

using litmus::Op;

constexpr std::uint64_t kArenaBase = 0x10000;
constexpr std::uint32_t kNicPlaces = 1 << 24;  // NICs stand apart from every block and GPU
// What the doorbells and packets to one NIC depend on, among NextStep's objects.
constexpr std::uint64_t kDoorbells = std::uint64_t{1} << 40;
constexpr std::uint64_t kPackets = std::uint64_t{1} << 41;

std::uint64_t hash(std::uint64_t seed, std::uint64_t value) {
  return (seed ^ value) * 0x9e3779b97f4a7c15u + (seed >> 29);
}

}  // namespace

Runner::Nic::Nic(Runner& runner, const PortPlace& place)
    : port(runner.memory_, *runner.chooser_, runner.knobs_, runner.space_, runner.program_.layout,
           place),
      doorbells(runner.memory_, *runner.chooser_, runner.knobs_, port.agent(), place.lane),
      wire(*runner.fabric_, place.pe, port.agent(), place.lane) {
  port.place_after(wire.sender_knew());
}

Runner::Runner(const Program& program, const Knobs& knobs)
    : program_(program),
      knobs_(knobs),
      space_{kArenaBase, program.bytes_per_pe},
      memory_(program.bytes_per_pe * program.pes, *this),
      states_(program.agents.size()) {}

Runner::~Runner() = default;

std::string Runner::place(weak::Address address) const {
  for (std::size_t i = 0; i < program_.words.size(); ++i) {
    const weak::Address word = model_address(static_cast<std::uint32_t>(i));
    if (address >= word && address < word + program_.words[i].bytes) {
      return program_.base.locations[i].name;
    }
  }
  return place_name(space_, program_.layout, address);
}

std::string Runner::agent(weak::AgentId agent) const {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const bool its = states_[i].nic ? states_[i].nic->port.owns(agent) : states_[i].agent == agent;
    if (its) return program_.base.threads[i].name;
  }
  return "the observer";
}

softnic::DmaAddress Runner::dma_address(std::uint32_t location) const {
  return {space_.arena_base + program_.words[location].offset};
}

weak::Address Runner::model_address(std::uint32_t location) const {
  const Word& word = program_.words[location];
  return word.pe * space_.bytes_per_pe + word.offset;
}

// One execution.

RunResult Runner::run(Chooser& chooser, Trace* trace) {
  begin(chooser, trace);
  RunResult result;
  for (;;) {
    collect_candidates();
    if (candidates_.empty()) break;
    const std::uint32_t picked = chooser.choose_agent(candidates_);
    if (chooser.redundant()) {
      result.redundant = true;
      return result;
    }
    last_ = candidates_[picked].agent;
    go(last_, chooser);
  }
  finish();
  for (const std::int64_t value : outcome_) {
    result.outcome = hash(result.outcome, static_cast<std::uint64_t>(value));
  }
  result.finding = memory_.finding();
  result.text = memory_.finding_text();
  result.accesses = memory_.accesses();
  return result;
}

void Runner::begin(Chooser& chooser, Trace* trace) {
  chooser_ = &chooser;
  last_ = 0;
  for (State& state : states_) state = {};
  memory_.begin({}, chooser, trace);
  fabric_ = std::make_unique<SimFabric>(memory_, chooser, knobs_);
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const litmus::Thread& thread = program_.base.threads[i];
    const auto lane = static_cast<std::uint32_t>(i);
    if (trace != nullptr) trace->lanes.push_back({thread.name, ""});
    for (const std::int64_t initial : thread.initial) {
      states_[i].registers.push_back({initial, {}, false});
    }
    if (program_.agents[i].is_nic) {
      const std::uint32_t pe = program_.agents[i].pe;
      const weak::Place place = nic_place(knobs_, program_.layout, pe, kNicPlaces + pe);
      states_[i].nic = std::make_unique<Nic>(*this, PortPlace{pe, pe, place, pe, lane});
      states_[i].agent = states_[i].nic->port.agent();
    } else {
      states_[i].agent = memory_.add_agent(thread.place);
      memory_.set_lane(states_[i].agent, lane);
    }
  }
  observer_ = memory_.add_agent({kNicPlaces - 1, kNicPlaces - 1, false});
  for (std::uint32_t i = 0; i < program_.words.size(); ++i) {
    const std::int64_t initial = program_.base.locations[i].initial;
    memory_.initialize(model_address(i), &initial, program_.words[i].bytes);
  }
}

void Runner::finish() {
  memory_.settle_all();
  for (State& state : states_) take_words(state);
  memory_.join_all(observer_);
  outcome_.clear();
  for (const litmus::Observable& observable : program_.base.observables) {
    if (observable.is_register) {
      State& state = states_[observable.thread];
      litmus::Operand operand;
      operand.is_register = true;
      operand.number = observable.number;
      outcome_.push_back(value_of(state, operand));
    } else {
      const Word& word = program_.words[observable.number];
      outcome_.push_back(static_cast<std::int64_t>(
          memory_.load(observer_, model_address(observable.number), word.bytes, {})));
    }
  }
}

// Who can go on.

void Runner::collect_candidates() {
  candidates_.clear();
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (!can_go(i)) continue;
    candidates_.push_back({static_cast<std::uint32_t>(i), next(i), false});
    if (i == last_) std::rotate(candidates_.begin(), candidates_.end() - 1, candidates_.end());
  }
}

bool Runner::can_execute(std::size_t index) const {
  const State& state = states_[index];
  if (state.at == program_.agents[index].steps.size()) return false;
  if (state.nic == nullptr) return true;
  switch (step_of(index).action) {
    case Action::doorbell: return state.nic->doorbells.deliverable() != 0;
    case Action::wait: return !state.nic->port.pending();
    case Action::receive: return state.nic->wire.arrivals() != state.nic->received;
    default: return true;
  }
}

bool Runner::can_go(std::size_t index) const {
  const State& state = states_[index];
  return can_execute(index) || (state.nic != nullptr && state.nic->port.pending());
}

NextStep Runner::next(std::size_t index) const {
  const State& state = states_[index];
  const bool has_dma = state.nic != nullptr && state.nic->port.pending();
  if (!has_dma) return next_of_program(index);
  // What the NIC can do instead must not depend on others, or its step is not certain.
  const bool at_end = state.at == program_.agents[index].steps.size();
  const bool waits = at_end || step_of(index).action == Action::wait;
  return waits ? state.nic->port.next() : NextStep{};
}

NextStep Runner::next_of_program(std::size_t index) const {
  using Kind = NextStep::Kind;
  const State& state = states_[index];
  // Whoever settles a load touches more than the step says.
  if (state.reads_open) return {};
  const Step& step = step_of(index);
  const litmus::Instruction& instruction = step.instruction;
  const std::uint64_t word = model_address(instruction.location) / 8;
  switch (step.action) {
    case Action::instruction:
      if (instruction.op == Op::fence && instruction.sem == weak::Sem::sc) return {Kind::sc, 0};
      if (litmus::writes(instruction)) return {Kind::store, word};
      if (litmus::reads(instruction)) return {Kind::load, word};
      return {Kind::local, 0};
    case Action::mmio: return {Kind::sync, kDoorbells + step.nic};
    case Action::doorbell: return {Kind::sync, kDoorbells + program_.agents[index].pe};
    case Action::send: return {Kind::sync, kPackets + step.nic};
    case Action::receive: return {Kind::sync, kPackets + program_.agents[index].pe};
    case Action::add:
    case Action::swap: return {Kind::store, word};
    case Action::write:
      if (step.values.size() == 1) return {Kind::store, word};
      return {};
    case Action::cqe: return {};
    case Action::need:
    case Action::read:
    case Action::wait: return {Kind::local, 0};
  }
  return {};
}

void Runner::go(std::size_t index, Chooser& chooser) {
  State& state = states_[index];
  const bool has_dma = state.nic != nullptr && state.nic->port.pending();
  if (has_dma && (!can_execute(index) || chooser.choose(Choice::delivery, 2) == 0)) {
    state.nic->port.advance();
    return;
  }
  execute(index);
}

}  // namespace gdakit::sim::niclitmus
