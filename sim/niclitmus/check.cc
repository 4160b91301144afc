#include "sim/niclitmus/check.h"

#include "sim/explore/exhaustive.h"
#include "sim/explore/random.h"
#include "sim/niclitmus/runner.h"

namespace gdakit::sim::niclitmus {
namespace {

Check explore(const Program& program, const Verdict& verdict, Strategy& strategy,
              std::uint64_t executions) {
  Check check;
  check.verdict = &verdict;
  Runner runner(program, verdict.knobs);
  Chooser chooser(strategy);
  while (check.executions != executions && chooser.begin()) {
    const RunResult result = runner.run(chooser, nullptr);
    chooser.end();
    ++check.executions;
    if (result.redundant) {
      ++check.redundant;
      continue;
    }
    ++check.outcomes[runner.outcome()];
    if (program.base.condition.holds(runner.outcome())) ++check.witnesses;
    if (result.finding != FindingKind::none && check.races++ == 0) check.race = result.text;
  }
  return check;
}

}  // namespace

std::string Check::complaint() const {
  if (witnesses != 0 && !verdict->allowed) return "what is forbidden was seen";
  if (races != 0 && !verdict->race) return "there is a race: " + race;
  if (!complete) return "";
  if (witnesses == 0 && verdict->allowed) return "what is allowed was not seen";
  if (races == 0 && verdict->race) return "there is no race";
  return "";
}

bool Check::passed() const { return complaint().empty(); }

std::string describe(const Program& program, const Check& check) {
  const Verdict& verdict = *check.verdict;
  std::string text = program.name + " [" + verdict.setting + "]: ";
  text += verdict.allowed ? "allowed" : "forbidden";
  if (verdict.race) text += ", with a race";
  text += "; seen in " + std::to_string(check.witnesses) + " of " +
          std::to_string(check.executions - check.redundant) + " executions";
  if (check.complete) text += ", all there are";
  const std::string complaint = check.complaint();
  return text + ": " + (complaint.empty() ? "ok" : complaint);
}

Check check_all(const Program& program, const Verdict& verdict, std::uint64_t max_executions) {
  ExhaustiveOptions options;
  options.max_executions = max_executions;
  ExhaustiveStrategy strategy(options);
  Check check = explore(program, verdict, strategy, ~std::uint64_t{0});
  check.complete = strategy.complete();
  return check;
}

Check check_random(const Program& program, const Verdict& verdict, std::uint64_t seed,
                   std::uint64_t executions) {
  RandomStrategy strategy(seed);
  return explore(program, verdict, strategy, executions);
}

}  // namespace gdakit::sim::niclitmus
