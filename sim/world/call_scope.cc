#include "sim/world/call_scope.h"

namespace gdakit::sim {
namespace {

std::string bytes_text(std::uint64_t bytes) {
  return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
}

std::string pe_text(int pe) { return "PE " + std::to_string(pe); }

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

CallScope::~CallScope() {
  if (outermost_) machine_.leave_call();
}

}  // namespace gdakit::sim
