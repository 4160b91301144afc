// A world whose kernels play another program in each execution.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "sim/choice/choice.h"
#include "sim/choice/subject.h"

namespace gdakit::sim::scenarios {

// state->draw(number) draws the program that the kernels of `world` then play.
template <class State>
class ProgramWorld final : public Subject {
 public:
  ProgramWorld(std::unique_ptr<Subject> world, std::shared_ptr<State> state)
      : world_(std::move(world)), state_(std::move(state)) {}

  const std::string& name() const override { return world_->name(); }
  RunResult run(Chooser& chooser, Trace* trace) override {
    state_->draw(chooser.choose(Choice::program, kPrograms));
    return world_->run(chooser, trace);
  }

 private:
  static constexpr std::uint32_t kPrograms = 1 << 20;

  std::unique_ptr<Subject> world_;
  std::shared_ptr<State> state_;
};

}  // namespace gdakit::sim::scenarios
