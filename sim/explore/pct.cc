#include "sim/explore/pct.h"

#include <algorithm>

namespace gdakit::sim {

// Up to kMostPoints points in a range of 2^shortest to 2^longest choices.
void PctStrategy::Points::prepare(Generator& random, std::uint32_t shortest, std::uint32_t longest,
                                  std::uint32_t fewest) {
  counted_ = 0;
  used_ = 0;
  size_ = fewest + random.below(static_cast<std::uint32_t>(kMostPoints) + 1 - fewest);
  const std::uint32_t range = 1u << (shortest + random.below(longest - shortest + 1));
  for (std::uint32_t i = 0; i < size_; ++i) at_[i] = random.below(range);
  std::sort(at_.begin(), at_.begin() + size_);
  next_ = size_ == 0 ? ~std::uint64_t{0} : at_[0];
}

bool PctStrategy::Points::advance() {
  const std::uint64_t here = next_;
  while (used_ < size_ && at_[used_] == here) ++used_;
  next_ = used_ == size_ ? ~std::uint64_t{0} : at_[used_];
  return true;
}

void PctStrategy::prepare(std::uint64_t seed, std::uint64_t execution) {
  random_ = Generator(seed, execution);
  knobs_.prepare(random_);
  // Runs have ten to ten thousand scheduling points, but only a few reads that could be stale.
  preemptions_.prepare(random_, 3, 13, 0);
  communication_.prepare(random_, 0, 10, 0);
  surroundings_.prepare(random_, 0, 8, 0);
  priorities_ = random_.next();
  lowest_ = 0;
  agents_.clear();
}

std::uint32_t PctStrategy::pick(Choice kind, std::uint32_t count) {
  switch (kind) {
    case Choice::knob: return knobs_.pick(random_, count);
    case Choice::program: return random_.below(count);
    case Choice::load:
    case Choice::position:
    case Choice::defer: return communication_.reached() ? 1 + random_.below(count - 1) : 0;
    default: return surroundings_.reached() ? 1 + random_.below(count - 1) : 0;
  }
}

// Gives this agent and all below it their priorities, which are positive.
void PctStrategy::meet(std::uint32_t number) {
  for (std::uint64_t next = agents_.size(); next <= number; ++next) {
    agents_.push_back({1 + static_cast<std::int64_t>(scramble(priorities_ + next) >> 2), false});
  }
}

std::uint32_t PctStrategy::pick_agent(std::span<const Candidate> candidates) {
  std::uint32_t best = 0;
  std::int64_t highest = 0;
  for (std::uint32_t i = 0; i < candidates.size(); ++i) {
    Agent& seen = agent(candidates[i].agent);
    if (candidates[i].yielded && !seen.demoted) {
      seen.demoted = true;
      seen.priority = --lowest_;
    }
    if (i == 0 || seen.priority > highest) {
      best = i;
      highest = seen.priority;
    }
  }
  if (preemptions_.reached()) {
    agent(candidates[best].agent).priority = --lowest_;
    std::uint32_t second = best;
    for (std::uint32_t i = 0; i < candidates.size(); ++i) {
      if (agent(candidates[i].agent).priority > agent(candidates[second].agent).priority)
        second = i;
    }
    best = second;
  }
  agent(candidates[best].agent).demoted = false;
  return best;
}

}  // namespace gdakit::sim
