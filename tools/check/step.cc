#include "tools/check/step.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace gdakit::tools::check {

const char* verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::skipped: return "skipped";
    case Verdict::ok: return "ok";
    case Verdict::warning: return "warning";
    case Verdict::failed: return "FAIL";
  }
  return "";
}

void StepReport::add(Finding finding) {
  verdict = std::max(verdict, finding.verdict);
  findings.push_back(std::move(finding));
}

void StepReport::say(std::string_view part) {
  if (!summary.empty()) summary += "; ";
  summary += part;
}

StepReport skipped(std::string_view why) {
  StepReport report;
  report.verdict = Verdict::skipped;
  report.say(why);
  return report;
}

Verdict verdict_of(const std::vector<StepReport>& reports) {
  Verdict worst = Verdict::skipped;
  for (const StepReport& report : reports) worst = std::max(worst, report.verdict);
  return worst;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "none" : text;
}

std::string code_text(int code) {
  const char* const name = ::strerrorname_np(code);
  return (name != nullptr ? std::string(name) + ", " : "") + std::to_string(code);
}

std::string answer_text(const std::string& said, int code) {
  return code == 0 ? said : said + " (" + code_text(code) + ")";
}

}  // namespace gdakit::tools::check
