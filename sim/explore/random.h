// RandomStrategy: every choice by itself at random, with odds that each execution draws anew.
//
// Odds that suit one defect hide another (many preemptions break long quiet stretches, stale reads
// everywhere make every wait loop go round), so an execution draws them first, and each may come
// out as "never". That is swarm testing: a defect that needs five settings at once is likelier
// found by executions that differ than by many executions with the same average.
#pragma once

#include "sim/explore/generator.h"
#include "sim/explore/seeded.h"

namespace gdakit::sim {

class RandomStrategy final : public SeededStrategy {
 public:
  explicit RandomStrategy(std::uint64_t seed) : SeededStrategy(seed) {}

  std::uint32_t pick(Choice kind, std::uint32_t count) override;
  std::uint32_t pick_agent(std::span<const Candidate> candidates) override;
  std::uint32_t only_agent(const Candidate& candidate) override {
    running_ = candidate.agent;
    return 0;
  }

 private:
  // What an execution draws.
  struct Profile {
    Odds preempt;
    Odds stale;
    std::uint32_t deepest = 0;  // no read is more than so many writes stale
    Odds late;
    Odds defer;
    Odds gather;
    Odds reorder;
    Odds fault;
  };

  void prepare(std::uint64_t seed, std::uint64_t execution) override;
  std::uint32_t walk_back(Odds odds, std::uint32_t deepest);
  std::uint32_t one_if(Odds odds, std::uint32_t count);
  std::uint32_t another(std::span<const Candidate> candidates, std::uint32_t picked);
  std::uint32_t ready_one(std::span<const Candidate> candidates);

  static constexpr std::uint32_t kNobody = ~std::uint32_t{0};

  Generator random_;
  Profile profile_;
  KnobSwarm knobs_;
  std::uint32_t running_ = kNobody;  // the agent picked last
};

}  // namespace gdakit::sim
