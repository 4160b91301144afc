#include "sim/world/mutants/runner.h"

#include <algorithm>

#include "sim/explore/mixed.h"
#include "sim/explore/scenario_list.h"

namespace gdakit::sim::mutants {

bool Discovery::visits(const SiteKey& key) const {
  return std::any_of(sites.begin(), sites.end(),
                     [&](const OrderSite& site) { return site.key == key; });
}

Runner::Runner(const MutantOptions& options) : options_(options) {
  for (const ScenarioEntry& entry : scenario_list()) {
    std::unique_ptr<Subject> subject = entry.make({});
    auto* const world = dynamic_cast<World*>(subject.get());
    if (world != nullptr) scenarios_.push_back({std::move(subject), world});
  }
}

Discovery Runner::discover(std::size_t number, std::uint64_t executions) {
  Scenario& scenario = scenarios_[number];
  Discovery found{.scenario = scenario.world->name(), .sites = {}};
  MixedStrategy strategy(options_.seed);
  Chooser chooser(strategy);
  for (std::uint64_t i = 0; i < executions; ++i) {
    chooser.begin();
    const RunResult run = scenario.world->run(chooser, nullptr);
    chooser.end();
    found.passes = run.passed() && found.passes;
    found.accesses = std::max(found.accesses, run.accesses);
  }
  for (const OrderSite& site : scenario.world->sites().all()) {
    if (site.key.file.starts_with("device/")) found.sites.push_back(site);
  }
  return found;
}

void Runner::run(MutantResult& result, const std::vector<Discovery>& discoveries,
                 const std::string& first) {
  const auto may_run = [&](std::size_t i) {
    return discoveries[i].passes &&
           std::all_of(result.mutations.begin(), result.mutations.end(),
                       [&](const Mutation& one) { return discoveries[i].visits(one.site); });
  };
  for (std::size_t i = 0; i < scenarios_.size(); ++i) {
    if (discoveries[i].scenario != first || !may_run(i)) continue;
    if (try_in(scenarios_[i], result, 0, options_.executions))
      return measure(scenarios_[i], result);
  }
  const bool argued = !result.argument.empty() && options_.argued_executions != 0;
  std::uint64_t from = 0;
  for (const std::uint64_t to : {std::uint64_t{20}, std::uint64_t{200}, options_.executions}) {
    for (std::size_t i = 0; i < scenarios_.size(); ++i) {
      const std::uint64_t end = std::min(to, most_of(discoveries[i], argued));
      if (end <= from || discoveries[i].scenario == first || !may_run(i)) continue;
      if (try_in(scenarios_[i], result, from, end)) return measure(scenarios_[i], result);
    }
    from = to;
  }
}

std::uint64_t Runner::most_of(const Discovery& discovery, bool argued) const {
  if (!argued) return options_.executions;
  constexpr std::uint64_t kLeast = 5;
  const std::uint64_t of_accesses =
      options_.argued_accesses / std::max<std::uint64_t>(discovery.accesses, 1);
  return std::min(options_.argued_executions, std::max(of_accesses, kLeast));
}

bool Runner::try_in(Scenario& scenario, MutantResult& result, std::uint64_t from,
                    std::uint64_t to) {
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

void Runner::measure(Scenario& scenario, MutantResult& result) {
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

}  // namespace gdakit::sim::mutants
