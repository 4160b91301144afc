// Program: a PTX litmus test, parsed.
//
//   PTX MP                                     name
//   { x=0; P1:r1=0; }                          initial values: 0 where nothing is said
//    P0@cta 0,gpu 0      | P1@cta 1,gpu 0 ;    threads and where they run
//    st.weak x, 1        | ld.acquire.gpu r1, y ;
//    st.release.gpu y, 1 | ld.weak r2, x ;
//   ~exists (P1:r1 == 1 /\ P1:r2 == 0)         a condition on the final state
//
// Locations, registers and threads are numbers here; their names are kept for people. Every value
// has 64 bits and a sign.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/litmus/condition.h"
#include "sim/weak/accesses.h"

namespace gdakit::sim::litmus {

enum class Op : std::uint8_t {
  store,    // location := left
  load,     // destination := location
  move,     // destination := left
  compute,  // destination := left (arithmetic) right
  rmw,      // destination := location; location := location (arithmetic) left
  cas,      // the same, if the location has the value left: location := right
  fence,
  barrier,
  branch,  // to target if left (compare) right
  jump,    // to target
};

enum class Arithmetic : std::uint8_t {
  add,
  subtract,
  multiply,
  divide,
  bit_and,
  bit_or,
  bit_xor,
  exchange,  // the operand alone
  minimum,
  maximum,
  increment,  // 0 if the old value is not below the operand, else one more
  decrement,  // the operand if the old value is 0 or above it, else one less
};

// Wraps around; a division by zero gives 0.
std::int64_t compute(Arithmetic arithmetic, std::int64_t left, std::int64_t right);

// A constant, or a register of the thread.
struct Operand {
  bool is_register = false;
  std::uint32_t number = 0;  // of the register
  std::int64_t value = 0;
};

// Of a red, which returns nothing.
inline constexpr std::uint32_t kNoRegister = ~std::uint32_t{0};

struct Instruction {
  Op op = Op::move;
  weak::Sem sem = weak::Sem::weak;
  Scope scope = Scope::system;
  Arithmetic arithmetic = Arithmetic::add;
  Compare compare = Compare::equal;
  std::uint32_t destination = kNoRegister;
  std::uint32_t location = 0;
  Operand left;
  Operand right;
  std::uint32_t target = 0;  // an index into Thread::code, or its size
  // Barriers: threads of one block meet that are at barriers of the same instance and, for named
  // ones, of the same name (left). An arrival does not wait.
  std::uint32_t instance = 0;
  bool named = false;
  bool arrives_only = false;
  std::uint32_t line = 0;
};

// Whether it reads or writes memory, and which.
constexpr bool reads(const Instruction& instruction) {
  return instruction.op == Op::load || instruction.op == Op::rmw || instruction.op == Op::cas;
}
constexpr bool writes(const Instruction& instruction) {
  return instruction.op == Op::store || instruction.op == Op::rmw || instruction.op == Op::cas;
}
constexpr bool touches_memory(const Instruction& instruction) {
  return reads(instruction) || writes(instruction);
}

struct Thread {
  std::string name;  // "P0"
  weak::Place place;
  std::vector<Instruction> code;
  std::vector<std::string> registers;
  std::vector<std::int64_t> initial;  // of each register
};

struct Location {
  std::string name;
  std::int64_t initial = 0;
};

struct Program {
  std::string name;
  std::string text;  // as it was read
  std::vector<Location> locations;
  std::vector<Thread> threads;
  // What the condition and the filter speak of; an outcome is one value for each.
  std::vector<Observable> observables;
  Quantifier quantifier = Quantifier::exists;
  Condition condition;
  Condition filter;  // empty: none
};

// "x", "P1:r2".
std::string name_of(const Program& program, const Observable& observable);
// "P1:r1=1 P1:r2=0".
std::string describe(const Program& program, const Outcome& outcome);
// "exists (P1:r1 == 1 /\ P1:r2 == 0)".
std::string describe_condition(const Program& program);

}  // namespace gdakit::sim::litmus
