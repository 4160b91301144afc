#include "sim/world/call_scope.h"

#include <utility>

#include "sim/world/kernel_team.h"

namespace gdakit::sim {
namespace {

const char* sign(Compare compare) {
  switch (compare) {
    case Compare::eq: return "==";
    case Compare::ne: return "!=";
    case Compare::gt: return ">";
    case Compare::ge: return ">=";
    case Compare::lt: return "<";
    case Compare::le: return "<=";
  }
  return "?";
}

}  // namespace

std::string bytes_text(std::uint64_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::string elements_text(std::uint64_t count, std::uint64_t element_bytes) {
  return std::to_string(count) + " x " + bytes_text(element_bytes);
}

std::string pe_text(int pe) { return "PE " + std::to_string(pe); }

const char* operation_text(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum: return "sum";
    case ReduceOp::prod: return "product";
    case ReduceOp::min: return "minimum";
    case ReduceOp::max: return "maximum";
    case ReduceOp::bit_and: return "and";
    case ReduceOp::bit_or: return "or";
    case ReduceOp::bit_xor: return "xor";
  }
  return "?";
}

bool CallScope::enter(CallPlace at, const char* name) {
  if (machine_.call() != nullptr) return false;
  machine_.enter_call(name, at);
  return true;
}

CallScope::CallScope(SimMachine& machine, CallPlace at, const char* name)
    : machine_(machine), outermost_(enter(at, name)) {
  if (outermost_ && machine.tracing()) machine.note_call(name, "");
}

CallScope::CallScope(SimMachine& machine, CallPlace at, const char* name, std::uint64_t bytes,
                     const char* direction, int pe, const void* remote)
    : machine_(machine), outermost_(enter(at, name)) {
  if (!outermost_ || !machine.tracing()) return;
  machine.note_call(
      std::string(name) + " " + bytes_text(bytes) + " " + direction + " " + pe_text(pe),
      machine.place_on(static_cast<std::uint32_t>(pe), remote));
}

CallScope::CallScope(SimMachine& machine, CallPlace at, const char* name, std::uint64_t bytes,
                     const char* direction, int pe)
    : machine_(machine), outermost_(enter(at, name)) {
  if (!outermost_ || !machine.tracing()) return;
  machine.note_call(
      std::string(name) + " " + bytes_text(bytes) + " " + direction + " " + pe_text(pe), "");
}

CallScope::CallScope(SimMachine& machine, CallPlace at, const char* name, std::uint64_t count,
                     std::uint64_t element_bytes, const char* direction, int pe, const void* remote)
    : machine_(machine), outermost_(enter(at, name)) {
  if (!outermost_ || !machine.tracing()) return;
  machine.note_call(std::string(name) + " " + elements_text(count, element_bytes) + " " +
                        direction + " " + pe_text(pe),
                    machine.place_on(static_cast<std::uint32_t>(pe), remote));
}

CallScope::CallScope(SimMachine& machine, CallPlace at, const char* name, std::uint64_t bytes,
                     int pe, const void* remote, SignalOp op, std::uint64_t value)
    : machine_(machine), outermost_(enter(at, name)) {
  if (!outermost_ || !machine.tracing()) return;
  machine.note_call(std::string(name) + " " + bytes_text(bytes) + " to " + pe_text(pe) +
                        (op == SignalOp::set ? ", set " : ", add ") + std::to_string(value),
                    machine.place_on(static_cast<std::uint32_t>(pe), remote));
}

CallScope::CallScope(SimMachine& machine, CallPlace at, const char* name, const std::string& value,
                     int pe, const void* remote)
    : machine_(machine), outermost_(enter(at, name)) {
  if (!outermost_ || !machine.tracing()) return;
  machine.note_call(std::string(name) + (value.empty() ? "" : " " + value) + " on " + pe_text(pe),
                    machine.place_on(static_cast<std::uint32_t>(pe), remote));
}

CallScope::CallScope(SimMachine& machine, CallPlace at, const char* name, Compare compare,
                     const std::string& value, const void* word)
    : machine_(machine), outermost_(enter(at, name)) {
  if (!outermost_ || !machine.tracing()) return;
  machine.note_call(std::string(name) + " " + sign(compare) + " " + value,
                    machine.place_here(word));
}

void CallScope::note_collective(std::string name, const std::string& details, Team team,
                                const void* dest) {
  if (!details.empty()) name += " " + details;
  if (team != kTeamWorld) name += " in team " + std::to_string(team.id);
  machine_.note_call(std::move(name), machine_.place_here(dest));
}

CallScope::~CallScope() {
  if (outermost_) machine_.leave_call();
}

}  // namespace gdakit::sim
