#include "sim/explore/exhaustive.h"

#include "core/base/assert.h"

namespace gdakit::sim {

bool ExhaustiveStrategy::begin() {
  if (diverged_) return false;
  if (executions_ > 0 && !exhausted_) exhausted_ = !advance();
  if (exhausted_) return false;
  if (options_.max_executions > 0 && executions_ == options_.max_executions) {
    cut_ = true;
    return false;
  }
  ++executions_;
  position_ = 0;
  parent_ = kNone;
  news_ = 0;
  last_looks_.clear();
  return true;
}

// Goes to the next possibility of the last choice that has one. False if none has.
bool ExhaustiveStrategy::advance() {
  while (!nodes_.empty()) {
    Node& node = nodes_.back();
    if (node.of_agent) {
      if (advance_agent(node)) return true;
      steps_.resize(node.first_step);
      asleep_.resize(node.first_asleep);
    } else if (node.picked + 1 < node.count) {
      ++node.picked;
      return true;
    }
    nodes_.pop_back();
  }
  return false;
}

bool ExhaustiveStrategy::advance_agent(Node& node) {
  if (node.picked == kNone) return false;  // all were asleep
  if (sleeping_) fall_asleep(node, step(node, node.picked));
  while (++node.picked < node.count) {
    if (allowed(node, node.picked)) return true;
  }
  return false;
}

std::uint32_t ExhaustiveStrategy::pick(Choice kind, std::uint32_t count) {
  static_cast<void>(kind);
  if (position_ == nodes_.size()) {
    Node node;
    node.count = count;
    nodes_.push_back(node);
  }
  const Node& node = nodes_[position_];
  diverged_ = diverged_ || node.of_agent || node.count != count;
  if (diverged_) return 0;
  ++position_;
  return node.picked;
}

std::uint32_t ExhaustiveStrategy::pick_agent(std::span<const Candidate> candidates) {
  return choose(candidates);
}

std::uint32_t ExhaustiveStrategy::only_agent(const Candidate& candidate) {
  return choose({&candidate, 1});
}

std::uint32_t ExhaustiveStrategy::choose(std::span<const Candidate> candidates) {
  if (position_ == nodes_.size()) append_node(candidates);
  const Node& node = nodes_[position_];
  diverged_ = diverged_ || !node.of_agent || node.count != candidates.size();
  if (diverged_) return kRedundant;
  parent_ = static_cast<std::uint32_t>(position_++);
  if (node.picked == kNone) return kRedundant;
  const Step& chosen = step(node, node.picked);
  if (chosen.next.kind != NextStep::Kind::local && chosen.next.kind != NextStep::Kind::load) {
    ++news_;
  }
  if (chosen.agent >= last_looks_.size()) last_looks_.resize(chosen.agent + 1);
  last_looks_[chosen.agent] = news_;
  return node.picked;
}

void ExhaustiveStrategy::append_node(std::span<const Candidate> candidates) {
  Node node;
  node.of_agent = true;
  node.count = static_cast<std::uint32_t>(candidates.size());
  node.parent = parent_;
  node.first_step = static_cast<std::uint32_t>(steps_.size());
  bool all_idle = true;
  for (const Candidate& candidate : candidates) {
    const bool idle = candidate.yielded && !has_news(candidate.agent);
    all_idle = all_idle && idle;
    steps_.push_back({candidate.agent, candidate.next, candidate.yielded, idle});
  }
  if (all_idle) {
    for (std::uint32_t i = 0; i < node.count; ++i) step(node, i).idle = false;
  }
  inherit_sleep(node);
  while (node.picked < node.count && !allowed(node, node.picked)) ++node.picked;
  if (node.picked == node.count) node.picked = kNone;
  nodes_.push_back(node);
}

// Whether another agent has done something since this one was chosen last.
bool ExhaustiveStrategy::has_news(std::uint32_t agent) const {
  return agent >= last_looks_.size() || last_looks_[agent] < news_;
}

// What sleeps at the node before, and does not depend on the step that was chosen there, sleeps on.
void ExhaustiveStrategy::inherit_sleep(Node& node) {
  node.first_asleep = static_cast<std::uint32_t>(asleep_.size());
  if (node.parent != kNone) {
    const Node& before = nodes_[node.parent];
    const Step ran = step(before, before.picked);
    for (std::uint32_t i = before.first_asleep; i < before.end_asleep; ++i) {
      const Step sleeper = asleep_[i];
      if (independent(sleeper.next, ran.next)) asleep_.push_back(sleeper);
    }
    node.goes_on = ran.agent == step(node, 0).agent;
    node.preemptions = before.preemptions + cost(before, before.picked);
  }
  node.end_asleep = static_cast<std::uint32_t>(asleep_.size());
}

// The node is the last one, so its stretch is the end of the array.
void ExhaustiveStrategy::fall_asleep(Node& node, const Step& step) {
  GDAKIT_ASSERT(node.end_asleep == asleep_.size());
  asleep_.push_back(step);
  ++node.end_asleep;
}

bool ExhaustiveStrategy::is_asleep(const Node& node, std::uint32_t agent) const {
  for (std::uint32_t i = node.first_asleep; i < node.end_asleep; ++i) {
    if (asleep_[i].agent == agent) return true;
  }
  return false;
}

bool ExhaustiveStrategy::allowed(const Node& node, std::uint32_t index) {
  const Step& candidate = step(node, index);
  if (candidate.idle || is_asleep(node, candidate.agent)) return false;
  if (options_.max_preemptions &&
      node.preemptions + cost(node, index) > *options_.max_preemptions) {
    cut_ = true;
    return false;
  }
  return true;
}

// 1 if choosing this candidate takes the turn from an agent that would have kept it.
std::uint32_t ExhaustiveStrategy::cost(const Node& node, std::uint32_t index) const {
  return node.goes_on && index != 0 && !steps_[node.first_step].yielded ? 1 : 0;
}

}  // namespace gdakit::sim
