// Paths: the ways a thread of a litmus test can go, with what it reads left open.
//
// A path is a list of events in program order. Values are expressions over the events that read; a
// branch that was taken, or a cas that took place, leaves a demand that the values must meet.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/litmus/program.h"

namespace gdakit::sim::litmus {

// Events of one path as bits.
using EventSet = std::uint64_t;

// An index into Path::expressions.
using ExpressionId = std::uint32_t;

struct Expression {
  enum class Kind : std::uint8_t { constant, read, compute };
  Kind kind = Kind::constant;
  std::int64_t value = 0;   // constant
  std::uint32_t event = 0;  // read
  Arithmetic arithmetic = Arithmetic::add;
  ExpressionId left = 0, right = 0;  // compute
  EventSet reads = 0;                // that the value depends on
};

struct PathEvent {
  enum class Kind : std::uint8_t { read, write, fence, barrier };
  Kind kind = Kind::fence;
  std::uint32_t location = 0;
  Scope scope = Scope::system;
  bool strong = false;
  bool acquire = false;
  bool release = false;
  bool sc = false;
  bool returns = true;      // false: the read of a red
  bool atomic = false;      // half of a read-modify-write; the write follows the read
  ExpressionId value = 0;   // of a write; the name of a barrier
  EventSet depends_on = 0;  // reads that the event needs: data, control, its own half
  EventSet operands = 0;    // reads whose values the operands of its instruction are
  const Instruction* instruction = nullptr;
};

struct Demand {
  Compare compare = Compare::equal;
  ExpressionId left = 0, right = 0;
  bool holds = true;
};

struct Path {
  std::vector<PathEvent> events;
  std::vector<Expression> expressions;
  std::vector<Demand> demands;
  std::vector<ExpressionId> registers;  // at the end
};

// All paths on which no loop's body runs more than `bound` times.
std::vector<Path> paths_of(const Thread& thread, std::uint32_t bound);

}  // namespace gdakit::sim::litmus
