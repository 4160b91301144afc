// Runner: executes a litmus test over the weak memory, one execution at a time.
//
// A step is one instruction that others can notice; everything local up to the next such
// instruction runs along. A register holds a value, or a read that is still to be settled; it is
// settled when the register is first used, and at the latest at the end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/choice/subject.h"
#include "sim/litmus/barriers.h"
#include "sim/litmus/program.h"
#include "sim/litmus/shape.h"
#include "sim/weak/memory.h"

namespace gdakit::sim::litmus {

struct RunnerOptions {
  // How often the body of a loop may run; an execution that wants more is dropped. 1 is what the
  // verdicts of the public collection are for.
  std::uint32_t bound = 1;
};

// Every location has a granule of the memory.
inline constexpr std::uint32_t kLocationBytes = 8;
constexpr weak::Address address_of(std::uint32_t location) {
  return std::uint64_t{location} * kLocationBytes;
}

enum class Ending : std::uint8_t {
  finished,      // there is an outcome
  blocked,       // threads wait at a barrier for ever: no final state
  beyond_bound,  // a loop would have run once more
  redundant,     // cut short by the strategy
};

class Runner final : public Subject, private weak::Names {
 public:
  // `program` outlives the runner.
  explicit Runner(const Program& program, const RunnerOptions& options = {});

  const std::string& name() const override { return program_.name; }
  // No finding: a litmus test asks which outcomes there are. RunResult::outcome is a hash of the
  // outcome, or 0 if there is none.
  RunResult run(Chooser& chooser, Trace* trace) override;

  // Of the last execution.
  Ending ending() const { return ending_; }
  const Outcome& outcome() const { return outcome_; }

 private:
  enum class State : std::uint8_t { ready, waiting, finished };

  struct Register {
    std::int64_t value = 0;
    weak::Later later;
    bool open = false;
  };

  struct ThreadState {
    State state = State::ready;
    std::uint32_t at = 0;
    std::vector<Register> registers;
    std::vector<std::uint32_t> jumps;  // backwards, of each instruction
    Barriers::Ticket ticket;
  };

  // A read that may not have been settled yet.
  struct OpenRead {
    std::uint32_t thread = 0;
    std::uint32_t location = 0;
    weak::Later later;
    bool is_rmw = false;
  };

  std::string place(weak::Address address) const override;
  std::string agent(weak::AgentId agent) const override;

  // runner.cc
  void begin(Chooser& chooser, Trace* trace);
  void explore(Chooser& chooser);
  void collect_candidates();
  void add_candidate(std::uint32_t agent, const NextStep& next);
  NextStep next_step(std::uint32_t thread) const;
  bool is_local(std::uint32_t thread, const Instruction& instruction) const;
  void step(std::uint32_t thread);
  void run_locals(std::uint32_t thread);
  void leave_barriers();
  void finish();

  // runner_execute.cc
  void execute(std::uint32_t thread);
  void load(std::uint32_t thread, const Instruction& instruction);
  void update(std::uint32_t thread, const Instruction& instruction);
  void arrive(std::uint32_t thread, const Instruction& instruction);
  void jump(std::uint32_t thread, std::uint32_t target);
  bool needs_settling(std::uint32_t thread, const Operand& operand) const;
  bool settle_operand(std::uint32_t thread, const Instruction& instruction);
  std::int64_t value_of(std::uint32_t thread, const Operand& operand);
  std::int64_t value_of(Register& number);
  void set(std::uint32_t thread, std::uint32_t destination, std::int64_t value);
  void set_later(std::uint32_t thread, const Instruction& instruction, weak::Later later);
  bool may_defer(std::uint32_t thread, const Instruction& instruction) const;
  void forget_settled();

  const Program& program_;
  RunnerOptions options_;
  Shape shape_;
  Barriers barriers_;
  weak::Memory memory_;
  weak::MemoryOptions memory_options_;
  std::vector<ThreadState> threads_;
  std::vector<OpenRead> open_;
  std::vector<Candidate> candidates_;
  std::uint32_t last_ = 0;
  bool beyond_bound_ = false;
  Ending ending_ = Ending::finished;
  Outcome outcome_;
};

}  // namespace gdakit::sim::litmus
