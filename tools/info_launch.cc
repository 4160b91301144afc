#include "tools/info_launch.h"

#include "core/host/launch/launch.h"

namespace gdakit::tools {
namespace {

std::string rank_text(const LaunchInfo& info) {
  std::string text = std::to_string(info.rank) + " of " + std::to_string(info.size);
  if (info.local_rank) text += ", local rank " + std::to_string(*info.local_rank);
  return text;
}

std::string secret_source(const LaunchInfo& info, const Options& options) {
  if (!options.secret.empty()) return "GDAKIT_SECRET";
  if (info.secret_is_derived) {
    return "derived from the launcher's variables, which others may know, too; set GDAKIT_SECRET";
  }
  return "made by PE 0";
}

}  // namespace

std::vector<LaunchFact> describe_launch(const Options& options) {
  std::vector<LaunchFact> facts;
  const Result<LaunchInfo> info = find_launch_info(options);
  if (!info) {
    facts.push_back({"error", info.error().message()});
  } else {
    facts.push_back({"launcher", launcher_choice_name(info->launcher)});
    facts.push_back({"rank", rank_text(*info)});
  }
  if (info && info->size > 1) {
    const bool known = !info->root_host.empty();
    facts.push_back({"root", known ? root_text(*info) : "PE 0 will say over PMIx"});
    facts.push_back({"secret", secret_source(*info, options)});
  }
  for (const LauncherReport& report : report_launchers(options)) {
    facts.push_back({launcher_choice_name(report.launcher),
                     (report.in_charge ? "in charge: " : "no: ") + report.sentence});
  }
  return facts;
}

}  // namespace gdakit::tools
