#include "tools/explore_run.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <sstream>

#include "core/base/edit_distance.h"
#include "core/base/files.h"
#include "core/base/json.h"
#include "sim/explore/explorer.h"
#include "sim/explore/page.h"
#include "sim/world/orders.h"
#include "tools/command.h"
#include "tools/interrupt.h"
#include "tools/progress.h"

namespace gdakit::tools {
namespace {

using sim::Exploration;
using sim::ScenarioEntry;

constexpr std::uint64_t kUsualSchedules = 2000;

// The arguments, understood.
struct Plan {
  std::vector<const ScenarioEntry*> scenarios;
  sim::SubjectOptions subject;
  sim::ExploreOptions explore;
  std::optional<sim::Token> token;
};

Error bad_usage(const std::string& sentence) { return Error(Code::invalid_argument, sentence); }

Error unknown_scenario(const std::string& typed, std::span<const ScenarioEntry> scenarios) {
  std::string sentence = "there is no scenario \"" + typed + "\"";
  const std::vector<std::string> near = near_names(typed, scenarios);
  for (std::size_t i = 0; i < near.size(); ++i) {
    sentence += (i == 0 ? "; did you mean " : i + 1 == near.size() ? " or " : ", ") + near[i];
  }
  return bad_usage(sentence + (near.empty() ? "; " : "? ") + "--list shows all");
}

Result<std::vector<const ScenarioEntry*>> chosen_scenarios(
    const std::string& typed, std::span<const ScenarioEntry> scenarios) {
  if (typed.empty()) return bad_usage("which scenario? give its name, or all; --list shows them");
  std::vector<const ScenarioEntry*> chosen;
  for (const ScenarioEntry& entry : scenarios) {
    if (typed == "all" || typed == entry.name) chosen.push_back(&entry);
  }
  if (chosen.empty()) return unknown_scenario(typed, scenarios);
  return chosen;
}

Result<sim::GpuModel> gpu_named(const std::string& typed) {
  if (typed == "hopper") return sim::GpuModel::hopper;
  if (typed == "ampere") return sim::GpuModel::ampere;
  return bad_usage("there is no GPU \"" + typed + "\"; there are hopper and ampere");
}

// "" is no order, and fine.
Result<void> check_order(const std::string& typed) {
  if (typed.empty()) return {};
  std::string names;
  for (const sim::NamedOrder& order : sim::named_orders()) {
    if (order.name == typed) return {};
    names += (names.empty() ? "" : ", ") + std::string(order.name);
  }
  return bad_usage("there is no order \"" + typed + "\"; there are " + names);
}

// The command that explores this scenario with these options: what a token is of.
std::string command_of(const ExploreArguments& arguments, std::string_view scenario) {
  std::string command = "gdakit explore " + std::string(scenario);
  if (arguments.gpu != ExploreArguments{}.gpu) command += " --gpu " + arguments.gpu;
  if (!arguments.without.empty()) command += " --without " + arguments.without;
  return command;
}

Result<Plan> make_plan(const ExploreArguments& arguments,
                       std::span<const ScenarioEntry> scenarios) {
  Plan plan;
  auto chosen = chosen_scenarios(arguments.scenario, scenarios);
  if (!chosen) return chosen.error();
  plan.scenarios = *chosen;
  const auto gpu = gpu_named(arguments.gpu);
  if (!gpu) return gpu.error();
  plan.subject.gpu = *gpu;
  if (Result<void> known = check_order(arguments.without); !known) return known.error();
  plan.subject.without = arguments.without;
  const auto strategy = sim::strategy_named(arguments.strategy);
  if (!strategy) return strategy.error();
  plan.explore.strategy = *strategy;
  plan.explore.seed = arguments.seed;
  const bool exhaustive = *strategy == sim::StrategyKind::exhaustive;
  if (arguments.preemptions && !exhaustive) {
    return bad_usage("--preemptions is a bound of --strategy exhaustive");
  }
  plan.explore.max_preemptions = arguments.preemptions;
  plan.explore.seconds = arguments.seconds.value_or(0);
  if (arguments.seconds && !(plan.explore.seconds > 0 && plan.explore.seconds <= 1e9)) {
    return bad_usage("--seconds takes a time above 0, at most 1e9");
  }
  // Whoever sets another limit does not want this one.
  const bool limited = arguments.seconds.has_value() || exhaustive;
  plan.explore.schedules = arguments.schedules.value_or(limited ? 0 : kUsualSchedules);
  if (plan.explore.schedules == 0 && plan.explore.seconds <= 0 && !exhaustive) {
    return bad_usage("with --schedules 0 nothing ends the search; give --seconds");
  }
  for (const std::string& file : {arguments.html, arguments.json == "-" ? "" : arguments.json}) {
    if (file.empty()) continue;
    if (const Result<void> writable = try_to_write(file); !writable) return writable.error();
  }
  if (!arguments.replay) return plan;
  if (arguments.scenario == "all") return bad_usage("--replay takes the one scenario it is of");
  const Result<sim::Token> token =
      sim::Token::parse(*arguments.replay, command_of(arguments, arguments.scenario));
  if (!token) return token.error();
  plan.token = *token;
  return plan;
}

void write_failure(const sim::Failure& failure, JsonWriter& json) {
  json.begin_object();
  json.member("finding", sim::finding_name(failure.result.finding));
  json.member("text", failure.result.text);
  json.member("token", failure.token.text());
  json.member("found_as", failure.found_as.text());
  json.member("execution", failure.execution);
  json.member("replay", failure.trace.replay);
  json.member("preemptions", failure.preemptions);
  json.member("stale_reads", failure.stale_reads);
  json.member("needs", failure.deviations);
  json.member("shrink_executions", failure.shrink_executions);
  json.member("deterministic", failure.nondeterminism.empty());
  json.key("knobs");
  json.begin_array();
  for (const std::string& knob : failure.trace.knobs) json.value(knob);
  json.end();
  json.end();
}

void write_exploration(const Exploration& found, JsonWriter& json) {
  json.begin_object();
  json.member("scenario", found.name);
  json.member("passed", found.passed());
  json.member("strategy", sim::strategy_name(found.strategy));
  json.member("seed", found.seed);
  json.member("executions", found.executions);
  json.member("redundant", found.redundant);
  json.member("accesses", found.accesses);
  json.member("outcomes", found.outcomes);
  json.member("more_outcomes", found.more_outcomes);
  json.member("complete", found.complete);
  json.member("stopped", found.stopped);
  json.member("seconds", found.seconds);
  json.key("failure");
  if (found.failure) {
    write_failure(*found.failure, json);
  } else {
    json.null();
  }
  json.end();
}

void write_json(const std::vector<Exploration>& all, const std::string& gpu, std::ostream& out) {
  JsonWriter json(out);
  json.begin_object();
  json.member("passed", std::all_of(all.begin(), all.end(),
                                    [](const Exploration& found) { return found.passed(); }));
  json.member("gpu", gpu);
  json.key("scenarios");
  json.begin_array();
  for (const Exploration& found : all) write_exploration(found, json);
  json.end();
  json.end();
}

Result<void> write_to(const std::string& path, const std::function<void(std::ostream&)>& write) {
  std::ostringstream text;
  write(text);
  return write_file(path, text.str());
}

class Exploring {
 public:
  Exploring(const ExploreArguments& arguments, const Plan& plan, const Streams& streams)
      : arguments_(&arguments), plan_(&plan), streams_(streams) {
    // Standard output is the JSON's alone if it goes there.
    if (arguments.json == "-") streams_.out = streams.errors;
    json_out_ = streams.out;
  }

  int run() {
    for (const ScenarioEntry* entry : plan_->scenarios) {
      if (stopped()) break;
      Exploration found = explore_one(*entry);
      *streams_.out << (found.passed() ? found.summary() + "\n" : failure_text(found));
      streams_.out->flush();
      all_.push_back(std::move(found));
    }
    const bool written = report(write_outputs());
    const bool passed = std::all_of(all_.begin(), all_.end(),
                                    [](const Exploration& found) { return found.passed(); });
    if (stopped() && all_.size() < plan_->scenarios.size()) {
      *streams_.errors << "gdakit explore: interrupted in scenario " << all_.size() << " of "
                       << plan_->scenarios.size() << '\n';
    }
    if (!passed || !written) return kFailed;
    return stopped() ? kInterrupted : 0;
  }

 private:
  bool stopped() const { return streams_.stop != nullptr && *streams_.stop; }

  Exploration explore_one(const ScenarioEntry& entry) {
    const std::unique_ptr<sim::Subject> subject = entry.make(plan_->subject);
    sim::ExploreOptions options = plan_->explore;
    options.replay_command = options.token_subject = command_of(*arguments_, entry.name);
    options.stop = streams_.stop;
    if (plan_->token) return sim::replay(*subject, *plan_->token, options);
    ProgressLine line(*streams_.errors, streams_.columns);
    if (!line.shown()) return sim::explore(*subject, options);
    return sim::explore(*subject, options, [&](const sim::Progress& progress) {
      line.show(progress_text(entry.name, progress, options.schedules, streams_.columns));
    });
  }

  std::string failure_text(const Exploration& found) const {
    return plan_->token ? found.report() : found.summary() + "\n" + found.report();
  }

  Result<void> write_outputs() {
    if (arguments_->json == "-") {
      write_json(all_, arguments_->gpu, *json_out_);
    } else if (!arguments_->json.empty()) {
      const Result<void> written = write_to(arguments_->json, [this](std::ostream& file) {
        write_json(all_, arguments_->gpu, file);
      });
      if (!written) return written;
    }
    if (arguments_->html.empty()) return {};
    const auto failed = std::find_if(all_.begin(), all_.end(),
                                     [](const Exploration& found) { return !found.passed(); });
    if (failed == all_.end()) {
      *streams_.errors << "gdakit explore: nothing failed, so " << arguments_->html
                       << " was not written\n";
      return {};
    }
    return write_to(arguments_->html,
                    [&](std::ostream& file) { sim::write_page(failed->failure->trace, file); });
  }

  bool report(const Result<void>& done) {
    if (!done) *streams_.errors << "gdakit explore: " << done.error().message() << '\n';
    return static_cast<bool>(done);
  }

  const ExploreArguments* arguments_;
  const Plan* plan_;
  Streams streams_;
  std::ostream* json_out_ = nullptr;
  std::vector<Exploration> all_;
};

}  // namespace

std::vector<std::string> near_names(std::string_view typed,
                                    std::span<const sim::ScenarioEntry> scenarios) {
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const sim::ScenarioEntry& entry : scenarios) {
    const std::string_view name = entry.name;
    const bool part = typed.size() > 1 && name.find(typed) != name.npos;
    const std::size_t distance = part ? 1 : edit_distance(typed, name);
    if (may_be_meant(typed, distance)) near.emplace_back(distance, name);
  }
  std::stable_sort(near.begin(), near.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min<std::size_t>(near.size(), 5); ++i) {
    names.push_back(near[i].second);
  }
  return names;
}

int run_explore(const ExploreArguments& arguments, std::span<const sim::ScenarioEntry> scenarios,
                const Streams& streams) {
  if (arguments.list) {
    for (const ScenarioEntry& entry : scenarios) {
      *streams.out << entry.name << "\n    " << entry.sentence << '\n';
    }
    return 0;
  }
  const Result<Plan> plan = make_plan(arguments, scenarios);
  if (plan) return Exploring(arguments, *plan, streams).run();
  *streams.errors << "gdakit explore: " << plan.error().message() << '\n';
  return plan.error().code() == Code::invalid_argument ? kBadUsage : kFailed;
}

}  // namespace gdakit::tools
