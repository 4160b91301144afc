// ReplayStrategy: one execution, from picks that were taken before.
//
// Picks fit the program they were taken from. After an edit, or where a shrinker tries out picks
// that nobody took, they may not: a pick that is too large becomes the last possibility, and after
// the end of the picks everything is 0.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/choice/choice.h"

namespace gdakit::sim {

class ReplayStrategy final : public Strategy {
 public:
  explicit ReplayStrategy(std::vector<std::uint32_t> picks) : picks_(std::move(picks)) {}

  // Once only: there is nothing left after the one execution.
  bool begin() override {
    position_ = 0;
    return !std::exchange(begun_, true);
  }
  std::uint32_t pick(Choice kind, std::uint32_t count) override {
    static_cast<void>(kind);
    return next(count);
  }
  std::uint32_t pick_agent(std::span<const Candidate> candidates) override {
    return next(static_cast<std::uint32_t>(candidates.size()));
  }

 private:
  std::uint32_t next(std::uint32_t count) {
    if (position_ == picks_.size()) return 0;
    return std::min(picks_[position_++], count - 1);
  }

  std::vector<std::uint32_t> picks_;
  std::size_t position_ = 0;
  bool begun_ = false;
};

}  // namespace gdakit::sim
