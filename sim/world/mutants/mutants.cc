#include "sim/world/mutants/mutants.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <thread>

#include "core/base/edit_distance.h"
#include "sim/world/mutants/last_page.h"
#include "sim/world/mutants/operators.h"
#include "sim/world/mutants/runner.h"
#include "sim/world/mutants/unvisited.h"
#include "sim/world/orders.h"

namespace gdakit::sim {
namespace {

using mutants::Discovery;
using mutants::Runner;

// Executions without a mutation that find the sites of a scenario, where mutants get no fewer; a
// first look finds nearly all.
constexpr std::uint64_t kDiscovery = 150;
constexpr std::uint64_t kFirstLook = 2;

// Threads, each with all scenarios' worlds, that share out what there is to do.
class Crew {
 public:
  explicit Crew(const MutantOptions& options) : options_(options) {
    const std::size_t size = std::max(1u, std::thread::hardware_concurrency());
    for (std::size_t i = 0; i < size; ++i) runners_.push_back(std::make_unique<Runner>(options));
  }

  std::size_t scenarios() const { return runners_.front()->scenarios(); }
  bool stopped() const { return options_.stop != nullptr && *options_.stop; }

  // body(runner, number) for each number below `count` until the run is stopped. Returns how many
  // have been begun, which are the first ones.
  template <class Body>
  std::size_t share_out(std::size_t count, const Body& body) {
    std::atomic<std::size_t> next{0};
    const auto work = [&](Runner& runner) {
      while (!stopped()) {
        const std::size_t number = next++;
        if (number >= count) return;
        body(runner, number);
      }
    };
    std::vector<std::thread> others;
    for (std::size_t i = 1; i < runners_.size(); ++i) {
      others.emplace_back([&, i] { work(*runners_[i]); });
    }
    work(*runners_.front());
    for (std::thread& other : others) other.join();
    return std::min<std::size_t>(next, count);
  }

 private:
  const MutantOptions options_;
  std::vector<std::unique_ptr<Runner>> runners_;
};

std::vector<Discovery> discover(Crew& crew, std::uint64_t executions) {
  std::vector<Discovery> found(crew.scenarios());
  crew.share_out(found.size(), [&](Runner& runner, std::size_t number) {
    found[number] = runner.discover(number, executions);
  });
  return found;
}

// Each once, in order.
std::vector<OrderSite> sites_of(const std::vector<Discovery>& discoveries) {
  std::vector<OrderSite> sites;
  for (const Discovery& discovery : discoveries) {
    for (const OrderSite& site : discovery.sites) {
      const bool known = std::any_of(sites.begin(), sites.end(), [&](const OrderSite& other) {
        return other.key == site.key && other.sem == site.sem && other.scope == site.scope;
      });
      if (!known) sites.push_back(site);
    }
  }
  std::sort(sites.begin(), sites.end(),
            [](const OrderSite& a, const OrderSite& b) { return a.key < b.key; });
  return sites;
}

const Argument* argument_for(const MutantResult& mutant) {
  for (const Argument& argument : arguments()) {
    if (argument.site == mutant.sites[0] && argument.op == mutant.mutations[0].op) return &argument;
  }
  return nullptr;
}

// Whether the scenario that a mutant's argument names comes past its site.
bool comes_past(const std::vector<Discovery>& discoveries, const MutantResult& mutant) {
  return std::any_of(discoveries.begin(), discoveries.end(), [&](const Discovery& discovery) {
    return discovery.scenario == mutant.tried_by && discovery.visits(mutant.mutations[0].site);
  });
}

// Runs them on all threads, and drops those that are not run.
void run_all(Crew& crew, std::vector<MutantResult>& all, const std::vector<Discovery>& discoveries,
             const MutantProgress& progress) {
  std::mutex mutex;
  std::size_t done = 0;
  const std::size_t begun = crew.share_out(all.size(), [&](Runner& runner, std::size_t number) {
    MutantResult& mutant = all[number];
    const bool argued = !mutant.tried_by.empty();
    runner.run(mutant, discoveries, argued ? mutant.tried_by : mutants::last_killer(mutant));
    const std::lock_guard lock(mutex);
    if (progress) progress(++done, all.size());
  });
  all.resize(begun);
}

}  // namespace

const char* contract_name(Contract contract) {
  switch (contract) {
    case Contract::own_word: return "An own word";
    case Contract::met_since: return "Behind a meeting";
    case Contract::later_fence: return "A later fence";
    case Contract::advice: return "Advice";
    case Contract::device_alone: return "The device alone";
    case Contract::host_tells: return "The host tells";
    case Contract::compiler: return "For the compiler";
  }
  return "";
}

std::string SiteName::text() const {
  std::string text = file + " " + site_op_name(op);
  if (!name.empty()) text += " " + name;
  return text + " #" + std::to_string(number);
}

std::string MutantResult::text() const {
  std::string text;
  for (const Mutation& mutation : mutations) {
    if (!text.empty()) text += " and ";
    text += mutation.text();
  }
  return text;
}

std::size_t MutantReport::killed() const {
  return static_cast<std::size_t>(std::count_if(first_order.begin(), first_order.end(),
                                                [](const auto& one) { return one.killed(); }));
}

std::vector<std::string> MutantReport::defects() const {
  std::vector<std::string> found = complaints;
  for (const MutantResult& mutant : first_order) {
    if (!mutant.killed() && mutant.argument.empty()) found.push_back("survives: " + mutant.text());
  }
  return found;
}

std::string problem_of_name(const std::string& only) {
  if (only.empty()) return "";
  std::string near;
  for (const NamedOrder& order : named_orders()) {
    if (order.name.find(only) != order.name.npos) return "";
    if (may_be_meant(only, edit_distance(only, order.name))) {
      near += (near.empty() ? "; did you mean " : " or ") + std::string(order.name);
    }
  }
  Crew crew({});
  const auto all = mutants::first_order(sites_of(discover(crew, kFirstLook)));
  for (const MutantResult& mutant : all) {
    if (mutant.text().find(only) != std::string::npos) return "";
  }
  // A line that only a longer look finds.
  if (only.find(".h") != only.npos || only.find(':') != only.npos) return "";
  return "no mutant's name contains '" + only + "'" + (near.empty() ? "" : near + "?") +
         (near.empty() ? "; a name is like '" + all.front().text() + "'" : "");
}

MutantReport run_mutants(const MutantOptions& options, const MutantProgress& progress) {
  const auto begin = std::chrono::steady_clock::now();
  Crew crew(options);
  const std::vector<Discovery> discoveries =
      discover(crew, std::min(kDiscovery, options.executions));
  MutantReport report;
  if (!options.sources.empty() && !crew.stopped()) {
    report.complaints = mutants::unvisited_sites(options.sources, sites_of(discoveries));
  }
  for (MutantResult& mutant : mutants::first_order(sites_of(discoveries))) {
    if (mutant.text().find(options.only) == std::string::npos) continue;
    if (const Argument* const argument = argument_for(mutant)) {
      mutant.argument = std::string(contract_name(argument->contract)) + ". " + argument->text;
      mutant.tried_by = argument->scenario;
      if (!comes_past(discoveries, mutant)) {
        report.complaints.push_back("the scenario " + mutant.tried_by +
                                    " of an argument does not come past: " + mutant.text());
      }
    }
    report.first_order.push_back(std::move(mutant));
  }
  const std::size_t all = report.first_order.size();
  run_all(crew, report.first_order, discoveries, progress);
  report.not_run = all - report.first_order.size();
  std::vector<MutantResult> survivors;
  for (MutantResult& mutant : report.first_order) {
    if (!mutant.killed()) {
      survivors.push_back(mutant);
    } else if (!mutant.argument.empty()) {
      report.complaints.push_back("has an argument, but is killed: " + mutant.text());
      mutant.argument.clear();
    }
  }
  if (options.second_order) report.second_order = mutants::pairs_of(survivors);
  run_all(crew, report.second_order, discoveries, {});
  for (const Discovery& discovery : discoveries) {
    if (discovery.passes) continue;
    report.complaints.push_back("fails without a mutation: " + discovery.scenario);
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

}  // namespace gdakit::sim
