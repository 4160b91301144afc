// Steps: what each instruction of a thread or a NIC does.
#include <algorithm>
#include <cstring>

#include "core/format/doorbell.h"
#include "sim/niclitmus/runner.h"

namespace gdakit::sim::niclitmus {
namespace {

using litmus::Op;

bool apply_rmw(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh) {
  const auto arithmetic = static_cast<litmus::Arithmetic>(update.mask);
  *fresh = static_cast<std::uint64_t>(litmus::compute(arithmetic, static_cast<std::int64_t>(old),
                                                      static_cast<std::int64_t>(update.operand)));
  return true;
}

bool apply_cas(const weak::Update& update, std::uint64_t old, std::uint64_t* fresh) {
  *fresh = update.operand;
  return old == update.compare;
}

weak::Access access_of(const litmus::Instruction& instruction) {
  weak::Access access;
  access.sem = instruction.sem;
  access.scope = instruction.scope;
  access.no_result = instruction.destination == litmus::kNoRegister;
  return access;
}

}  // namespace

void Runner::execute(std::size_t index) {
  State& state = states_[index];
  const Step& step = step_of(index);
  ++state.at;
  switch (step.action) {
    case Action::instruction: execute_instruction(state, step.instruction); return;
    case Action::need:
      if (value_of(state, step.instruction.left) != value_of(state, step.instruction.right)) {
        state.at = static_cast<std::uint32_t>(program_.agents[index].steps.size());
      }
      return;
    case Action::mmio: {
      const auto value = static_cast<std::uint64_t>(value_of(state, step.instruction.left));
      for (std::size_t i = 0; i < states_.size(); ++i) {
        if (states_[i].nic == nullptr || program_.agents[i].pe != step.nic) continue;
        states_[i].nic->doorbells.store(state.agent, 0, format::kUarDoorbellBegin + 8 * step.number,
                                        value);
      }
      return;
    }
    default: execute_nic(state, step);
  }
}

void Runner::execute_instruction(State& state, const litmus::Instruction& instruction) {
  const std::uint32_t location = instruction.location;
  switch (instruction.op) {
    case Op::store:
      memory_.store(state.agent, model_address(location), program_.words[location].bytes,
                    static_cast<std::uint64_t>(value_of(state, instruction.left)),
                    access_of(instruction));
      return;
    case Op::load: {
      Register& to = state.registers[instruction.destination];
      to.later = memory_.load_later(state.agent, model_address(location),
                                    program_.words[location].bytes, access_of(instruction));
      to.open = true;
      state.reads_open |= !memory_.is_settled(to.later);
      return;
    }
    case Op::rmw:
    case Op::cas: {
      weak::Update update;
      update.apply = instruction.op == Op::cas ? apply_cas : apply_rmw;
      const auto left = static_cast<std::uint64_t>(value_of(state, instruction.left));
      update.operand = left;
      update.mask = static_cast<std::uint64_t>(instruction.arithmetic);
      if (instruction.op == Op::cas) {
        update.compare = left;
        update.operand = static_cast<std::uint64_t>(value_of(state, instruction.right));
      }
      const std::uint64_t old =
          memory_.rmw(state.agent, model_address(location), program_.words[location].bytes, update,
                      access_of(instruction));
      set(state, instruction.destination, static_cast<std::int64_t>(old));
      return;
    }
    case Op::move: set(state, instruction.destination, value_of(state, instruction.left)); return;
    case Op::compute:
      set(state, instruction.destination,
          litmus::compute(instruction.arithmetic, value_of(state, instruction.left),
                          value_of(state, instruction.right)));
      return;
    case Op::fence: memory_.fence(state.agent, instruction.sem, instruction.scope); return;
    default: return;  // the parser takes no others
  }
}

void Runner::execute_nic(State& state, const Step& step) {
  Nic& nic = *state.nic;
  switch (step.action) {
    case Action::doorbell: {
      const std::uint32_t picked = chooser_->choose(Choice::delivery, nic.doorbells.deliverable());
      const auto arrived = nic.doorbells.deliver(picked);
      if (arrived) {
        set(state, step.instruction.destination, static_cast<std::int64_t>(arrived->value));
      } else {
        --state.at;  // it still waits for one
      }
      return;
    }
    case Action::read: read_words(state, step); return;
    case Action::wait: take_words(state); return;
    case Action::write: write_words(state, step); return;
    case Action::cqe: {
      std::uint64_t words[8];
      std::fill_n(words, 8, static_cast<std::uint64_t>(value_of(state, step.instruction.left)));
      format::Cqe64 cqe;
      std::memcpy(&cqe, words, sizeof cqe);
      nic.port.write_cqe(dma_address(step.instruction.location), cqe);
      return;
    }
    case Action::add:
    case Action::swap: atomic(state, step); return;
    case Action::send: {
      softnic::Packet packet;
      packet.header.opcode = softnic::PacketOpcode::send_only_imm;
      packet.header.destination = step.nic;
      packet.header.imm = static_cast<std::uint32_t>(value_of(state, step.instruction.left));
      nic.wire.send(packet);
      return;
    }
    case Action::receive: receive(state, step); return;
    default: return;  // done by execute()
  }
}

void Runner::read_words(State& state, const Step& step) {
  const std::uint32_t location = step.instruction.location;
  const std::size_t bytes = std::size_t{program_.words[location].bytes} * step.number;
  state.readings.push_back({&step, std::vector<std::uint8_t>(bytes), 0});
  state.nic->port.read(state.readings.back().bytes.data(), dma_address(location), bytes);
}

// Moves what has been read to its registers.
void Runner::take_words(State& state) {
  for (const Reading& reading : state.readings) {
    const Step& step = *reading.step;
    if (step.action != Action::read) {
      set(state, step.instruction.destination, static_cast<std::int64_t>(reading.old));
      continue;
    }
    const std::uint32_t bytes = program_.words[step.instruction.location].bytes;
    for (std::uint32_t i = 0; i < step.number; ++i) {
      std::int64_t value = 0;
      std::memcpy(&value, reading.bytes.data() + std::size_t{i} * bytes, bytes);
      set(state, step.destinations[i], value);
    }
  }
  state.readings.clear();
}

void Runner::write_words(State& state, const Step& step) {
  const std::uint32_t location = step.instruction.location;
  const std::uint32_t bytes = program_.words[location].bytes;
  std::vector<std::uint8_t> buffer(step.values.size() * bytes);
  for (std::size_t i = 0; i < step.values.size(); ++i) {
    const std::int64_t value = value_of(state, step.values[i]);
    std::memcpy(buffer.data() + i * bytes, &value, bytes);
  }
  state.nic->port.write(dma_address(location), buffer.data(), buffer.size());
}

void Runner::atomic(State& state, const Step& step) {
  const std::uint32_t location = step.instruction.location;
  softnic::AtomicRequest request;
  request.size = static_cast<std::uint8_t>(program_.words[location].bytes);
  request.swap_add = static_cast<std::uint64_t>(value_of(state, step.instruction.left));
  if (step.action == Action::swap) {
    request.kind = softnic::AtomicKind::compare_swap;
    request.swap_mask = ~std::uint64_t{0};
  }
  state.readings.push_back({&step, {}, 0});
  state.nic->port.atomic(dma_address(location), request, &state.readings.back().old);
}

void Runner::receive(State& state, const Step& step) {
  Nic& nic = *state.nic;
  const softnic::Packet* const packet = nic.wire.receive();
  ++nic.received;
  set(state, step.instruction.destination, packet->header.imm);
  nic.wire.retire(packet);
}

std::int64_t Runner::value_of(State& state, const litmus::Operand& operand) {
  if (!operand.is_register) return operand.value;
  Register& number = state.registers[operand.number];
  if (number.open) {
    number.value = static_cast<std::int64_t>(memory_.settle(number.later));
    number.open = false;
  }
  return number.value;
}

void Runner::set(State& state, std::uint32_t destination, std::int64_t value) {
  if (destination == litmus::kNoRegister) return;
  state.registers[destination] = {value, {}, false};
}

}  // namespace gdakit::sim::niclitmus
