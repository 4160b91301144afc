#include "core/host/launch/launch.h"

#include "core/host/launch/launch_source.h"

namespace gdakit {
namespace {

// In the order of asking; the last one answers always.
constexpr const LaunchSource* kSources[] = {&kGdakitLaunch, &kPmixLaunch, &kTorchrunLaunch,
                                            &kSlurmLaunch, &kNoLaunch};

// The launcher in charge.
Result<const LaunchSource*> choose(const Options& options) {
  if (Result<void> valid = options.validate(); !valid) return valid.error();
  const bool forced = options.launcher != LauncherChoice::automatic;
  for (const LaunchSource* const source : kSources) {
    if (forced && source->launcher != options.launcher) continue;
    const WhyNot why_not = source->why_not(options);
    if (!why_not) return why_not.error();
    if (!*why_not) return source;
    if (!forced) continue;
    return Error(Code::invalid_argument,
                 std::string("GDAKIT_LAUNCHER=") + launcher_choice_name(source->launcher) + ": " +
                     **why_not +
                     "; start the program with that launcher, or unset GDAKIT_LAUNCHER");
  }
  return &kNoLaunch;
}

}  // namespace

Result<LaunchInfo> find_launch_info(const Options& options) {
  const Result<const LaunchSource*> source = choose(options);
  if (!source) return source.error();
  return (*source)->find(options);
}

Result<Launch> start_launch(const Options& options) {
  const Result<const LaunchSource*> source = choose(options);
  if (!source) return source.error();
  return (*source)->start(options);
}

std::vector<LauncherReport> report_launchers(const Options& options) {
  const Result<const LaunchSource*> chosen = choose(options);
  std::vector<LauncherReport> reports;
  for (const LaunchSource* const source : kSources) {
    const bool in_charge = chosen && *chosen == source;
    if (source == &kNoLaunch && !in_charge) continue;
    const WhyNot why_not = source->why_not(options);
    std::string sentence = source->tells;
    if (!why_not) sentence = why_not.error().message();
    if (why_not && *why_not) sentence = **why_not;
    const bool mine = why_not && !*why_not;
    if (mine && !in_charge && chosen) {
      sentence +=
          std::string("; ") + launcher_choice_name((*chosen)->launcher) + " is asked instead";
    }
    reports.push_back({source->launcher, in_charge, std::move(sentence)});
  }
  return reports;
}

}  // namespace gdakit
