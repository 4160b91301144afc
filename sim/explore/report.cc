// What an exploration says to people.
#include <cstdio>

#include "sim/explore/explorer.h"
#include "sim/explore/text.h"

namespace gdakit::sim {
namespace {

// So many events of a trace are worth the room in a test's message.
constexpr std::size_t kReportedEvents = 40;

std::string in_words(double number, const char* unit) {
  char text[48];
  std::snprintf(text, sizeof text, number < 10 ? "%.2f%s" : "%.0f%s", number, unit);
  return text;
}

std::string counted(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

std::string Exploration::summary() const {
  std::string text = name + ": " +
                     (failure   ? "FAILED"
                      : stopped ? "stopped"
                                : "passed") +
                     " after " + counted(executions, "execution");
  if (complete) text += ", which are all there are";
  if (redundant > 0) text += " (" + std::to_string(redundant) + " cut short)";
  text += std::string(", ") + (more_outcomes ? "more than " : "") +
          counted(outcomes, "distinct outcome") + ", " + in_words(seconds, " s");
  if (seconds > 0) text += " (" + in_words(static_cast<double>(executions) / seconds, "/s") + ")";
  return text;
}

std::string Exploration::report() const {
  if (!failure) return summary() + "\n";
  const Failure& failed = *failure;
  std::string text = name + ": ";
  const FindingKind kind = failed.result.finding;
  if (kind == FindingKind::setup)
    return text + finding_name(kind) + ": " + failed.result.text + "\n";
  if (!failed.result.passed()) {
    text += std::string(finding_name(failed.result.finding)) + ": " + failed.result.text + "\n";
  }
  if (!failed.nondeterminism.empty()) {
    text += "NOT DETERMINISTIC: the same picks were run twice, and " + failed.nondeterminism +
            ". The scenario depends on more than its choices, so replaying it proves nothing.\n";
  }
  text += "  found by  " + std::string(strategy_name(strategy)) + ", seed " + std::to_string(seed) +
          ", execution " + std::to_string(failed.execution) + " (" + failed.found_as.text() + ")\n";
  text += "  needs     " + failed.deviations + "\n";
  text += "  token     " + failed.token.text() + "\n";
  text += "  replay    " + failed.trace.replay + "\n";
  if (!failed.page.empty()) text += "  page      " + failed.page + "\n";
  return text + trace_text(failed.trace, kReportedEvents);
}

}  // namespace gdakit::sim
