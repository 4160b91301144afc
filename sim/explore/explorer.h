// Explorer: runs a subject again and again, each time with other choices, until it fails.
//
//   Exploration found = explore(subject, {.schedules = 10000});
//   EXPECT_TRUE(found.passed()) << found.report();
//
// The first failure ends the search. It is shrunk to the few picks that it needs, run once more
// with a trace, and named by a token that replays it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sim/choice/subject.h"
#include "sim/explore/shrink.h"
#include "sim/explore/token.h"

namespace gdakit::sim {

// So many distinct outcomes are told apart; with more than these, counting stops.
inline constexpr std::uint64_t kMostOutcomes = 1 << 16;

struct ExploreOptions {
  std::uint64_t schedules = 2000;  // executions at most; 0: no limit
  double seconds = 0;              // stop after this time; 0: no limit
  std::uint64_t seed = 1;
  StrategyKind strategy = StrategyKind::mixed;
  std::optional<std::uint32_t> max_preemptions = {};  // exhaustive only
  bool shrink = true;
  std::uint64_t shrink_executions = 2000;  // at most
  // The command that replays, up to " --replay TOKEN"; "": gdakit explore and the subject's name.
  std::string replay_command = {};
  // What tokens are bound to (token.h); "": to nothing.
  std::string token_subject = {};
  // The search ends, with what it has found so far, when this becomes true; null: never.
  const std::atomic<bool>* stop = nullptr;
};

struct Failure {
  RunResult result;               // of the shrunk run
  Token token;                    // replays the shrunk run
  Token found_as;                 // replays the run as it was found
  std::uint64_t execution = 0;    // the first is 0
  std::uint32_t preemptions = 0;  // of the shrunk run, as stale_reads
  std::uint32_t stale_reads = 0;
  std::string deviations;  // "1 preemption, 2 stale reads": all that is not plain
  std::uint64_t shrink_executions = 0;
  // Empty, or what was different when the same picks were run again: then the subject depends on
  // more than its choices, and no token can be relied on.
  std::string nondeterminism;
  std::string page;  // for the report: where the run has been written as a page; "" if nowhere
  Trace trace;
};

struct Exploration {
  std::string name;
  std::uint64_t seed = 0;
  StrategyKind strategy = StrategyKind::mixed;
  std::uint64_t executions = 0;
  std::uint64_t redundant = 0;  // of these, cut short as like another one
  std::uint64_t accesses = 0;
  std::uint64_t outcomes = 0;  // distinct ones
  bool more_outcomes = false;  // there were more than `outcomes`
  double seconds = 0;
  bool stopped = false;   // ExploreOptions::stop has ended the search
  bool complete = false;  // every execution there is has been seen (exhaustive only)
  std::optional<Failure> failure;

  bool passed() const { return !failure; }
  // A line: "put-quiet: passed 2000 executions, 311 distinct outcomes, 0.4 s (5123/s)".
  std::string summary() const;
  // For people who see a failing test: what failed, how to replay it, and the events that matter.
  std::string report() const;
};

struct Progress {
  std::uint64_t executions = 0;
  std::uint64_t outcomes = 0;
  double seconds = 0;
  double done = 0;  // 0 to 1; of schedules or of seconds, whichever is further
};

// `progress` may be empty; it is called about ten times a second.
Exploration explore(Subject& subject, const ExploreOptions& options = {},
                    const std::function<void(const Progress&)>& progress = {});

// One execution again. If it fails it is reported as it is, without shrinking; `executions` is 1.
Exploration replay(Subject& subject, const Token& token, const ExploreOptions& options = {});

}  // namespace gdakit::sim
