// Runner: executes a NIC litmus test over the weak memory, one execution at a time, with the DMA
// ports, doorbells and wires of simulated worlds.
//
// A register of a thread holds a value or a read that is still to be settled. A NIC is one agent:
// in its turn it goes on with its program or with its DMA, which is chosen (Choice::delivery).
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "sim/choice/subject.h"
#include "sim/niclitmus/program.h"
#include "sim/weak/memory.h"
#include "sim/world/dma_port.h"
#include "sim/world/doorbells.h"
#include "sim/world/sim_wire.h"

namespace gdakit::sim::niclitmus {

class Runner final : public Subject, private weak::Names {
 public:
  // The program outlives the runner.
  Runner(const Program& program, const Knobs& knobs);
  ~Runner() override;

  const std::string& name() const override { return program_.name; }
  // RunResult::finding is what the memory model found, a race for example.
  RunResult run(Chooser& chooser, Trace* trace) override;

  // Of the last execution: one value for each of the base program's observables.
  const litmus::Outcome& outcome() const { return outcome_; }

 private:
  struct Register {
    std::int64_t value = 0;
    weak::Later later;
    bool open = false;
  };
  // What a NIC has asked its port for.
  struct Reading {
    const Step* step = nullptr;
    std::vector<std::uint8_t> bytes;  // of a read
    std::uint64_t old = 0;            // of an atomic
  };
  struct Nic {
    Nic(Runner& runner, const PortPlace& place);

    SimDma port;
    Doorbells doorbells;
    SimWire wire;
    std::uint64_t received = 0;
  };
  struct State {
    std::uint32_t at = 0;
    weak::AgentId agent = 0;
    bool reads_open = false;  // a load may still be settled
    std::vector<Register> registers;
    std::unique_ptr<Nic> nic;
    std::deque<Reading> readings;
  };

  std::string place(weak::Address address) const override;
  std::string agent(weak::AgentId agent) const override;

  void begin(Chooser& chooser, Trace* trace);
  void collect_candidates();
  bool can_go(std::size_t index) const;
  bool can_execute(std::size_t index) const;
  NextStep next(std::size_t index) const;
  NextStep next_of_program(std::size_t index) const;
  void go(std::size_t index, Chooser& chooser);
  void execute(std::size_t index);
  void execute_instruction(State& state, const litmus::Instruction& instruction);
  void execute_nic(State& state, const Step& step);
  void read_words(State& state, const Step& step);
  void write_words(State& state, const Step& step);
  void atomic(State& state, const Step& step);
  void receive(State& state, const Step& step);
  void take_words(State& state);
  void finish();

  const Step& step_of(std::size_t index) const {
    return program_.agents[index].steps[states_[index].at];
  }
  softnic::DmaAddress dma_address(std::uint32_t location) const;
  weak::Address model_address(std::uint32_t location) const;
  std::int64_t value_of(State& state, const litmus::Operand& operand);
  void set(State& state, std::uint32_t destination, std::int64_t value);

  const Program& program_;
  const Knobs knobs_;
  const AddressSpace space_;
  weak::Memory memory_;
  Chooser* chooser_ = nullptr;
  std::unique_ptr<SimFabric> fabric_;
  std::vector<State> states_;
  weak::AgentId observer_ = 0;
  std::vector<Candidate> candidates_;
  std::uint32_t last_ = 0;
  litmus::Outcome outcome_;
};

}  // namespace gdakit::sim::niclitmus
