// What instructions do: their effect on registers and memory.
#include <algorithm>
#include <array>

#include "sim/litmus/runner.h"

namespace gdakit::sim::litmus {
namespace {

template <Arithmetic kArithmetic>
bool apply_arithmetic(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh) {
  *fresh = static_cast<std::uint64_t>(compute(kArithmetic, static_cast<std::int64_t>(old),
                                              static_cast<std::int64_t>(update.operand)));
  return true;
}

bool apply_cas(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh) {
  *fresh = update.operand;
  return old == update.compare;
}

// In the order of Arithmetic.
constexpr std::array<decltype(&apply_cas), 12> kAppliers = {
    &apply_arithmetic<Arithmetic::add>,       &apply_arithmetic<Arithmetic::subtract>,
    &apply_arithmetic<Arithmetic::multiply>,  &apply_arithmetic<Arithmetic::divide>,
    &apply_arithmetic<Arithmetic::bit_and>,   &apply_arithmetic<Arithmetic::bit_or>,
    &apply_arithmetic<Arithmetic::bit_xor>,   &apply_arithmetic<Arithmetic::exchange>,
    &apply_arithmetic<Arithmetic::minimum>,   &apply_arithmetic<Arithmetic::maximum>,
    &apply_arithmetic<Arithmetic::increment>, &apply_arithmetic<Arithmetic::decrement>};

weak::Access access_of(const Instruction& instruction) {
  weak::Access access{.sem = instruction.sem, .scope = instruction.scope};
  access.no_result = writes(instruction) && instruction.destination == kNoRegister;
  return access;
}

}  // namespace

void Runner::execute(std::uint32_t thread) {
  ThreadState& state = threads_[thread];
  const Instruction& instruction = program_.threads[thread].code[state.at];
  const auto agent = static_cast<weak::AgentId>(thread);
  const std::uint32_t next = state.at + 1;
  switch (instruction.op) {
    case Op::store:
      memory_.store(agent, address_of(instruction.location), kLocationBytes,
                    static_cast<std::uint64_t>(value_of(thread, instruction.left)),
                    access_of(instruction));
      break;
    case Op::load: load(thread, instruction); break;
    case Op::rmw:
    case Op::cas: update(thread, instruction); break;
    case Op::move: set(thread, instruction.destination, value_of(thread, instruction.left)); break;
    case Op::compute:
      set(thread, instruction.destination,
          compute(instruction.arithmetic, value_of(thread, instruction.left),
                  value_of(thread, instruction.right)));
      break;
    case Op::fence: memory_.fence(agent, instruction.sem, instruction.scope); break;
    case Op::barrier: arrive(thread, instruction); break;
    case Op::jump: return jump(thread, instruction.target);
    case Op::branch: {
      const bool taken = holds(instruction.compare, value_of(thread, instruction.left),
                               value_of(thread, instruction.right));
      if (taken) return jump(thread, instruction.target);
      break;
    }
  }
  state.at = next;
}

void Runner::load(std::uint32_t thread, const Instruction& instruction) {
  const auto agent = static_cast<weak::AgentId>(thread);
  const weak::Address from = address_of(instruction.location);
  if (may_defer(thread, instruction)) {
    set_later(thread, instruction,
              memory_.load_later(agent, from, kLocationBytes, access_of(instruction)));
    return;
  }
  set(thread, instruction.destination,
      static_cast<std::int64_t>(memory_.load(agent, from, kLocationBytes, access_of(instruction))));
}

void Runner::update(std::uint32_t thread, const Instruction& instruction) {
  weak::Update update;
  const auto left = static_cast<std::uint64_t>(value_of(thread, instruction.left));
  if (instruction.op == Op::cas) {
    update.apply = &apply_cas;
    update.compare = left;
    update.operand = static_cast<std::uint64_t>(value_of(thread, instruction.right));
  } else {
    update.apply = kAppliers[static_cast<std::size_t>(instruction.arithmetic)];
    update.operand = left;
  }
  const auto agent = static_cast<weak::AgentId>(thread);
  const weak::Address at = address_of(instruction.location);
  if (may_defer(thread, instruction)) {
    set_later(thread, instruction,
              memory_.rmw_later(agent, at, kLocationBytes, update, access_of(instruction)));
    return;
  }
  set(thread, instruction.destination,
      static_cast<std::int64_t>(
          memory_.rmw(agent, at, kLocationBytes, update, access_of(instruction))));
}

void Runner::arrive(std::uint32_t thread, const Instruction& instruction) {
  ThreadState& state = threads_[thread];
  const std::int64_t name = instruction.named ? value_of(thread, instruction.left) : 0;
  const Barriers::Ticket ticket = barriers_.arrive(thread, state.at, name, memory_);
  if (instruction.arrives_only) return;
  state.ticket = ticket;
  state.state = State::waiting;
}

void Runner::jump(std::uint32_t thread, std::uint32_t target) {
  ThreadState& state = threads_[thread];
  if (target <= state.at && ++state.jumps[state.at] >= options_.bound) beyond_bound_ = true;
  state.at = target;
}

bool Runner::may_defer(std::uint32_t thread, const Instruction& instruction) const {
  if (!shape_.may_defer(thread, threads_[thread].at)) return false;
  for (std::uint32_t other = 0; other < threads_.size(); ++other) {
    if (other == thread) continue;
    const LocationSet written = shape_.writes_from(other, threads_[other].at);
    if ((written >> instruction.location & 1) != 0) return true;
  }
  return std::any_of(open_.begin(), open_.end(), [&](const OpenRead& read) {
    return read.is_rmw && read.location == instruction.location && read.thread != thread;
  });
}

bool Runner::needs_settling(std::uint32_t thread, const Operand& operand) const {
  if (!operand.is_register) return false;
  const Register& number = threads_[thread].registers[operand.number];
  return number.open && !memory_.is_settled(number.later);
}

// Settles one operand that is open. False if there is none.
bool Runner::settle_operand(std::uint32_t thread, const Instruction& instruction) {
  for (const Operand* operand : {&instruction.left, &instruction.right}) {
    if (!needs_settling(thread, *operand)) continue;
    memory_.settle(threads_[thread].registers[operand->number].later);
    return true;
  }
  return false;
}

std::int64_t Runner::value_of(std::uint32_t thread, const Operand& operand) {
  return operand.is_register ? value_of(threads_[thread].registers[operand.number]) : operand.value;
}

std::int64_t Runner::value_of(Register& number) {
  if (number.open) {
    number.value = static_cast<std::int64_t>(memory_.settle(number.later));
    number.open = false;
  }
  return number.value;
}

void Runner::set(std::uint32_t thread, std::uint32_t destination, std::int64_t value) {
  if (destination == kNoRegister) return;
  threads_[thread].registers[destination] = {value, {}, false};
}

void Runner::set_later(std::uint32_t thread, const Instruction& instruction, weak::Later later) {
  if (!memory_.is_settled(later)) {
    open_.push_back({thread, instruction.location, later, writes(instruction)});
  }
  if (instruction.destination == kNoRegister) return;
  threads_[thread].registers[instruction.destination] = {0, later, true};
}

void Runner::forget_settled() {
  if (open_.empty()) return;
  open_.erase(std::remove_if(open_.begin(), open_.end(),
                             [&](const OpenRead& read) { return memory_.is_settled(read.later); }),
              open_.end());
}

}  // namespace gdakit::sim::litmus
