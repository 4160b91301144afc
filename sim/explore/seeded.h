// SeededStrategy: execution number i depends on the seed and on i alone, so that any execution can
// be had again without those before it.
#pragma once

#include <cstdint>

#include "sim/choice/choice.h"
#include "sim/explore/generator.h"

namespace gdakit::sim {

class SeededStrategy : public Strategy {
 public:
  explicit SeededStrategy(std::uint64_t seed) : seed_(seed) {}

  bool begin() final {
    prepare(seed_, next_++);
    return true;
  }
  // The execution that the next begin() begins; at first 0.
  void seek(std::uint64_t execution) { next_ = execution; }

 protected:
  virtual void prepare(std::uint64_t seed, std::uint64_t execution) = 0;

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

// The knobs of one execution: the whole world at its defaults, or every knob anyhow. Half of the
// executions each, because a defect of the default world should not wait for lucky knobs.
class KnobSwarm {
 public:
  void prepare(Generator& random) { defaults_ = random.chance(Odds::of(1, 2)); }
  std::uint32_t pick(Generator& random, std::uint32_t count) const {
    return defaults_ ? 0 : random.below(count);
  }

 private:
  bool defaults_ = true;
};

}  // namespace gdakit::sim
