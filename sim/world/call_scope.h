// CallScope: while it lives, its thread is in a call of gdakit's. Traces show the call as one event
// of the kernel's source, and what the protocol does in it as parts of that.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "device/signal.h"
#include "device/team.h"
#include "device/views.h"
#include "sim/world/sim_machine.h"

namespace gdakit::sim {

class CallScope {
 public:
  // "quiet"
  CallScope(SimMachine& machine, CallPlace at, const char* name);
  // "put_nbi 8 bytes to PE 1", with the place there
  CallScope(SimMachine& machine, CallPlace at, const char* name, std::uint64_t bytes,
            const char* direction, int pe, const void* remote);
  // "send 8 bytes to PE 1"
  CallScope(SimMachine& machine, CallPlace at, const char* name, std::uint64_t bytes,
            const char* direction, int pe);
  // "iput 4 x 8 bytes to PE 1", with the place there
  CallScope(SimMachine& machine, CallPlace at, const char* name, std::uint64_t count,
            std::uint64_t element_bytes, const char* direction, int pe, const void* remote);
  // "put_signal 8 bytes to PE 1, set 3"
  CallScope(SimMachine& machine, CallPlace at, const char* name, std::uint64_t bytes, int pe,
            const void* remote, SignalOp op, std::uint64_t value);
  // "signal add 1 to PE 1", with the place there
  CallScope(SimMachine& machine, CallPlace at, const char* name, const std::string& value, int pe,
            const void* remote);
  // "wait_until >= 3", with the place on this PE
  CallScope(SimMachine& machine, CallPlace at, const char* name, Compare compare,
            const std::string& value, const void* word);
  // "broadcast 64 bytes from PE 0 in team 2", with the place of `dest` on this PE. What comes
  // between name and team is what `details` returns.
  template <class Details>
  CallScope(SimMachine& machine, CallPlace at, const char* name, Team team, const void* dest,
            const Details& details)
      : machine_(machine), outermost_(enter(at, name)) {
    if (outermost_ && machine.tracing()) note_collective(name, details(), team, dest);
  }
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  bool enter(CallPlace at, const char* name);
  void note_collective(std::string name, const std::string& details, Team team, const void* dest);

  SimMachine& machine_;
  const bool outermost_;  // a call inside of a call is a part of that
};

std::string bytes_text(std::uint64_t bytes);                                  // "64 bytes"
std::string elements_text(std::uint64_t count, std::uint64_t element_bytes);  // "4 x 8 bytes"
std::string pe_text(int pe);                                                  // "PE 1"

// "-1", "0.5"; "" for what is no number.
template <class T>
std::string number_text(const T& value) {
  if constexpr (std::is_enum_v<T>) {
    return number_text(static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_arithmetic_v<T>) {
    return std::to_string(value);
  } else {
    return "";
  }
}

// As number_text, where a trace wants the text; else "".
template <class T>
std::string shown(const SimMachine& machine, const T& value) {
  return machine.tracing() ? number_text(value) : std::string();
}

}  // namespace gdakit::sim
