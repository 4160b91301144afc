// PctStrategy: few deviations from a quiet run, each at a place of its own.
//
// Probabilistic concurrency testing: agents have random priorities, the highest runs, and at d
// change points the one that runs falls behind all others. Most ordering defects need one or two
// such changes, and this finds them with a probability that falls with the length of the run only,
// where choosing at random at every step rarely leaves a long stretch alone. The same is done to
// communication: d' reads, stores or settlings take another than the plain choice, all others the
// plain one; and to the surroundings (deliveries, gathering, faults).
//
// The change points of an execution lie in a range whose length is drawn too, from a geometric
// series, since the length of a run is not known before and measuring it would make executions
// depend on one another.
#pragma once

#include <array>

#include "sim/explore/generator.h"
#include "sim/explore/seeded.h"

namespace gdakit::sim {

class PctStrategy final : public SeededStrategy {
 public:
  explicit PctStrategy(std::uint64_t seed) : SeededStrategy(seed) {}

  std::uint32_t pick(Choice kind, std::uint32_t count) override;
  std::uint32_t pick_agent(std::span<const Candidate> candidates) override;

 private:
  static constexpr std::size_t kMostPoints = 5;

  // Counts the choices of one sort and says which of them deviate.
  class Points {
   public:
    void prepare(Generator& random, std::uint32_t shortest, std::uint32_t longest,
                 std::uint32_t fewest);
    bool reached() { return counted_++ == next_ && advance(); }

   private:
    bool advance();

    std::array<std::uint64_t, kMostPoints> at_{};  // ascending
    std::uint32_t size_ = 0;
    std::uint32_t used_ = 0;
    std::uint64_t counted_ = 0;
    std::uint64_t next_ = 0;  // the first point that has not been reached
  };

  // By its number.
  struct Agent {
    std::int64_t priority = 0;
    bool demoted = false;  // for the turn that it gave away
  };

  void prepare(std::uint64_t seed, std::uint64_t execution) override;
  Agent& agent(std::uint32_t number) {
    if (number >= agents_.size()) meet(number);
    return agents_[number];
  }
  void meet(std::uint32_t number);

  Generator random_;
  KnobSwarm knobs_;
  Points preemptions_;
  Points communication_;
  Points surroundings_;
  std::uint64_t priorities_ = 0;  // from which agents' priorities are made
  std::int64_t lowest_ = 0;
  std::vector<Agent> agents_;
};

}  // namespace gdakit::sim
