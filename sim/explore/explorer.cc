#include "sim/explore/explorer.h"

#include <chrono>
#include <memory>
#include <unordered_set>
#include <utility>

#include "sim/crash.h"
#include "sim/explore/exhaustive.h"
#include "sim/explore/mixed.h"
#include "sim/explore/replay.h"

namespace gdakit::sim {
namespace {

using Clock = std::chrono::steady_clock;
constexpr double kProgressSeconds = 0.1;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::unique_ptr<Strategy> make_strategy(const ExploreOptions& options) {
  switch (options.strategy) {
    case StrategyKind::random: return std::make_unique<RandomStrategy>(options.seed);
    case StrategyKind::pct: return std::make_unique<PctStrategy>(options.seed);
    case StrategyKind::mixed: return std::make_unique<MixedStrategy>(options.seed);
    case StrategyKind::exhaustive: break;
  }
  ExhaustiveOptions bounds;
  bounds.max_preemptions = options.max_preemptions;
  return std::make_unique<ExhaustiveStrategy>(bounds);
}

// Says of a crash in which execution it was, and how to get back there.
class ExecutionWatch {
 public:
  ExecutionWatch(const Subject& subject, const ExploreOptions& options)
      : prefix_("gdakit explorer: " + subject.name() + ", "),
        token_subject_(options.token_subject) {}

  // Until the next of these calls, executions are those of the token, ...
  void expect(Token token) { watch_.set_origin(prefix_ + named(std::move(token))); }
  // ... the next one of an exhaustive search, of which there is no token before it has ended, ...
  void expect_exhaustive(std::uint64_t execution) {
    watch_.set_origin(prefix_ + "execution " + std::to_string(execution) +
                      " of the exhaustive search");
  }
  // ... or like the token's, but simpler.
  void expect_shrinking(Token token) {
    watch_.set_origin(prefix_ + "while the failure of " + named(std::move(token)) + " was shrunk");
  }

 private:
  std::string named(Token token) const {
    token.bind(token_subject_);
    return "token " + token.text();
  }

  std::string prefix_;
  std::string token_subject_;
  CrashWatch watch_{prefix_};
};

struct Run {
  RunResult result;
  Picks picks;
};

Run run_once(Subject& subject, Strategy& strategy, Trace* trace) {
  Chooser chooser(strategy);
  chooser.begin();
  RunResult result = subject.run(chooser, trace);
  chooser.end();
  return {std::move(result), Picks::taken_by(chooser)};
}

// What is different between two runs that should be the same; "" if nothing is.
std::string difference(const Run& first, const Run& again) {
  if (first.result.finding != again.result.finding) {
    return std::string("first it ended with ") + finding_name(first.result.finding) +
           ", then with " + finding_name(again.result.finding);
  }
  if (first.result.text != again.result.text) {
    return "first it said \"" + first.result.text + "\", then \"" + again.result.text + "\"";
  }
  if (first.result.accesses != again.result.accesses) {
    return "first it made " + std::to_string(first.result.accesses) + " accesses, then " +
           std::to_string(again.result.accesses);
  }
  if (first.result.outcome != again.result.outcome) return "its outcome differed";
  if (first.picks.picks != again.picks.picks) return "it asked for other choices";
  return "";
}

// Runs the picks again and traces it.
void trace_failure(Subject& subject, const ExploreOptions& options, const Run& run,
                   Failure& failure) {
  ReplayStrategy strategy(run.picks.picks);
  const Run again = run_once(subject, strategy, &failure.trace);
  if (failure.nondeterminism.empty()) failure.nondeterminism = difference(run, again);
  failure.result = run.result;
  failure.preemptions = run.picks.deviations(Choice::agent);
  failure.stale_reads = run.picks.deviations(Choice::load);
  failure.deviations = run.picks.deviations_text();
  Trace& trace = failure.trace;
  if (trace.scenario.empty()) trace.scenario = subject.name();
  if (trace.verdict.empty()) trace.verdict = run.result.text;
  trace.token = failure.token.text();
  trace.replay = (options.replay_command.empty() ? "gdakit explore " + subject.name()
                                                 : options.replay_command) +
                 " --replay " + trace.token;
  trace.deviations = failure.deviations;
}

class Search {
 public:
  Search(Subject& subject, const ExploreOptions& options)
      : subject_(&subject),
        options_(&options),
        strategy_(make_strategy(options)),
        chooser_(*strategy_),
        watch_(subject, options) {
    found_.name = subject.name();
    found_.seed = options.seed;
    found_.strategy = options.strategy;
  }

  Exploration run(const std::function<void(const Progress&)>& progress) {
    double shown = 0;
    while (!found_.failure && more() && !stopped() && chooser_.begin()) {
      step();
      found_.seconds = seconds_since(start_);
      if (progress && found_.seconds - shown >= kProgressSeconds) {
        shown = found_.seconds;
        progress(now());
      }
    }
    if (const auto* all = dynamic_cast<const ExhaustiveStrategy*>(strategy_.get())) {
      found_.complete = all->complete();
      if (all->diverged()) fail_as_nondeterministic({}, "it asked for other choices");
    }
    found_.seconds = seconds_since(start_);
    return std::move(found_);
  }

 private:
  bool stopped() {
    found_.stopped = options_->stop != nullptr && *options_->stop;
    return found_.stopped;
  }

  bool more() const {
    if (options_->schedules > 0 && found_.executions >= options_->schedules) return false;
    return options_->seconds <= 0 || found_.seconds < options_->seconds;
  }

  void step() {
    expect_next();
    RunResult result = subject_->run(chooser_, nullptr);
    chooser_.end();
    const std::uint64_t execution = found_.executions++;
    found_.accesses += result.accesses;
    if (!result.passed()) return fail(execution, {std::move(result), Picks::taken_by(chooser_)});
    if (execution == 0) check_determinism({result, Picks::taken_by(chooser_)});
    if (chooser_.redundant() || result.redundant) {
      ++found_.redundant;
    } else {
      count_outcome(result.outcome);
    }
  }

  void expect_next() {
    if (options_->strategy == StrategyKind::exhaustive) {
      watch_.expect_exhaustive(found_.executions);
    } else {
      watch_.expect(seeded(found_.executions));
    }
  }

  Token seeded(std::uint64_t execution) const {
    return Token(SeededRun{options_->strategy, options_->seed, execution});
  }

  void count_outcome(std::uint64_t outcome) {
    if (outcomes_.size() < kMostOutcomes) {
      outcomes_.insert(outcome);
    } else {
      found_.more_outcomes = found_.more_outcomes || outcomes_.count(outcome) == 0;
    }
    found_.outcomes = outcomes_.size();
  }

  // Once, though nothing has failed: what is not determined by its choices is not explored.
  void check_determinism(const Run& run) {
    ReplayStrategy strategy(run.picks.picks);
    const std::string different = difference(run, run_once(*subject_, strategy, nullptr));
    if (!different.empty()) fail_as_nondeterministic(run, different);
  }

  void fail_as_nondeterministic(const Run& run, const std::string& different) {
    Failure failure;
    failure.nondeterminism = different;
    failure.token = failure.found_as = Token(run.picks.picks);
    bind(failure);
    trace_failure(*subject_, *options_, run, failure);
    found_.failure = std::move(failure);
  }

  void fail(std::uint64_t execution, Run run) {
    Failure failure;
    failure.execution = execution;
    failure.found_as =
        options_->strategy == StrategyKind::exhaustive ? Token(run.picks.picks) : seeded(execution);
    watch_.expect(failure.found_as);
    ReplayStrategy strategy(run.picks.picks);
    failure.nondeterminism = difference(run, run_once(*subject_, strategy, nullptr));
    if (options_->shrink && failure.nondeterminism.empty()) {
      watch_.expect_shrinking(failure.found_as);
      Shrunk shrunk = shrink(*subject_, run.picks, options_->shrink_executions);
      failure.shrink_executions = shrunk.executions;
      run = {std::move(shrunk.result), std::move(shrunk.picks)};
    }
    failure.token = options_->shrink ? Token(run.picks.picks) : failure.found_as;
    watch_.expect(failure.token);
    bind(failure);
    trace_failure(*subject_, *options_, run, failure);
    found_.failure = std::move(failure);
  }

  void bind(Failure& failure) const {
    failure.token.bind(options_->token_subject);
    failure.found_as.bind(options_->token_subject);
  }

  Progress now() const {
    Progress progress{found_.executions, found_.outcomes, found_.seconds, 0};
    if (options_->schedules > 0) {
      progress.done =
          static_cast<double>(found_.executions) / static_cast<double>(options_->schedules);
    }
    if (options_->seconds > 0) {
      progress.done = std::max(progress.done, found_.seconds / options_->seconds);
    }
    return progress;
  }

  Subject* subject_;
  const ExploreOptions* options_;
  std::unique_ptr<Strategy> strategy_;
  Chooser chooser_;
  ExecutionWatch watch_;
  Clock::time_point start_ = Clock::now();
  std::unordered_set<std::uint64_t> outcomes_;
  Exploration found_;
};

}  // namespace

Exploration explore(Subject& subject, const ExploreOptions& options,
                    const std::function<void(const Progress&)>& progress) {
  return Search(subject, options).run(progress);
}

Exploration replay(Subject& subject, const Token& token, const ExploreOptions& options) {
  const Clock::time_point start = Clock::now();
  const std::unique_ptr<Strategy> strategy = token.strategy();
  ExecutionWatch watch(subject, options);
  watch.expect(token);
  const Run run = run_once(subject, *strategy, nullptr);
  Exploration found;
  found.name = subject.name();
  found.seed = token.run() != nullptr ? token.run()->seed : options.seed;
  found.strategy = token.run() != nullptr ? token.run()->strategy : options.strategy;
  found.executions = 1;
  found.accesses = run.result.accesses;
  found.outcomes = 1;
  if (!run.result.passed()) {
    Failure failure;
    failure.token = token;
    failure.found_as = token;
    trace_failure(subject, options, run, failure);
    found.failure = std::move(failure);
  }
  found.seconds = seconds_since(start);
  return found;
}

}  // namespace gdakit::sim
