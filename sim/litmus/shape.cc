#include "sim/litmus/shape.h"

#include <algorithm>

namespace gdakit::sim::litmus {
namespace {

LocationSet bit(std::uint32_t location) { return LocationSet{1} << location; }

bool uses(const Instruction& instruction, std::uint32_t number) {
  const auto is_it = [number](const Operand& operand) {
    return operand.is_register && operand.number == number;
  };
  return is_it(instruction.left) || is_it(instruction.right);
}

// Where control may go after instruction `at`.
std::vector<std::uint32_t> successors(const Thread& thread, std::uint32_t at) {
  const Instruction& instruction = thread.code[at];
  if (instruction.op == Op::jump) return {instruction.target};
  if (instruction.op == Op::branch) return {at + 1, instruction.target};
  return {at + 1};
}

// Whether the thread can write before it needs what instruction `at` read, or meet others at a
// barrier, behind which they may write. A fence.sc may come before writes of others as well, but
// only a weak load could be late for its sake alone, and every test with a fence.sc would grow.
bool writes_before_use(const Thread& thread, std::uint32_t at) {
  const Instruction& read = thread.code[at];
  const auto count = static_cast<std::uint32_t>(thread.code.size());
  std::vector<bool> visited(count + 1);
  std::vector<std::uint32_t> left = {at + 1};
  while (!left.empty()) {
    const std::uint32_t next = left.back();
    left.pop_back();
    if (next == count || visited[next]) continue;
    visited[next] = true;
    const Instruction& instruction = thread.code[next];
    if (read.destination != kNoRegister && uses(instruction, read.destination)) continue;
    // A thread finds its own updates: they are settled there.
    const bool same = touches_memory(instruction) && instruction.location == read.location;
    if (same && writes(read)) continue;
    if (writes(instruction) || instruction.op == Op::barrier) return true;
    for (const std::uint32_t successor : successors(thread, next)) left.push_back(successor);
  }
  return false;
}

bool can_be_open(const Instruction& instruction) {
  return reads(instruction) && !weak::acquires(instruction.sem);
}

}  // namespace

Shape::Shape(const Program& program) : threads_(program.threads.size()) {
  for (std::size_t t = 0; t < program.threads.size(); ++t) {
    const Thread& thread = program.threads[t];
    PerThread& shape = threads_[t];
    shape.writes_from = reachable_writes(thread);
    shape.group.resize(thread.code.size());
    for (std::uint32_t at = 0; at < thread.code.size(); ++at) {
      shape.may_defer.push_back(can_be_open(thread.code[at]) && writes_before_use(thread, at));
    }
  }
  find_shared(program);
  find_groups(program);
}

std::vector<LocationSet> Shape::reachable_writes(const Thread& thread) {
  std::vector<LocationSet> sets(thread.code.size() + 1);
  for (bool changed = true; changed;) {
    changed = false;
    for (auto at = static_cast<std::uint32_t>(thread.code.size()); at-- > 0;) {
      LocationSet set = writes(thread.code[at]) ? bit(thread.code[at].location) : 0;
      for (const std::uint32_t successor : successors(thread, at)) set |= sets[successor];
      changed = changed || set != sets[at];
      sets[at] = set;
    }
  }
  return sets;
}

void Shape::find_shared(const Program& program) {
  for (std::uint32_t location = 0; location < program.locations.size(); ++location) {
    std::uint32_t touching = 0;
    bool written = false;
    for (const Thread& thread : program.threads) {
      bool touched = false;
      for (const Instruction& instruction : thread.code) {
        if (!touches_memory(instruction) || instruction.location != location) continue;
        touched = true;
        written = written || writes(instruction);
      }
      if (touched) ++touching;
    }
    if (touching > 1 && written) shared_ |= bit(location);
  }
}

void Shape::find_groups(const Program& program) {
  for (std::uint32_t t = 0; t < program.threads.size(); ++t) {
    const Thread& thread = program.threads[t];
    for (std::uint32_t at = 0; at < thread.code.size(); ++at) {
      const Instruction& instruction = thread.code[at];
      if (instruction.op != Op::barrier) continue;
      auto found = std::find_if(groups_.begin(), groups_.end(), [&](const BarrierGroup& group) {
        return group.block == thread.place.block && group.instance == instruction.instance &&
               group.named == instruction.named;
      });
      if (found == groups_.end()) {
        groups_.push_back({thread.place.block, instruction.instance, instruction.named, {}});
        found = groups_.end() - 1;
      }
      found->members.push_back({t, at});
      threads_[t].group[at] = static_cast<std::uint32_t>(found - groups_.begin());
    }
  }
}

}  // namespace gdakit::sim::litmus
