#include "tools/check/report.h"

#include <algorithm>
#include <iomanip>
#include <ostream>

#include "core/base/json.h"
#include "tools/check/steps.h"
#include "tools/columns.h"

namespace gdakit::tools::check {
namespace {

constexpr std::size_t kNameColumns = 14;
constexpr std::size_t kVerdictColumns = 9;
constexpr std::size_t kIndent = 2 + kNameColumns + kVerdictColumns;

const StepReport* step_of(const PeReport& pe, const std::string& name) {
  const auto found =
      std::ranges::find_if(pe.steps, [&](const StepReport& step) { return step.step == name; });
  return found == pe.steps.end() ? nullptr : &*found;
}

// The steps of all PEs, in the order in which they were made.
std::vector<std::string> names_of(const std::vector<PeReport>& pes) {
  std::vector<std::string> names;
  for (const PeReport& pe : pes) {
    for (const StepReport& step : pe.steps) {
      if (std::ranges::find(names, step.step) == names.end()) names.push_back(step.step);
    }
  }
  return names;
}

std::string place_of(const PeReport& pe, bool is_job) {
  return "host " + pe.host + (is_job ? ", PE " + std::to_string(pe.pe) : "");
}

// What was seen; of a step that is not ok, the first thing that is wrong.
std::string line_text(const StepReport& step) {
  const auto worst = std::ranges::find_if(
      step.findings, [&](const Finding& finding) { return finding.verdict == step.verdict; });
  if (worst == step.findings.end()) {
    return step.summary.empty() ? step_title(step.step) : step.summary;
  }
  const std::size_t others = step.findings.size() - 1;
  return (worst->on.empty() ? "" : worst->on + ": ") + worst->answer +
         (others == 0 ? "" : "; and " + std::to_string(others) + " more");
}

// The line of a step: what the PE says whose verdict is the worst, and how many say so.
void print_line(std::ostream& out, const std::vector<PeReport>& pes, const std::string& name) {
  const StepReport* worst = nullptr;
  const PeReport* whose = nullptr;
  std::size_t count = 0, alike = 0;
  for (const PeReport& pe : pes) {
    const StepReport* const step = step_of(pe, name);
    if (step == nullptr) continue;
    ++count;
    if (worst == nullptr || step->verdict > worst->verdict) {
      worst = step;
      whose = &pe;
      alike = 0;
    }
    if (step->verdict == worst->verdict) ++alike;
  }
  std::string text = line_text(*worst);
  if (count > 1) {
    text = (alike == count ? "all PEs; PE "
                           : std::to_string(alike) + " of " + std::to_string(count) + " PEs; PE ") +
           std::to_string(whose->pe) + ": " + text;
  }
  out << "  " << std::left << std::setw(kNameColumns) << name << std::setw(kVerdictColumns)
      << verdict_name(worst->verdict) << wrapped(text, kIndent) << '\n';
}

struct Found {
  std::string step;
  Finding finding;
  std::vector<std::string> places;
};

std::vector<Found> all_findings(const std::vector<PeReport>& pes) {
  std::vector<Found> all;
  for (const std::string& name : names_of(pes)) {
    for (const PeReport& pe : pes) {
      const StepReport* const step = step_of(pe, name);
      if (step == nullptr) continue;
      for (const Finding& finding : step->findings) {
        const auto same = std::ranges::find_if(all, [&](const Found& found) {
          return found.step == name && found.finding == finding;
        });
        const std::string place = place_of(pe, pes.size() > 1);
        if (same == all.end()) {
          all.push_back({name, finding, {place}});
        } else {
          same->places.push_back(place);
        }
      }
    }
  }
  return all;
}

std::string field(const char* name, const std::string& text) { return entry(name, text, 16); }

void print_finding(std::ostream& out, const Found& found) {
  const Finding& finding = found.finding;
  std::string places;
  for (const std::string& place : found.places) places += (places.empty() ? "" : "; ") + place;
  out << '\n'
      << heading(std::string(verdict_name(finding.verdict)) + " in step " + found.step) << '\n'
      << field("where", finding.on.empty() ? places : finding.on + ", " + places)
      << field("tried", finding.tried) << field("answer", finding.answer)
      << field("likely cause", finding.cause) << field("proof", '`' + finding.proof + '`')
      << field("remedy", finding.remedy) << field("without it", finding.otherwise);
}

void write_finding(JsonWriter& json, const Finding& finding) {
  json.begin_object();
  json.member("verdict", verdict_name(finding.verdict));
  json.member("on", finding.on);
  json.member("tried", finding.tried);
  json.member("answer", finding.answer);
  json.member("cause", finding.cause);
  json.member("proof", finding.proof);
  json.member("remedy", finding.remedy);
  json.member("otherwise", finding.otherwise);
  json.end();
}

void write_step(JsonWriter& json, const StepReport& step) {
  json.begin_object();
  json.member("step", step.step);
  json.member("verdict", verdict_name(step.verdict));
  json.member("summary", step.summary);
  json.key("facts");
  json.begin_object();
  for (const auto& [name, value] : step.facts) json.member(name, value);
  json.end();
  json.key("findings");
  json.begin_array();
  for (const Finding& finding : step.findings) write_finding(json, finding);
  json.end();
  json.end();
}

}  // namespace

Verdict verdict_of(const std::vector<PeReport>& pes) {
  Verdict worst = Verdict::skipped;
  for (const PeReport& pe : pes) worst = std::max(worst, verdict_of(pe.steps));
  return worst;
}

void print_text(std::ostream& out, const std::vector<PeReport>& pes) {
  out << heading("gdakit check on " + (pes.size() > 1 ? std::to_string(pes.size()) + " PEs"
                                                      : "host " + pes.front().host))
      << '\n';
  for (const std::string& name : names_of(pes)) print_line(out, pes, name);
  for (const Found& found : all_findings(pes)) print_finding(out, found);
}

void print_json(std::ostream& out, const std::vector<PeReport>& pes) {
  JsonWriter json(out);
  json.begin_object();
  json.member("gdakit", GDAKIT_VERSION);
  json.member("verdict", verdict_name(verdict_of(pes)));
  json.key("pes");
  json.begin_array();
  for (const PeReport& pe : pes) {
    json.begin_object();
    json.member("pe", pe.pe);
    json.member("host", pe.host);
    json.member("verdict", verdict_name(verdict_of(pe.steps)));
    json.key("steps");
    json.begin_array();
    for (const StepReport& step : pe.steps) write_step(json, step);
    json.end();
    json.end();
  }
  json.end();
  json.end();
}

}  // namespace gdakit::tools::check
