#include "sim/explore/random.h"

#include <algorithm>
#include <bit>

namespace gdakit::sim {
namespace {

constexpr Odds kPreempt[] = {Odds::never(),  Odds::of(1, 64), Odds::of(1, 16),
                             Odds::of(1, 4), Odds::of(1, 2),  Odds::of(7, 8)};
constexpr Odds kStale[] = {Odds::never(), Odds::of(1, 16), Odds::of(1, 4), Odds::of(1, 2),
                           Odds::of(15, 16)};
constexpr std::uint32_t kDeepest[] = {1, 2, 4, 32};
constexpr Odds kLate[] = {Odds::never(), Odds::of(1, 8), Odds::of(1, 2)};
constexpr Odds kDefer[] = {Odds::never(), Odds::of(1, 8), Odds::of(1, 2)};
constexpr Odds kGather[] = {Odds::never(), Odds::of(1, 8), Odds::of(1, 2)};
constexpr Odds kReorder[] = {Odds::never(), Odds::of(1, 4), Odds::always()};
constexpr Odds kFault[] = {Odds::never(), Odds::never(), Odds::of(1, 64), Odds::of(1, 8)};

}  // namespace

void RandomStrategy::prepare(std::uint64_t seed, std::uint64_t execution) {
  random_ = Generator(seed, execution);
  running_ = kNobody;
  knobs_.prepare(random_);
  profile_.preempt = random_.one_of(kPreempt);
  profile_.stale = random_.one_of(kStale);
  profile_.deepest = random_.one_of(kDeepest);
  profile_.late = random_.one_of(kLate);
  profile_.defer = random_.one_of(kDefer);
  profile_.gather = random_.one_of(kGather);
  profile_.reorder = random_.one_of(kReorder);
  profile_.fault = random_.one_of(kFault);
}

std::uint32_t RandomStrategy::pick(Choice kind, std::uint32_t count) {
  switch (kind) {
    case Choice::load: return walk_back(profile_.stale, std::min(count - 1, profile_.deepest));
    case Choice::position: return walk_back(profile_.late, count - 1);
    case Choice::defer: return one_if(profile_.defer, count);
    case Choice::gather: return one_if(profile_.gather, count);
    case Choice::fault: return one_if(profile_.fault, count);
    case Choice::knob: return knobs_.pick(random_, count);
    case Choice::delivery: return random_.chance(profile_.reorder) ? random_.below(count) : 0;
    case Choice::program:
    case Choice::agent: break;
  }
  return random_.below(count);
}

std::uint32_t RandomStrategy::pick_agent(std::span<const Candidate> candidates) {
  const bool goes_on = candidates[0].agent == running_;
  std::uint32_t picked = 0;
  if (!goes_on) {
    picked = ready_one(candidates);
  } else if (candidates[0].yielded) {
    picked = another(candidates, ready_one(candidates));
  } else if (random_.chance(profile_.preempt)) {
    // One that waits may look again in the middle of others' work, but half as often.
    picked = 1 + random_.below(static_cast<std::uint32_t>(candidates.size()) - 1);
    if (candidates[picked].yielded) {
      picked = 1 + random_.below(static_cast<std::uint32_t>(candidates.size()) - 1);
    }
  }
  running_ = candidates[picked].agent;
  return picked;
}

// 0 except with `odds`; then 1 half of the time, 2 a quarter of the time ...
std::uint32_t RandomStrategy::walk_back(Odds odds, std::uint32_t deepest) {
  const std::uint64_t bits = random_.next();
  if ((bits >> 32) >= odds.parts) return 0;
  const std::uint32_t steps = 1 + static_cast<std::uint32_t>(std::countr_zero(bits));
  return std::min(steps, deepest);
}

std::uint32_t RandomStrategy::one_if(Odds odds, std::uint32_t count) {
  if (!random_.chance(odds)) return 0;
  return count == 2 ? 1 : 1 + random_.below(count - 1);
}

// `picked`, but if that is the first then any other: nothing new is there for an agent that has
// just looked and has given its turn away.
std::uint32_t RandomStrategy::another(std::span<const Candidate> candidates, std::uint32_t picked) {
  if (picked != 0) return picked;
  return 1 + random_.below(static_cast<std::uint32_t>(candidates.size()) - 1);
}

// Any that has not given its turn away; any at all if all have.
std::uint32_t RandomStrategy::ready_one(std::span<const Candidate> candidates) {
  const auto ready = static_cast<std::uint32_t>(
      std::count_if(candidates.begin(), candidates.end(),
                    [](const Candidate& candidate) { return !candidate.yielded; }));
  if (ready == 0) return random_.below(static_cast<std::uint32_t>(candidates.size()));
  std::uint32_t left = random_.below(ready);
  std::uint32_t index = 0;
  while (candidates[index].yielded || left-- > 0) ++index;
  return index;
}

}  // namespace gdakit::sim
