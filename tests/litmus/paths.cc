#include "tests/litmus/paths.h"

#include <utility>

#include "core/base/assert.h"

namespace gdakit::sim::litmus {
namespace {

constexpr std::size_t kMaxEvents = 64;

// One walk through the code; it is copied where the ways part.
struct Walk {
  Path path;
  std::uint32_t at = 0;
  std::vector<std::uint32_t> jumps;
  EventSet control = 0;  // reads that decided where the walk went
};

class Walker {
 public:
  Walker(const Thread& thread, std::uint32_t bound) : thread_(thread), bound_(bound) {}

  std::vector<Path> walk() {
    Walk first;
    first.jumps.resize(thread_.code.size());
    for (const std::int64_t value : thread_.initial) {
      first.path.registers.push_back(constant(first, value));
    }
    left_.push_back(std::move(first));
    while (!left_.empty()) {
      Walk walk = std::move(left_.back());
      left_.pop_back();
      go(std::move(walk));
    }
    return std::move(paths_);
  }

 private:
  static ExpressionId add(Walk& walk, const Expression& expression) {
    walk.path.expressions.push_back(expression);
    return static_cast<ExpressionId>(walk.path.expressions.size() - 1);
  }

  static ExpressionId constant(Walk& walk, std::int64_t value) {
    Expression expression;
    expression.value = value;
    return add(walk, expression);
  }

  static ExpressionId computed(Walk& walk, Arithmetic arithmetic, ExpressionId left,
                               ExpressionId right) {
    Expression expression;
    expression.kind = Expression::Kind::compute;
    expression.arithmetic = arithmetic;
    expression.left = left;
    expression.right = right;
    expression.reads = walk.path.expressions[left].reads | walk.path.expressions[right].reads;
    return add(walk, expression);
  }

  static ExpressionId operand(Walk& walk, const Operand& operand) {
    return operand.is_register ? walk.path.registers[operand.number]
                               : constant(walk, operand.value);
  }

  static PathEvent event_of(const Walk& walk, const Instruction& instruction,
                            PathEvent::Kind kind) {
    PathEvent event;
    event.kind = kind;
    event.location = instruction.location;
    event.scope = instruction.scope;
    event.strong = instruction.sem != weak::Sem::weak;
    event.depends_on = walk.control;
    event.instruction = &instruction;
    return event;
  }

  static std::uint32_t add(Walk& walk, const PathEvent& event) {
    GDAKIT_ASSERT(walk.path.events.size() < kMaxEvents);
    walk.path.events.push_back(event);
    return static_cast<std::uint32_t>(walk.path.events.size() - 1);
  }

  // The value that event `number` reads.
  static ExpressionId read_value(Walk& walk, std::uint32_t number) {
    Expression expression;
    expression.kind = Expression::Kind::read;
    expression.event = number;
    expression.reads = EventSet{1} << number;
    return add(walk, expression);
  }

  static void set(Walk& walk, std::uint32_t destination, ExpressionId value) {
    if (destination != kNoRegister) walk.path.registers[destination] = value;
  }

  static void demand(Walk& walk, Compare compare, ExpressionId left, ExpressionId right,
                     bool holds) {
    walk.path.demands.push_back({compare, left, right, holds});
    walk.control |= walk.path.expressions[left].reads | walk.path.expressions[right].reads;
  }

  // False: the loop's body would run too often.
  bool jump(Walk& walk, std::uint32_t target) const {
    const bool again = target <= walk.at && ++walk.jumps[walk.at] >= bound_;
    walk.at = target;
    return !again;
  }

  void go(Walk walk) {
    while (walk.at < thread_.code.size()) {
      if (!step(walk, thread_.code[walk.at])) return;
    }
    paths_.push_back(std::move(walk.path));
  }

  // False: this walk is over, or goes on in copies.
  bool step(Walk& walk, const Instruction& instruction) {
    switch (instruction.op) {
      case Op::store: store(walk, instruction); break;
      case Op::load: {
        const ExpressionId value = read_value(walk, add_read(walk, instruction));
        set(walk, instruction.destination, value);
        break;
      }
      case Op::move: set(walk, instruction.destination, operand(walk, instruction.left)); break;
      case Op::compute: {
        const ExpressionId left = operand(walk, instruction.left);
        const ExpressionId right = operand(walk, instruction.right);
        set(walk, instruction.destination, computed(walk, instruction.arithmetic, left, right));
        break;
      }
      case Op::rmw: update(walk, instruction); break;
      case Op::cas: return compare_and_swap(walk, instruction);
      case Op::fence: fence(walk, instruction); break;
      case Op::barrier: barrier(walk, instruction); break;
      case Op::branch: return branch(walk, instruction);
      case Op::jump: return jump(walk, instruction.target);
    }
    ++walk.at;
    return true;
  }

  static std::uint32_t add_read(Walk& walk, const Instruction& instruction) {
    PathEvent event = event_of(walk, instruction, PathEvent::Kind::read);
    event.acquire = weak::acquires(instruction.sem);
    event.atomic = writes(instruction);
    event.returns = !event.atomic || instruction.destination != kNoRegister;
    return add(walk, event);
  }

  static void store(Walk& walk, const Instruction& instruction) {
    PathEvent event = event_of(walk, instruction, PathEvent::Kind::write);
    event.release = weak::releases(instruction.sem);
    event.value = operand(walk, instruction.left);
    event.operands = walk.path.expressions[event.value].reads;
    event.depends_on |= event.operands;
    add(walk, event);
  }

  // The half of a read-modify-write that follows the read `number`.
  static void add_write(Walk& walk, const Instruction& instruction, std::uint32_t number,
                        ExpressionId value) {
    PathEvent event = event_of(walk, instruction, PathEvent::Kind::write);
    event.release = weak::releases(instruction.sem);
    event.atomic = true;
    event.value = value;
    event.depends_on |= walk.path.expressions[value].reads | EventSet{1} << number;
    add(walk, event);
  }

  static void update(Walk& walk, const Instruction& instruction) {
    const ExpressionId right = operand(walk, instruction.left);
    const std::uint32_t number = add_read(walk, instruction);
    walk.path.events[number].operands = walk.path.expressions[right].reads;
    const ExpressionId old = read_value(walk, number);
    add_write(walk, instruction, number, computed(walk, instruction.arithmetic, old, right));
    set(walk, instruction.destination, old);
  }

  bool compare_and_swap(Walk& walk, const Instruction& instruction) {
    const ExpressionId expected = operand(walk, instruction.left);
    const ExpressionId wanted = operand(walk, instruction.right);
    const std::uint32_t number = add_read(walk, instruction);
    walk.path.events[number].operands =
        walk.path.expressions[expected].reads | walk.path.expressions[wanted].reads;
    const ExpressionId old = read_value(walk, number);
    set(walk, instruction.destination, old);
    ++walk.at;
    // What comes later does not depend on whether it took place: only its own write does.
    Walk failed = walk;
    failed.path.events[number].atomic = false;
    failed.path.demands.push_back({Compare::equal, old, expected, false});
    left_.push_back(std::move(failed));
    walk.path.demands.push_back({Compare::equal, old, expected, true});
    add_write(walk, instruction, number, wanted);
    walk.path.events.back().depends_on |= walk.path.expressions[expected].reads;
    left_.push_back(std::move(walk));
    return false;
  }

  static void fence(Walk& walk, const Instruction& instruction) {
    PathEvent event = event_of(walk, instruction, PathEvent::Kind::fence);
    event.acquire = weak::acquires(instruction.sem);
    event.release = weak::releases(instruction.sem);
    event.sc = instruction.sem == weak::Sem::sc;
    add(walk, event);
  }

  static void barrier(Walk& walk, const Instruction& instruction) {
    PathEvent event = event_of(walk, instruction, PathEvent::Kind::barrier);
    event.value = instruction.named ? operand(walk, instruction.left) : constant(walk, 0);
    event.operands = walk.path.expressions[event.value].reads;
    event.depends_on |= event.operands;
    add(walk, event);
  }

  bool branch(Walk& walk, const Instruction& instruction) {
    const ExpressionId left = operand(walk, instruction.left);
    const ExpressionId right = operand(walk, instruction.right);
    Walk taken = walk;
    demand(taken, instruction.compare, left, right, true);
    if (jump(taken, instruction.target)) left_.push_back(std::move(taken));
    demand(walk, instruction.compare, left, right, false);
    ++walk.at;
    return true;
  }

  const Thread& thread_;
  std::uint32_t bound_;
  std::vector<Walk> left_;
  std::vector<Path> paths_;
};

}  // namespace

std::vector<Path> paths_of(const Thread& thread, std::uint32_t bound) {
  return Walker(thread, bound).walk();
}

}  // namespace gdakit::sim::litmus
