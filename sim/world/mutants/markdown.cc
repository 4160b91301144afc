#include <cstdio>

#include "sim/world/mutants/mutants.h"
#include "sim/world/mutants/page_text.h"

namespace gdakit::sim {
namespace {

constexpr const char* kIntroduction = R"(# Every order, and what breaks without it

This page is written by `gdakit mutants --markdown docs/mutants.md`. A mutant is the device protocol
with one order made weaker at one place: a fence left out, a scope narrowed, an acquire or release
made relaxed, a strong access made weak, two neighbouring stores swapped. It is *found* when a
scenario of `gdakit explore` fails with it; the number says in which execution of that scenario that
happened first, the rate how many of its executions find it. What no scenario comes past, nothing
here speaks of: `gdakit mutants --sources DIR` names such places, and the test `mutants` fails.

)";

std::string percent(double rate) {
  char text[16];
  std::snprintf(text, sizeof(text), "%.0f %%", 100 * rate);
  return text;
}

std::string row(const MutantResult& mutant) {
  std::string text = mutants::page_cells(mutant) + " | ";
  if (mutant.killed()) {
    text += mutant.killer + " | " + finding_name(mutant.finding) + " | " +
            std::to_string(mutant.first_kill) + " | " + percent(mutant.kill_rate) + " |";
  } else {
    text += "*survives* | | | |";
  }
  return text + "\n";
}

}  // namespace

std::string mutants::page_cells(const MutantResult& mutant) {
  const SiteName& site = mutant.sites[0];
  std::string text = "| `" + site.file + "` " + site_op_name(site.op) + " ";
  text += site.name.empty() ? "" : "**" + site.name + "** ";
  return text + "#" + std::to_string(site.number) + " | " + operator_name(mutant.mutations[0].op);
}

std::string to_markdown(const MutantReport& report) {
  std::string text = kIntroduction;
  text += std::to_string(report.killed()) + " of " + std::to_string(report.first_order.size()) +
          " mutants are found.\n\n";
  text += "| place | made weaker | found by | as | first | rate |\n|---|---|---|---|---|---|\n";
  for (const MutantResult& mutant : report.first_order) text += row(mutant);
  text += "\n## Survivors\n\n";
  for (const MutantResult& mutant : report.first_order) {
    if (mutant.killed()) continue;
    text += "- " + mutant.sites[0].text() + ", " + operator_name(mutant.mutations[0].op) + ": " +
            (mutant.argument.empty() ? "nobody has said why."
                                     : mutant.argument + " Tried by " + mutant.tried_by + ".") +
            "\n";
  }
  text += "\n## Pairs\n\n";
  text += report.second_order.empty()
              ? "No two orders can be left out one at a time, so there is no pair to leave out.\n"
              : "";
  for (const MutantResult& pair : report.second_order) {
    text += "- " + pair.text() + ": " +
            (pair.killed() ? "found by " + pair.killer : std::string("survives")) + "\n";
  }
  return text;
}

}  // namespace gdakit::sim
