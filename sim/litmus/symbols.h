// Symbols: names of a litmus test -> numbers in its Program. A name that is used exists.
#pragma once

#include <string>
#include <string_view>

#include "sim/litmus/program.h"

namespace gdakit::sim::litmus {

// "r0", "r12".
inline bool is_register_name(std::string_view name) {
  return name.size() > 1 && name.front() == 'r' &&
         name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

inline std::uint32_t location_number(Program& program, std::string_view name) {
  for (std::uint32_t i = 0; i < program.locations.size(); ++i) {
    if (program.locations[i].name == name) return i;
  }
  program.locations.push_back(Location{std::string(name), 0});
  return static_cast<std::uint32_t>(program.locations.size() - 1);
}

inline std::uint32_t register_number(Thread& thread, std::string_view name) {
  for (std::uint32_t i = 0; i < thread.registers.size(); ++i) {
    if (thread.registers[i] == name) return i;
  }
  thread.registers.emplace_back(name);
  thread.initial.push_back(0);
  return static_cast<std::uint32_t>(thread.registers.size() - 1);
}

inline std::uint32_t observable_number(Program& program, const Observable& observable) {
  for (std::uint32_t i = 0; i < program.observables.size(); ++i) {
    if (program.observables[i] == observable) return i;
  }
  program.observables.push_back(observable);
  return static_cast<std::uint32_t>(program.observables.size() - 1);
}

}  // namespace gdakit::sim::litmus
