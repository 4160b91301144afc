#include "sim/litmus/runner.h"

#include <algorithm>
#include <limits>

namespace gdakit::sim::litmus {
namespace {

std::uint64_t hash(const Outcome& outcome) {
  std::uint64_t sum = 0x9e3779b97f4a7c15u;
  for (const std::int64_t value : outcome) {
    sum = (sum ^ static_cast<std::uint64_t>(value)) * 0xbf58476d1ce4e5b9u;
    sum ^= sum >> 29;
  }
  return sum == 0 ? 1 : sum;
}

// Where whoever looks at the final state is: nowhere near the threads.
constexpr weak::Place kObserver{.block = ~std::uint32_t{0}, .gpu = ~std::uint32_t{0}};

}  // namespace

Runner::Runner(const Program& program, const RunnerOptions& options)
    : program_(program),
      options_(options),
      shape_(program),
      barriers_(program, shape_),
      memory_(std::max<std::size_t>(1, program.locations.size()) * kLocationBytes, *this) {
  memory_options_.history = weak::kMaxSlots;
  memory_options_.max_stale = std::numeric_limits<std::uint32_t>::max();
  memory_options_.find_races = false;
  threads_.resize(program.threads.size());
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    threads_[t].registers.resize(program.threads[t].registers.size());
    threads_[t].jumps.resize(program.threads[t].code.size());
  }
}

std::string Runner::place(weak::Address address) const {
  const std::uint64_t location = address / kLocationBytes;
  return location < program_.locations.size() ? program_.locations[location].name : "?";
}

std::string Runner::agent(weak::AgentId agent) const {
  return agent < program_.threads.size() ? program_.threads[agent].name : "the final state";
}

RunResult Runner::run(Chooser& chooser, Trace* trace) {
  begin(chooser, trace);
  explore(chooser);
  const bool all_finished =
      std::all_of(threads_.begin(), threads_.end(),
                  [](const ThreadState& thread) { return thread.state == State::finished; });
  if (chooser.redundant()) {
    ending_ = Ending::redundant;
  } else if (beyond_bound_) {
    ending_ = Ending::beyond_bound;
  } else {
    ending_ = all_finished ? Ending::finished : Ending::blocked;
  }
  RunResult result;
  if (ending_ == Ending::finished) {
    finish();
    result.outcome = hash(outcome_);
  }
  result.redundant = ending_ == Ending::redundant;
  result.accesses = memory_.accesses();
  return result;
}

void Runner::begin(Chooser& chooser, Trace* trace) {
  memory_.begin(memory_options_, chooser, trace);
  for (const Thread& thread : program_.threads) memory_.add_agent(thread.place);
  memory_.add_agent(kObserver);
  if (trace != nullptr) {
    trace->scenario = program_.name;
    for (const Thread& thread : program_.threads) {
      trace->lanes.push_back({thread.name, "gpu " + std::to_string(thread.place.gpu)});
    }
    trace->lanes.push_back({"final state", "host"});
  }
  for (std::uint32_t i = 0; i < program_.locations.size(); ++i) {
    const std::int64_t value = program_.locations[i].initial;
    if (value != 0) memory_.initialize(address_of(i), &value, sizeof(value));
  }
  for (std::size_t t = 0; t < threads_.size(); ++t) {
    ThreadState& thread = threads_[t];
    thread.state = State::ready;
    thread.at = 0;
    for (std::size_t i = 0; i < thread.registers.size(); ++i) {
      thread.registers[i] = {program_.threads[t].initial[i], {}, false};
    }
    std::fill(thread.jumps.begin(), thread.jumps.end(), 0u);
  }
  barriers_.begin();
  open_.clear();
  last_ = 0;
  beyond_bound_ = false;
}

void Runner::explore(Chooser& chooser) {
  for (std::uint32_t t = 0; t < threads_.size(); ++t) run_locals(t);
  leave_barriers();
  while (!beyond_bound_) {
    forget_settled();
    collect_candidates();
    if (candidates_.empty()) return;
    const std::uint32_t picked = candidates_[chooser.choose_agent(candidates_)].agent;
    if (chooser.redundant()) return;
    last_ = picked;
    step(picked);
    leave_barriers();
  }
}

// Threads that can go on, and open read-modify-writes, which take effect at any time. Whoever ran
// last comes first.
void Runner::collect_candidates() {
  candidates_.clear();
  bool open_rmw = false;
  for (const OpenRead& read : open_) open_rmw = open_rmw || read.is_rmw;
  for (std::uint32_t t = 0; t < threads_.size(); ++t) {
    if (threads_[t].state != State::ready) continue;
    // What a thread learns may settle a read-modify-write that is open anywhere.
    add_candidate(t, open_rmw ? NextStep{} : next_step(t));
  }
  for (const OpenRead& read : open_) {
    if (!read.is_rmw) continue;
    const auto count = static_cast<std::uint32_t>(threads_.size());
    add_candidate(count + read.thread * 32 + read.location, NextStep{});
  }
}

void Runner::add_candidate(std::uint32_t agent, const NextStep& next) {
  candidates_.push_back({agent, next, false});
  if (agent == last_) std::rotate(candidates_.begin(), candidates_.end() - 1, candidates_.end());
}

NextStep Runner::next_step(std::uint32_t thread) const {
  using Kind = NextStep::Kind;
  const Instruction& instruction = program_.threads[thread].code[threads_[thread].at];
  for (const Operand* operand : {&instruction.left, &instruction.right}) {
    if (!needs_settling(thread, *operand)) continue;
    const weak::Later later = threads_[thread].registers[operand->number].later;
    const auto read = std::find_if(open_.begin(), open_.end(),
                                   [&](const OpenRead& open) { return open.later.id == later.id; });
    return {Kind::load, read->location};
  }
  if (instruction.op == Op::barrier) return {};
  const bool has_open = std::any_of(open_.begin(), open_.end(),
                                    [&](const OpenRead& read) { return read.thread == thread; });
  if (has_open && weak::acquires(instruction.sem)) return {};
  if (instruction.op == Op::fence) return {Kind::sc, 0};
  return {writes(instruction) ? Kind::store : Kind::load, instruction.location};
}

void Runner::step(std::uint32_t thread) {
  if (thread >= threads_.size()) {
    const auto read = std::find_if(open_.begin(), open_.end(), [&](const OpenRead& open) {
      return open.is_rmw && threads_.size() + open.thread * 32 + open.location == thread;
    });
    memory_.settle(read->later);
    return;
  }
  const Instruction& instruction = program_.threads[thread].code[threads_[thread].at];
  if (!settle_operand(thread, instruction)) execute(thread);
  run_locals(thread);
}

// What nobody else can notice, or could ever have noticed earlier or later.
bool Runner::is_local(std::uint32_t thread, const Instruction& instruction) const {
  if (needs_settling(thread, instruction.left) || needs_settling(thread, instruction.right)) {
    return false;
  }
  const bool takes_up = weak::acquires(instruction.sem) && !open_.empty();
  if (instruction.op == Op::fence) return instruction.sem != weak::Sem::sc && !takes_up;
  if (touches_memory(instruction)) return !shape_.is_shared(instruction.location) && !takes_up;
  // A barrier settles the updates that those who meet there know of.
  return instruction.op != Op::barrier ||
         std::none_of(open_.begin(), open_.end(), [](const OpenRead& read) { return read.is_rmw; });
}

void Runner::run_locals(std::uint32_t thread) {
  ThreadState& state = threads_[thread];
  const std::vector<Instruction>& code = program_.threads[thread].code;
  while (state.state == State::ready && !beyond_bound_) {
    if (state.at == code.size()) {
      state.state = State::finished;
    } else if (is_local(thread, code[state.at])) {
      execute(thread);
    } else {
      return;
    }
  }
}

void Runner::leave_barriers() {
  for (std::uint32_t t = 0; t < threads_.size(); ++t) {
    ThreadState& state = threads_[t];
    if (state.state != State::waiting || !barriers_.may_leave(t, state.ticket)) continue;
    memory_.leave(static_cast<weak::AgentId>(t), barriers_.clock(state.ticket));
    state.state = State::ready;
    run_locals(t);
    // It may have arrived where others wait for it.
    t = std::numeric_limits<std::uint32_t>::max();
  }
}

void Runner::finish() {
  memory_.settle_all();
  const auto observer = static_cast<weak::AgentId>(threads_.size());
  memory_.join_all(observer);
  outcome_.clear();
  for (const Observable& observable : program_.observables) {
    if (observable.is_register) {
      outcome_.push_back(value_of(threads_[observable.thread].registers[observable.number]));
    } else {
      outcome_.push_back(static_cast<std::int64_t>(
          memory_.load(observer, address_of(observable.number), kLocationBytes, {})));
    }
  }
}

}  // namespace gdakit::sim::litmus
