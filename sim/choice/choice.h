// Choices: the one source of nondeterminism of a simulated execution.
//
//   model  -- choose(kind, n) -->  Chooser  -- pick -->  Strategy (random, PCT, exhaustive, replay)
//                                     |
//                                 taken(): every pick with more than one possibility, in order
//
// Pick 0 is always the plain one: the same agent goes on, the newest value is read, the store goes
// to the end of the coherence order, nothing is deferred or lost, a knob has its default. So an
// execution of zeros is the sequentially consistent one without preemptions, and what is not zero
// is what a failure needs.
//
// An execution is a function of the program and of the picks. Nothing else may enter: no address,
// no time, no order of an unordered container.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace gdakit::sim {

// What is chosen. Strategies treat the kinds differently.
enum class Choice : std::uint8_t {
  agent,     // who goes on
  load,      // which write a load returns; from the newest to the oldest
  position,  // how far before the end of the coherence order a store goes
  defer,     // 1: the access is settled later
  gather,    // 1: a lane does not wait for the others of its warp
  delivery,  // which of several parts of a transaction goes next
  fault,     // 1: something is lost, repeated or delayed
  knob,      // a setting of the world, once per execution
  program,   // what the threads do, of a subject that draws it
};
inline constexpr std::size_t kChoiceKinds = 9;
// What a pick other than 0 is called: "preemption", "stale read".
const char* choice_name(Choice kind);

// What an agent will do when it goes on, as far as that is known: two steps that are independent
// lead to the same state in either order.
struct NextStep {
  enum class Kind : std::uint8_t {
    local,    // touches nothing that others see
    load,     // of `object`
    store,    // of `object`, or a read-modify-write
    sc,       // a fence.sc
    sync,     // a barrier, `object`
    unknown,  // depends on everything
  };
  Kind kind = Kind::unknown;
  std::uint64_t object = 0;  // a granule of memory, or a barrier
};
bool independent(const NextStep& a, const NextStep& b);

// An agent that can go on. In the list that pick_agent gets, the one that ran last comes first if
// it is there; the others follow in the order of their numbers.
struct Candidate {
  std::uint32_t agent = 0;
  NextStep next;
  bool yielded = false;  // it gave its turn away (spin) since it was last picked
};

// Returned by pick_agent: this execution is like one that was explored already.
inline constexpr std::uint32_t kRedundant = ~std::uint32_t{0};

class Strategy {
 public:
  virtual ~Strategy() = default;

  // The next execution begins. False: there is nothing left to explore.
  virtual bool begin() = 0;
  // One of 0 .. count - 1; count is at least 2.
  virtual std::uint32_t pick(Choice kind, std::uint32_t count) = 0;
  // An index into `candidates`, which has at least two entries, or kRedundant.
  virtual std::uint32_t pick_agent(std::span<const Candidate> candidates) = 0;
  // The only agent that can go on does so: 0, or kRedundant.
  virtual std::uint32_t only_agent(const Candidate& candidate) {
    static_cast<void>(candidate);
    return 0;
  }
  // The picks of the execution that has ended, zeros at the end left out.
  virtual void end(std::span<const std::uint32_t> taken) { static_cast<void>(taken); }
};

class Chooser {
 public:
  explicit Chooser(Strategy& strategy) : strategy_(&strategy) {}

  bool begin() {
    taken_.clear();
    kinds_.clear();
    redundant_ = false;
    return strategy_->begin();
  }

  std::uint32_t choose(Choice kind, std::uint32_t count) {
    if (count < 2) return 0;
    const std::uint32_t picked = strategy_->pick(kind, count);
    taken_.push_back(picked);
    kinds_.push_back(kind);
    return picked;
  }

  // Index of the candidate that goes on. To be called before every step, also if there is only one
  // candidate: strategies follow who runs. Once the strategy has called the execution redundant it
  // is always 0; whoever runs the execution looks at redundant() and ends it.
  std::uint32_t choose_agent(std::span<const Candidate> candidates) {
    if (candidates.empty() || redundant_) return 0;
    const bool open = candidates.size() > 1;
    const std::uint32_t picked =
        open ? strategy_->pick_agent(candidates) : strategy_->only_agent(candidates.front());
    if (picked == kRedundant) {
      redundant_ = true;
      return 0;
    }
    if (!open) return 0;
    taken_.push_back(picked);
    kinds_.push_back(Choice::agent);
    return picked;
  }

  bool redundant() const { return redundant_; }
  void end() { strategy_->end(taken_); }

  // The picks so far. Replaying them replays the execution.
  const std::vector<std::uint32_t>& taken() const { return taken_; }
  // What each of them chose.
  const std::vector<Choice>& taken_kinds() const { return kinds_; }

 private:
  Strategy* strategy_;
  std::vector<std::uint32_t> taken_;
  std::vector<Choice> kinds_;
  bool redundant_ = false;
};

}  // namespace gdakit::sim
