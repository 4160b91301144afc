// Each seeded bug is found by the shipped scenarios within 5,000 executions of one of them, and
// without a bug they pass.
//
//   seeded_test [--search] [--within EXECUTIONS] [--markdown FILE] [NAME...]
//
// Without an option it looks for each bug in the scenario that found.csv names for it, and fails if
// that one does not find it; those whose entries say why they are missed are left out. --search
// tries every scenario of both GPU kinds, a few executions of each first, and prints found.csv
// anew, or the lines of these bugs; --markdown writes the table found.md.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "sim/choice/choice.h"
#include "sim/choice/subject.h"
#include "sim/explore/mixed.h"
#include "sim/explore/scenario_list.h"
#include "tests/museum/seeded/seeded_bug.h"
#include "tests/museum/seeded/seeded_list.h"

namespace gdakit::seeded {
namespace {

using sim::FindingKind;
using sim::GpuModel;

const std::span<const Bug> kBugs = all_bugs();

std::uint64_t within = 5000;  // executions of a scenario
constexpr std::uint64_t kSeed = 1;
// A bug may make a thread compute for ever without a step of the simulator's.
constexpr unsigned kMostSeconds = 1500;

struct Found {
  std::string bug;
  std::string scenario;  // "" if none has found it
  std::string gpu = "hopper";
  std::string finding;
  std::uint64_t execution = 0;  // from 1 on

  std::string line() const {
    return bug + "," + scenario + "," + gpu + "," + finding + "," + std::to_string(execution);
  }
};

Found parse(const std::string& line) {
  std::istringstream fields(line);
  Found found;
  std::string execution;
  std::getline(fields, found.bug, ',');
  std::getline(fields, found.scenario, ',');
  std::getline(fields, found.gpu, ',');
  std::getline(fields, found.finding, ',');
  std::getline(fields, execution, ',');
  found.execution = std::strtoull(execution.c_str(), nullptr, 10);
  return found;
}

std::vector<Found> recorded() {
  std::ifstream file(GDAKIT_SEEDED_DIR "/found.csv");
  std::vector<Found> all;
  std::string line;
  std::getline(file, line);  // the columns
  while (std::getline(file, line)) all.push_back(parse(line));
  return all;
}

// Looks in executions [from, to) of the scenario. True if one of them finds something.
bool look(const sim::ScenarioEntry& entry, Found& found, std::uint64_t from, std::uint64_t to) {
  const GpuModel gpu = found.gpu == "ampere" ? GpuModel::ampere : GpuModel::hopper;
  const std::unique_ptr<sim::Subject> subject = entry.make({.gpu = gpu});
  sim::MixedStrategy strategy(kSeed);
  strategy.seek(from);
  sim::Chooser chooser(strategy);
  for (std::uint64_t i = from; i < to; ++i) {
    chooser.begin();
    const sim::RunResult run = subject->run(chooser, nullptr);
    chooser.end();
    if (run.passed()) continue;
    found.scenario = entry.name;
    found.finding = finding_name(run.finding);
    found.execution = i + 1;
    return true;
  }
  return false;
}

const sim::ScenarioEntry* entry_of(const std::string& scenario) {
  for (const sim::ScenarioEntry& entry : sim::scenario_list()) {
    if (scenario == entry.name) return &entry;
  }
  return nullptr;
}

// Looks where it was found before; its scenario is "" if it is not found there.
Found confirm(const Found& record) {
  Found found = record;
  const sim::ScenarioEntry* const known = entry_of(record.scenario);
  if (known != nullptr && look(*known, found, 0, within)) return found;
  return {record.bug, "", "", "", 0};
}

Found search(const Found& hint) {
  Found found = confirm(hint);
  if (!found.scenario.empty()) return found;
  std::uint64_t from = 0;
  for (std::uint64_t to : {std::uint64_t{4}, std::uint64_t{60}, std::uint64_t{600}, within}) {
    to = std::min(to, within);
    for (const char* const gpu : {"hopper", "ampere"}) {
      for (const sim::ScenarioEntry& entry : sim::scenario_list()) {
        found.gpu = gpu;
        if (look(entry, found, from, to)) return found;
      }
    }
    from = to;
  }
  return {hint.bug, "", "", "", 0};
}

// In a process of its own: a bug may end it.
class Child {
 public:
  template <class Body>
  Child(std::size_t number, const Body& body) : number_(number) {
    int ends[2];
    if (pipe(ends) != 0) std::perror("seeded_test: pipe"), std::exit(2);
    pid_ = fork();
    if (pid_ < 0) std::perror("seeded_test: fork"), std::exit(2);
    if (pid_ == 0) {
      alarm(kMostSeconds);
      const std::string line = body(number).line();
      _exit(write(ends[1], line.data(), line.size()) == static_cast<ssize_t>(line.size()) ? 0 : 1);
    }
    close(ends[1]);
    from_ = ends[0];
  }
  pid_t pid() const { return pid_; }
  std::size_t number() const { return number_; }

  // When it has ended.
  Found take(int status) const {
    char text[256];
    const ssize_t size = read(from_, text, sizeof text);
    close(from_);
    if (size > 0) return parse(std::string(text, static_cast<std::size_t>(size)));
    Found ended{std::string(kBugs[number_].name), "", "", "", 0};
    if (WIFSIGNALED(status)) ended.finding = "signal " + std::to_string(WTERMSIG(status));
    return ended;
  }

 private:
  std::size_t number_;
  pid_t pid_ = 0;
  int from_ = -1;
};

// body(number) for each bug of that index, as many at a time as there are processors.
template <class Body>
std::vector<Found> for_each(const std::vector<std::size_t>& numbers, const Body& body) {
  const std::size_t at_once = std::max(1u, std::thread::hardware_concurrency());
  std::map<std::size_t, Found> results;
  std::vector<Child> running;
  std::size_t next = 0;
  while (next < numbers.size() || !running.empty()) {
    while (next < numbers.size() && running.size() < at_once) {
      running.emplace_back(numbers[next++], body);
    }
    int status = 0;
    const pid_t ended = wait(&status);
    const auto child = std::find_if(running.begin(), running.end(),
                                    [&](const Child& one) { return one.pid() == ended; });
    if (child == running.end()) continue;
    results[child->number()] = child->take(status);
    std::cerr << results[child->number()].line() << "\n";
    running.erase(child);
  }
  std::vector<Found> all;
  for (auto& [number, found] : results) all.push_back(std::move(found));
  return all;
}

Found record_of(std::size_t number) {
  for (const Found& record : recorded()) {
    if (record.bug == kBugs[number].name) return record;
  }
  Found unknown;
  unknown.bug = kBugs[number].name;
  return unknown;
}

Found with_bug(std::size_t number, Found (*hunt)(const Found&)) {
  chosen = static_cast<std::uint32_t>(number) + 1;
  return hunt(record_of(number));
}

const Found& found_of(const std::vector<Found>& all, std::string_view bug) {
  static const Found kNone;
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Found& one) { return one.bug == bug; });
  return found == all.end() ? kNone : *found;
}

// One row for each bug.
std::string markdown_of(const std::vector<Found>& some) {
  std::string text =
      "# The seeded bugs, and what finds them\n\n"
      "Written by `seeded_test --markdown`: the scenario, as what it finds the bug, and in which "
      "of "
      "its executions (seed 1,\nstrategy mixed). A record, not a promise: any change of the "
      "simulator draws other schedules.\n\n"
      "| bug | header | what is wrong | scenario | found as | execution |\n"
      "|---|---|---|---|---|--:|\n";
  for (std::size_t i = 0; i < kBugs.size(); ++i) {
    const Found& found = found_of(some, kBugs[i].name);
    const std::string gpu = found.gpu == "ampere" ? " (ampere)" : "";
    const bool is_found = !found.scenario.empty();
    text += "| " + std::string(kBugs[i].name) + " | `" + std::string(kBugs[i].header) + "` | " +
            std::string(kBugs[i].what) + " | ";
    text += is_found ? found.scenario + gpu + " | " + found.finding + " | " +
                           std::to_string(found.execution) + " |\n"
                     : "*missed*: " + std::string(kBugs[i].missed) + " | | |\n";
  }
  return text;
}

// How many bugs were not found; says which.
std::size_t report_missed(const std::vector<Found>& all) {
  std::size_t missed = 0;
  for (const Found& found : all) {
    if (!found.scenario.empty()) continue;
    ++missed;
    std::cerr << "seeded_test: not found within " << within << " executions: " << found.bug << " "
              << found.finding << "\n";
  }
  return missed;
}

// Without a bug the copy is the protocol as it is: no scenario that found.csv names fails.
std::size_t report_false(const std::vector<Found>& all) {
  constexpr std::uint64_t kPass = 200;
  std::size_t wrong = 0;
  std::set<std::pair<std::string, std::string>> looked_at;
  chosen = 0;
  for (const Found& found : all) {
    const sim::ScenarioEntry* const entry = entry_of(found.scenario);
    if (entry == nullptr || !looked_at.emplace(found.scenario, found.gpu).second) continue;
    Found none = found;
    if (!look(*entry, none, 0, kPass)) continue;
    ++wrong;
    std::cerr << "seeded_test: fails without a bug: " << found.scenario << "\n";
  }
  return wrong;
}

std::vector<std::size_t> numbers_of(const std::vector<std::string_view>& names) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < kBugs.size(); ++i) {
    const bool named = std::find(names.begin(), names.end(), kBugs[i].name) != names.end();
    if (named || (names.empty() && kBugs[i].missed.empty())) numbers.push_back(i);
  }
  return numbers;
}

int main_of(const std::vector<std::string_view>& arguments) {
  std::vector<std::string_view> names;
  std::string markdown;
  bool searches = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--search") {
      searches = true;
    } else if (arguments[i] == "--markdown" && i + 1 < arguments.size()) {
      markdown = arguments[++i];
    } else if (arguments[i] == "--within" && i + 1 < arguments.size()) {
      within = std::strtoull(std::string(arguments[++i]).c_str(), nullptr, 10);
    } else {
      names.push_back(arguments[i]);
    }
  }
  const std::vector<Found> all = for_each(numbers_of(names), [searches](std::size_t number) {
    return with_bug(number, searches ? search : confirm);
  });
  if (searches) {
    std::cout << "bug,scenario,gpu,finding,execution\n";
    for (const Found& found : all) std::cout << found.line() << "\n";
  }
  if (!markdown.empty()) std::ofstream(markdown) << markdown_of(all);
  const std::size_t wrong = report_missed(all) + (searches ? 0 : report_false(all));
  std::cerr << all.size() << " bugs, " << wrong << " complaints\n";
  return wrong == 0 && !all.empty() ? 0 : 1;
}

}  // namespace
}  // namespace gdakit::seeded

int main(int count, char** arguments) {
  return gdakit::seeded::main_of({arguments + 1, arguments + count});
}
