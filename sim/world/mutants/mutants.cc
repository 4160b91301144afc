#include "sim/world/mutants/mutants.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <memory>
#include <set>

#include "core/base/edit_distance.h"
#include "sim/explore/mixed.h"
#include "sim/explore/scenario_list.h"
#include "sim/world/orders.h"
#include "sim/world/world.h"

namespace gdakit::sim {
namespace {

// Executions without a mutation that find the sites of a scenario; a first look finds nearly all.
constexpr std::uint64_t kDiscovery = 150;
constexpr std::uint64_t kFirstLook = 2;

struct Scenario {
  std::unique_ptr<Subject> subject;
  World* world;
  std::vector<SiteKey> sites;
};

class Runner {
 public:
  explicit Runner(const MutantOptions& options, std::uint64_t discovery = kDiscovery)
      : options_(options), discovery_(discovery) {
    for (const ScenarioEntry& entry : scenario_list()) {
      std::unique_ptr<Subject> subject = entry.make({});
      auto* const world = dynamic_cast<World*>(subject.get());
      if (world != nullptr) scenarios_.push_back({std::move(subject), world, {}});
    }
    for (Scenario& scenario : scenarios_) {
      if (!stopped()) discover(scenario);
    }
  }

  bool stopped() const { return options_.stop != nullptr && *options_.stop; }

  std::vector<SiteKey> all_sites() const {
    std::vector<SiteKey> sites;
    for (const Scenario& scenario : scenarios_) {
      sites.insert(sites.end(), scenario.sites.begin(), scenario.sites.end());
    }
    std::sort(sites.begin(), sites.end());
    sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
    return sites;
  }

  std::vector<OrderSite> order_sites() const {
    std::vector<OrderSite> sites;
    for (const Scenario& scenario : scenarios_) {
      for (const OrderSite& site : scenario.world->sites().all()) {
        const bool known = std::any_of(sites.begin(), sites.end(), [&](const OrderSite& other) {
          return other.key == site.key && other.sem == site.sem && other.scope == site.scope;
        });
        if (!known && site.key.file.starts_with("device/")) sites.push_back(site);
      }
    }
    std::sort(sites.begin(), sites.end(),
              [](const OrderSite& a, const OrderSite& b) { return a.key < b.key; });
    return sites;
  }

  // Scenarios that were seen to fail without a mutation.
  const std::set<std::string>& broken() const { return broken_; }

  // Runs a mutant in ever more executions of every scenario that comes past its sites.
  void run(MutantResult& result, std::uint64_t executions) {
    std::uint64_t from = 0;
    for (std::uint64_t to : {std::uint64_t{20}, std::uint64_t{200}, executions}) {
      to = std::min(to, executions);
      for (Scenario& scenario : scenarios_) {
        if (broken_.contains(scenario.world->name()) || !visits(scenario, result)) continue;
        if (try_in(scenario, result, from, to)) return measure(scenario, result);
      }
      from = to;
    }
  }

 private:
  void discover(Scenario& scenario) {
    MixedStrategy strategy(options_.seed);
    Chooser chooser(strategy);
    for (std::uint64_t i = 0; i < discovery_; ++i) {
      chooser.begin();
      if (!scenario.world->run(chooser, nullptr).passed()) broken_.insert(scenario.world->name());
      chooser.end();
    }
    for (const OrderSite& site : scenario.world->sites().all()) scenario.sites.push_back(site.key);
  }

  static bool visits(const Scenario& scenario, const MutantResult& result) {
    return std::all_of(result.mutations.begin(), result.mutations.end(), [&](const Mutation& one) {
      return std::find(scenario.sites.begin(), scenario.sites.end(), one.site) !=
             scenario.sites.end();
    });
  }

  bool try_in(Scenario& scenario, MutantResult& result, std::uint64_t from, std::uint64_t to) {
    scenario.world->set_mutations(result.mutations);
    MixedStrategy strategy(options_.seed);
    strategy.seek(from);
    Chooser chooser(strategy);
    bool found = false;
    for (std::uint64_t i = from; i < to && !found; ++i) {
      chooser.begin();
      const RunResult run = scenario.world->run(chooser, nullptr);
      chooser.end();
      ++result.executions;
      found = !run.passed();
      if (!found) continue;
      result.killer = scenario.world->name();
      result.finding = run.finding;
      result.first_kill = i + 1;
    }
    scenario.world->set_mutations({});
    return found;
  }

  void measure(Scenario& scenario, MutantResult& result) {
    scenario.world->set_mutations(result.mutations);
    MixedStrategy strategy(options_.seed + 1);
    Chooser chooser(strategy);
    std::uint64_t kills = 0;
    for (std::uint64_t i = 0; i < options_.rate_executions; ++i) {
      chooser.begin();
      kills += scenario.world->run(chooser, nullptr).passed() ? 0 : 1;
      chooser.end();
    }
    scenario.world->set_mutations({});
    result.kill_rate = static_cast<double>(kills) / static_cast<double>(options_.rate_executions);
  }

  const MutantOptions options_;
  const std::uint64_t discovery_;
  std::vector<Scenario> scenarios_;
  std::set<std::string> broken_;
};

// What can be made weaker at a site.
std::vector<Operator> operators_for(const OrderSite& site) {
  std::vector<Operator> found;
  const auto add = [&found](Operator op) { found.push_back(op); };
  const auto narrow = [&] {
    if (site.scope == Scope::system || site.scope == Scope::nic) add(Operator::narrow_gpu);
    if (site.scope != Scope::block) add(Operator::narrow_block);
  };
  const bool orders = site.sem != weak::Sem::relaxed && site.sem != weak::Sem::weak;
  switch (site.key.op) {
    case SiteOp::fence:
    case SiteOp::rmw:
      if (orders) add(Operator::remove);
      if (site.sem == weak::Sem::acq_rel || site.sem == weak::Sem::sc) {
        add(Operator::weaken);
        add(Operator::weaken_other);
      }
      if (site.sem == weak::Sem::sc) add(Operator::weaken_sc);
      narrow();
      break;
    case SiteOp::load:
      if (orders) add(Operator::remove);
      narrow();
      add(Operator::plain);
      break;
    case SiteOp::store:
      if (orders) add(Operator::remove);
      narrow();
      add(Operator::plain);
      // A release that comes later still covers what stands before it.
      if (!orders) add(Operator::delay);
      break;
    case SiteOp::mmio: add(Operator::ordinary); break;
    case SiteOp::plain_store:
      add(Operator::delay);
      if (site.key.file == "device/wqe_writer.h") add(Operator::no_flush);
      break;
    case SiteOp::plain_load: break;
    case SiteOp::sync_warp:
    case SiteOp::sync_block: add(Operator::remove); break;
  }
  return found;
}

std::vector<SiteName> names_of(const std::vector<OrderSite>& sites) {
  std::vector<SiteName> names;
  for (const OrderSite& site : sites) {
    SiteName name{site.key.file, site.key.name, site.key.op, 1};
    for (const OrderSite& other : sites) {
      const bool before = other.key.file == site.key.file && other.key.name == site.key.name &&
                          other.key.op == site.key.op && other.key.line < site.key.line;
      if (before) ++name.number;
    }
    names.push_back(std::move(name));
  }
  return names;
}

std::vector<MutantResult> first_order(const std::vector<OrderSite>& sites) {
  const std::vector<SiteName> names = names_of(sites);
  std::vector<MutantResult> mutants;
  for (std::size_t i = 0; i < sites.size(); ++i) {
    for (const Operator op : operators_for(sites[i])) {
      MutantResult mutant;
      mutant.mutations = {{sites[i].key, op}};
      mutant.sites = {names[i]};
      mutants.push_back(std::move(mutant));
    }
  }
  return mutants;
}

const Argument* argument_for(const MutantResult& mutant) {
  for (const Argument& argument : arguments()) {
    if (argument.site == mutant.sites[0] && argument.op == mutant.mutations[0].op) return &argument;
  }
  return nullptr;
}

// Orders that can be left out one at a time may still be needed together.
std::vector<MutantResult> pairs_of(const std::vector<MutantResult>& survivors) {
  std::vector<MutantResult> pairs;
  for (std::size_t i = 0; i < survivors.size(); ++i) {
    for (std::size_t k = i + 1; k < survivors.size(); ++k) {
      const Mutation& a = survivors[i].mutations[0];
      const Mutation& b = survivors[k].mutations[0];
      const bool removals = a.op == Operator::remove && b.op == Operator::remove;
      if (!removals || a.site == b.site) continue;
      MutantResult pair;
      pair.mutations = {a, b};
      pair.sites = {survivors[i].sites[0], survivors[k].sites[0]};
      pairs.push_back(std::move(pair));
    }
  }
  return pairs;
}

}  // namespace

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
  const std::vector<MutantResult> mutants = first_order(Runner({}, kFirstLook).order_sites());
  for (const MutantResult& mutant : mutants) {
    if (mutant.text().find(only) != std::string::npos) return "";
  }
  // A line that only a longer look finds.
  if (only.find(".h") != only.npos || only.find(':') != only.npos) return "";
  return "no mutant's name contains '" + only + "'" + (near.empty() ? "" : near + "?") +
         (near.empty() ? "; a name is like '" + mutants.front().text() + "'" : "");
}

MutantReport run_mutants(const MutantOptions& options, const MutantProgress& progress) {
  const auto begin = std::chrono::steady_clock::now();
  Runner runner(options);
  MutantReport report;
  for (MutantResult& mutant : first_order(runner.order_sites())) {
    if (mutant.text().find(options.only) != std::string::npos) {
      report.first_order.push_back(std::move(mutant));
    }
  }
  std::vector<MutantResult> survivors;
  for (std::size_t i = 0; i < report.first_order.size(); ++i) {
    if (runner.stopped()) {
      report.not_run = report.first_order.size() - i;
      report.first_order.resize(i);
      break;
    }
    MutantResult& mutant = report.first_order[i];
    const Argument* const argument = argument_for(mutant);
    const bool in_fewer = argument != nullptr && options.argued_executions != 0;
    runner.run(mutant, in_fewer ? options.argued_executions : options.executions);
    if (mutant.killed() && argument != nullptr) {
      report.complaints.push_back("has an argument, but is killed: " + mutant.text());
    }
    if (!mutant.killed()) {
      if (argument != nullptr) mutant.argument = argument->text;
      survivors.push_back(mutant);
    }
    if (progress) progress(i + 1, report.first_order.size());
  }
  if (options.second_order && !runner.stopped()) report.second_order = pairs_of(survivors);
  for (MutantResult& pair : report.second_order) {
    if (!runner.stopped()) runner.run(pair, options.executions);
  }
  for (const std::string& name : runner.broken()) {
    report.complaints.push_back("fails without a mutation: " + name);
  }
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return report;
}

}  // namespace gdakit::sim
