// MixedStrategy: random and PCT by turns. Neither finds everything soon: what takes one of them a
// thousand executions often takes the other ten.
#pragma once

#include "sim/explore/pct.h"
#include "sim/explore/random.h"

namespace gdakit::sim {

class MixedStrategy final : public SeededStrategy {
 public:
  explicit MixedStrategy(std::uint64_t seed) : SeededStrategy(seed), random_(seed), pct_(seed) {}

  std::uint32_t pick(Choice kind, std::uint32_t count) override {
    return by_pct_ ? pct_.pick(kind, count) : random_.pick(kind, count);
  }
  std::uint32_t pick_agent(std::span<const Candidate> candidates) override {
    return by_pct_ ? pct_.pick_agent(candidates) : random_.pick_agent(candidates);
  }
  std::uint32_t only_agent(const Candidate& candidate) override {
    return by_pct_ ? pct_.only_agent(candidate) : random_.only_agent(candidate);
  }

 private:
  void prepare(std::uint64_t seed, std::uint64_t execution) override {
    static_cast<void>(seed);  // both have it
    by_pct_ = execution % 2 == 1;
    SeededStrategy& strategy = by_pct_ ? static_cast<SeededStrategy&>(pct_) : random_;
    strategy.seek(execution);
    strategy.begin();
  }

  RandomStrategy random_;
  PctStrategy pct_;
  bool by_pct_ = false;
};

}  // namespace gdakit::sim
