// ExhaustiveStrategy: every execution there is, one after the other (stateless depth-first search).
//
// Each execution begins at the start and repeats the picks of the one before up to the last choice
// that has a possibility left. Sleep sets leave out executions that only swap neighbouring steps
// which do not depend on each other:
//
//        o          At a node, once everything that begins with A's step has been seen, A goes to
//      A/ \B        sleep for the siblings: below B it need not run before something that depends
//      o   o  {A}   on its step. A step that depends on it (independent(), choice.h) wakes it.
//
// All choices of other kinds that are made before the next choice of an agent are part of the step
// of the agent that was chosen last: the step has been seen when all of their possibilities have.
// That is sound because a step depends on another or not whatever is chosen in it.
//
// What sleep sets keep is every final state, and at least one execution of every set that differs
// in the order of independent steps only. With a bound of preemptions they would not: the one
// execution that is kept may be beyond the bound. So a bound turns them off.
//
// An agent that has given its turn away is not chosen before another has stored something or met a
// barrier, while any other can go on: looking twice is like looking once. Agents that all wait are
// the subject's business, which should call that a hang.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/choice/choice.h"

namespace gdakit::sim {

struct ExhaustiveOptions {
  std::uint64_t max_executions = 0;              // 0: no limit
  std::optional<std::uint32_t> max_preemptions;  // switches from an agent that could have gone on
  bool sleep_sets = true;
};

class ExhaustiveStrategy final : public Strategy {
 public:
  explicit ExhaustiveStrategy(const ExhaustiveOptions& options = {})
      : options_(options), sleeping_(options.sleep_sets && !options.max_preemptions) {}

  bool begin() override;
  std::uint32_t pick(Choice kind, std::uint32_t count) override;
  std::uint32_t pick_agent(std::span<const Candidate> candidates) override;
  std::uint32_t only_agent(const Candidate& candidate) override;

  // Begun so far, those that turned out to be redundant included.
  std::uint64_t executions() const { return executions_; }
  // After begin() returned false: whether that was for want of anything new, and not for a bound.
  bool complete() const { return exhausted_ && !cut_; }
  // An execution asked for other choices when its beginning was repeated: it depends on more than
  // its choices. The search has ended.
  bool diverged() const { return diverged_; }

 private:
  struct Step {
    std::uint32_t agent = 0;
    NextStep next;
    bool yielded = false;
    bool idle = false;  // it would only look again at what it has seen
  };

  // One choice of the current execution. Those of an agent own two stretches of shared arrays,
  // which end where the next one's begin.
  struct Node {
    std::uint32_t picked = 0;
    std::uint32_t count = 0;
    bool of_agent = false;
    bool goes_on = false;            // the first candidate ran last
    std::uint32_t preemptions = 0;   // before this choice
    std::uint32_t parent = 0;        // the agent choice before this one; kNone
    std::uint32_t first_step = 0;    // into steps_
    std::uint32_t first_asleep = 0;  // into asleep_
    std::uint32_t end_asleep = 0;
  };

  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  bool advance();
  bool advance_agent(Node& node);
  bool allowed(const Node& node, std::uint32_t index);
  bool has_news(std::uint32_t agent) const;
  bool is_asleep(const Node& node, std::uint32_t agent) const;
  void fall_asleep(Node& node, const Step& step);
  std::uint32_t choose(std::span<const Candidate> candidates);
  void append_node(std::span<const Candidate> candidates);
  void inherit_sleep(Node& node);
  std::uint32_t cost(const Node& node, std::uint32_t index) const;
  Step& step(const Node& node, std::uint32_t index) { return steps_[node.first_step + index]; }

  ExhaustiveOptions options_;
  bool sleeping_;
  std::vector<Node> nodes_;
  std::vector<Step> steps_;
  std::vector<Step> asleep_;
  std::size_t position_ = 0;               // how many of nodes_ the execution has passed
  std::uint32_t parent_ = kNone;           // the agent choice passed last
  std::uint64_t news_ = 0;                 // steps of this execution that others may wait for
  std::vector<std::uint64_t> last_looks_;  // news_ when an agent was chosen last; 0: never
  std::uint64_t executions_ = 0;
  bool exhausted_ = false;
  bool cut_ = false;  // something was left out for a bound
  bool diverged_ = false;
};

}  // namespace gdakit::sim
