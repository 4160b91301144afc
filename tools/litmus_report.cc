#include "tools/litmus_report.h"

#include <algorithm>
#include <iomanip>

namespace gdakit::tools {
namespace {

using sim::litmus::Outcome;
using sim::litmus::Program;
using sim::litmus::Quantifier;
using sim::litmus::Summary;

const char* quantifier_name(Quantifier quantifier) {
  switch (quantifier) {
    case Quantifier::exists: return "exists";
    case Quantifier::not_exists: return "~exists";
    case Quantifier::forall: return "forall";
  }
  return "";
}

const char* judgement_name(Judgement judgement) {
  switch (judgement) {
    case Judgement::fine: return "fine";
    case Judgement::forbidden: return "forbidden outcome seen";
    case Judgement::missed: return "allowed outcome missed";
    case Judgement::open: return "open";
  }
  return "";
}

void print_dropped(const Summary& summary, std::ostream& out) {
  const auto line = [&](std::uint64_t count, const char* what) {
    if (count != 0) out << "  " << count << " of the executions " << what << '\n';
  };
  line(summary.redundant, "only repeated others in another order and were cut short");
  line(summary.beyond_bound, "would have run a loop once more (--bound) and were dropped");
  line(summary.blocked, "ended with threads waiting for ever: no final state");
  line(summary.filtered, "ended in a state that the filter leaves out");
}

void print_judgement(const LitmusReport& report, std::ostream& out) {
  const char* const known = report.expectation == nullptr   ? ""
                            : report.expectation->forbidden ? " (known to be forbidden)"
                                                            : " (known to be allowed)";
  switch (report.judgement) {
    case Judgement::fine:
    case Judgement::open:
      if (*known != '\0') out << "  fine" << known << '\n';
      break;
    case Judgement::forbidden: out << "  FORBIDDEN OUTCOME SEEN" << known << '\n'; break;
    case Judgement::missed:
      out << "  MISSED: an outcome that should be seen" << known << '\n';
      break;
  }
  if (!report.replay.empty()) out << "  one of them: " << report.replay << '\n';
}

}  // namespace

std::string verdict(const LitmusReport& report) {
  const Summary& summary = *report.summary;
  const bool forall = report.program->quantifier == Quantifier::forall;
  std::string text = forall ? "the opposite was " : "";
  if (summary.witnesses == 0) {
    text += "never seen in " + std::to_string(summary.executions);
  } else {
    text += "seen in " + std::to_string(summary.witnesses) + " of " +
            std::to_string(summary.executions);
  }
  text += report.exhaustive ? " executions" : " random executions";
  if (summary.complete) return text + " (all explored)";
  return report.exhaustive ? text + " (NOT all explored: --runs)" : text;
}

void print_text(const LitmusReport& report, std::ostream& out) {
  const Program& program = *report.program;
  const Summary& summary = *report.summary;
  out << report.file << ": " << describe_condition(program) << '\n';
  for (const auto& [outcome, count] : summary.outcomes) {
    out << (is_witness(program, outcome) ? " *" : "  ") << std::setw(10) << count << "  "
        << describe(program, outcome) << '\n';
  }
  print_dropped(summary, out);
  out << "  " << quantifier_name(program.quantifier) << ": " << verdict(report) << '\n';
  print_judgement(report, out);
}

void print_json(const LitmusReport& report, JsonWriter& json) {
  const Program& program = *report.program;
  const Summary& summary = *report.summary;
  json.begin_object();
  json.member("file", report.file);
  json.member("name", program.name);
  json.member("mode", report.exhaustive ? "exhaustive" : "random");
  json.member("quantifier", quantifier_name(program.quantifier));
  json.member("condition", describe_condition(program));
  json.member("executions", summary.executions);
  json.member("complete", summary.complete);
  json.member("redundant", summary.redundant);
  json.member("beyond_bound", summary.beyond_bound);
  json.member("blocked", summary.blocked);
  json.member("filtered", summary.filtered);
  json.key("outcomes");
  json.begin_array();
  for (const auto& [outcome, count] : summary.outcomes) {
    json.begin_object();
    json.key("values");
    json.begin_object();
    for (std::size_t i = 0; i < outcome.size(); ++i) {
      json.member(name_of(program, program.observables[i]), outcome[i]);
    }
    json.end();
    json.member("count", count);
    json.member("witness", is_witness(program, outcome));
    json.end();
  }
  json.end();
  json.member("witnesses", summary.witnesses);
  json.member("verdict", verdict(report));
  json.key("expected");
  if (report.expectation == nullptr) {
    json.null();
  } else {
    json.value(report.expectation->forbidden ? "forbidden" : "allowed");
  }
  json.member("judgement", judgement_name(report.judgement));
  json.member("replay", report.replay);
  json.key("error");
  json.null();
  json.end();
}

void print_json_error(const std::string& file, bool unsupported, const std::string& message,
                      JsonWriter& json) {
  json.begin_object();
  json.member("file", file);
  json.member("judgement", unsupported ? "unsupported" : "unreadable");
  json.member("error", message);
  json.end();
}

}  // namespace gdakit::tools
