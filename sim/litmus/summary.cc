#include "sim/litmus/summary.h"

#include "sim/explore/exhaustive.h"
#include "sim/explore/random.h"

namespace gdakit::sim::litmus {
namespace {

void record(Summary& summary, const Program& program, const Runner& runner,
            const Chooser& chooser) {
  switch (runner.ending()) {
    case Ending::redundant: ++summary.redundant; return;
    case Ending::blocked: ++summary.blocked; return;
    case Ending::beyond_bound: ++summary.beyond_bound; return;
    case Ending::finished: break;
  }
  const Outcome& outcome = runner.outcome();
  if (!program.filter.holds(outcome)) {
    ++summary.filtered;
    return;
  }
  ++summary.outcomes[outcome];
  if (!is_witness(program, outcome)) return;
  if (summary.witnesses++ == 0) summary.first_witness = chooser.taken();
}

}  // namespace

bool is_witness(const Program& program, const Outcome& outcome) {
  return program.condition.holds(outcome) != (program.quantifier == Quantifier::forall);
}

Summary explore(Runner& runner, const Program& program, Strategy& strategy,
                std::uint64_t executions) {
  Summary summary;
  Chooser chooser(strategy);
  while ((executions == 0 || summary.executions < executions) && chooser.begin()) {
    ++summary.executions;
    runner.run(chooser, nullptr);
    record(summary, program, runner, chooser);
    chooser.end();
  }
  return summary;
}

Summary explore_all(const Program& program, const RunnerOptions& options,
                    std::uint64_t executions) {
  ExhaustiveOptions limits;
  limits.max_executions = executions;
  ExhaustiveStrategy strategy(limits);
  Runner runner(program, options);
  Summary summary = explore(runner, program, strategy, 0);
  summary.complete = strategy.complete();
  return summary;
}

Summary explore_random(const Program& program, const RunnerOptions& options, std::uint64_t seed,
                       std::uint64_t executions) {
  RandomStrategy strategy(seed);
  Runner runner(program, options);
  return explore(runner, program, strategy, executions);
}

}  // namespace gdakit::sim::litmus
