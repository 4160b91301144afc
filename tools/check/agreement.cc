#include "tools/check/agreement.h"

#include <algorithm>
#include <map>
#include <string>

namespace gdakit::tools::check {
namespace {

// Who has which value.
using Holders = std::map<std::string, std::vector<const PeReport*>>;

std::string pes_text(const std::vector<const PeReport*>& pes) {
  constexpr std::size_t kMostNamed = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMostNamed, pes.size()); ++i) {
    text += (i == 0 ? "PE " : ", PE ") + std::to_string(pes[i]->pe) + " on " + pes[i]->host;
  }
  if (pes.size() > kMostNamed) text += " and " + std::to_string(pes.size() - kMostNamed) + " more";
  return text;
}

// By the step that tells it and its name.
std::map<std::pair<std::string, std::string>, Holders> all_facts(const std::vector<PeReport>& pes) {
  std::map<std::pair<std::string, std::string>, Holders> facts;
  for (const PeReport& pe : pes) {
    for (const StepReport& step : pe.steps) {
      for (const auto& [name, value] : step.facts) facts[{step.step, name}][value].push_back(&pe);
    }
  }
  // PEs whose step was skipped or failed have nothing to tell.
  for (auto& [key, holders] : facts) {
    std::vector<const PeReport*> silent;
    for (const PeReport& pe : pes) {
      const bool tells = std::ranges::any_of(pe.steps, [&](const StepReport& step) {
        return step.step == key.first && step.facts.contains(key.second);
      });
      if (!tells) silent.push_back(&pe);
    }
    if (!silent.empty()) holders["nothing to tell"] = silent;
  }
  return facts;
}

// Without it no connection is made between them.
bool must_be_alike(const std::string& name) { return name == "link layer" || name == "RoCE"; }

Finding difference(const std::string& step, const std::string& name, const Holders& holders) {
  const auto most = std::ranges::max_element(holders, [](const auto& one, const auto& other) {
    return one.second.size() < other.second.size();
  });
  std::string odd, answer;
  for (const auto& [value, pes] : holders) {
    if (&value == &most->first) continue;
    odd += (odd.empty() ? "" : "; ") + pes_text(pes);
    answer += (answer.empty() ? "" : "; ") + value + " on " + pes_text(pes);
  }
  return {.verdict = must_be_alike(name) ? Verdict::failed : Verdict::warning,
          .on = odd,
          .tried = name + " of all PEs, as step " + step + " has it",
          .answer =
              answer + "; " + most->first + " on the other " + std::to_string(most->second.size()),
          .cause = "the hosts are not set up alike",
          .proof = "gdakit check --only " + step,
          .remedy = "what the others have",
          .otherwise = must_be_alike(name) ? "a job of those that are alike"
                                           : "all of it, if steps put and pairs are ok"};
}

// PEs of one host that take the same NIC, each among those that it takes.
std::string sharing_text(const std::vector<PeReport>& pes) {
  std::map<std::pair<std::string, std::string>, std::size_t> takers;
  for (const PeReport& pe : pes) {
    for (const std::string& nic : pe.nics) ++takers[{pe.host, nic}];
  }
  std::string text;
  for (const auto& [key, count] : takers) {
    if (count < 2) continue;
    text += (text.empty() ? "" : "; ") + std::to_string(count) + " PEs share " + key.second +
            " of host " + key.first;
  }
  return text.empty() ? "" : text + " (GDAKIT_HCA_MAP chooses)";
}

}  // namespace

StepReport look_at_agreement(const std::vector<PeReport>& pes) {
  StepReport report;
  report.step = "agreement";
  const auto facts = all_facts(pes);
  std::vector<std::string> alike;
  for (const auto& [key, holders] : facts) {
    if (holders.size() > 1) {
      report.add(difference(key.first, key.second, holders));
    } else {
      alike.push_back(key.second);
    }
  }
  report.say(facts.empty() ? "the steps chosen have nothing to compare"
                           : "alike on all PEs: " + joined(alike));
  if (const std::string sharing = sharing_text(pes); !sharing.empty()) report.say(sharing);
  return report;
}

}  // namespace gdakit::tools::check
