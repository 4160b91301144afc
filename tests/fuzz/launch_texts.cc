#include <cstring>
#include <utility>

#include "core/base/option_table.h"
#include "core/host/launch/launch.h"
#include "core/host/launch/unique_id.h"
#include "tests/fuzz/texts.h"

namespace gdakit::fuzz {
namespace {

// No environment has a zero in it.
std::vector<std::pair<std::string, std::string>> variables_of(Input input) {
  std::vector<std::pair<std::string, std::string>> variables;
  for (std::string_view rest = text_of(input); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    const std::size_t equals = line.find('=');
    if (equals == line.npos || line.find('\0') != line.npos) continue;
    variables.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return variables;
}

std::string check_row(const OptionRow& row, const std::string& value) {
  Options once, again;
  if (!row.parse(once, value)) return {};
  const std::string text = row.text(once);
  if (text.empty()) return {};  // as if it were not set
  if (!row.parse(again, text)) return std::string(row.name) + " does not take what it writes";
  if (row.text(again) != text) return std::string(row.name) + " changes what it has written";
  return {};
}

std::string check_place(const LaunchInfo& info) {
  if (info.size < 1 || info.rank < 0 || info.rank >= info.size) return "a rank outside its job";
  if (info.size == 1) return {};
  if (info.root_host.empty() || info.root_port == 0) return "a PE that does not know where PE 0 is";
  return {};
}

}  // namespace

std::string play_options(Input input) {
  const auto variables = variables_of(input);
  for (const auto& [name, value] : variables) {
    const OptionRow* const row = find_row(name);
    if (row == nullptr) continue;
    if (std::string wrong = check_row(*row, value); !wrong.empty()) return wrong;
  }
  const Result<ParsedOptions> parsed = parse_options(variables);
  if (!parsed) return parsed.error().message().empty() ? "an error without a sentence" : "";
  return parsed->options.validate() ? "" : "options that are taken and not valid";
}

std::vector<Seed> options_seeds() {
  std::vector<Seed> seeds;
  std::string all;
  for (const OptionRow& row : option_table()) {
    const std::string text = row.text(Options());
    const std::string line = std::string(row.name) + "=" + (text.empty() ? "1" : text) + "\n";
    seeds.push_back(seed_of(line));
    if (!text.empty()) all += line;
  }
  seeds.push_back(seed_of(all));
  for (const char* const value : {"4G", "1.5s", "-1", "0x10", "99999999999999999999", "on", ""}) {
    for (const OptionRow& row : option_table()) {
      seeds.push_back(seed_of(std::string(row.name) + "=" + value));
    }
  }
  return seeds;
}

std::string play_launch_variables(Input input) {
  const Result<ParsedOptions> parsed = parse_options(variables_of(input));
  // PMIx is asked for in a process that a server of it has started.
  if (!parsed || parsed->options.launcher == LauncherChoice::pmix ||
      parsed->options.set_by_launcher.contains("PMIX_RANK") ||
      parsed->options.set_by_launcher.contains("PMIX_NAMESPACE")) {
    return {};
  }
  report_launchers(parsed->options);
  const Result<LaunchInfo> info = find_launch_info(parsed->options);
  if (info) return check_place(*info);
  return info.error().message().empty() ? "an error without a sentence" : "";
}

std::vector<Seed> launch_variable_seeds() {
  return {
      seed_of("RANK=1\nWORLD_SIZE=4\nLOCAL_RANK=1\nMASTER_ADDR=10.0.0.7\nMASTER_PORT=29500"),
      seed_of("RANK=0\nWORLD_SIZE=2\nMASTER_PORT=65535\nMASTER_ADDR=a\nGDAKIT_ROOT=[::1]:70"),
      seed_of("SLURM_PROCID=1\nSLURM_NTASKS=4\nSLURM_STEP_NUM_TASKS=2\nSLURM_LOCALID=1\n"
              "SLURM_JOB_ID=77\nSLURM_STEP_ID=0\nSLURM_STEP_NODELIST=node[03-05,9]x[1-2],other7\n"
              "SLURMD_NODENAME=node03x1"),
      seed_of("SLURM_PROCID=0\nSLURM_NTASKS=2\nSLURM_JOB_ID=18446744073709551615\n"
              "SLURM_STEP_ID=4294967279\nSLURM_JOB_NODELIST=one\nPMI_RANK=0\nPMI_SIZE=2"),
      seed_of("SLURM_PROCID=1\nSLURM_NTASKS=2\nSLURM_JOB_ID=1\nSLURM_STEP_ID=0\n"
              "SLURM_STEP_NODELIST=[1-2]"),
      seed_of("GDAKIT_RANK=1\nGDAKIT_SIZE=2\nGDAKIT_ROOT=host:1\nGDAKIT_LOCAL_RANK=0\n"
              "GDAKIT_SECRET=000102030405060708090a0b0c0d0e0f"),
      seed_of("GDAKIT_LAUNCHER=none\nOMPI_COMM_WORLD_SIZE=3"),
  };
}

std::string play_unique_id(Input input) {
  UniqueId id{};
  if (!input.empty()) std::memcpy(&id, input.data(), std::min(input.size(), sizeof id));
  const Result<Launch> launch = start_launch(Options(), id, 1, 2);
  if (!launch) return launch.error().message().empty() ? "an error without a sentence" : "";
  return check_place(launch->info);
}

std::vector<Seed> unique_id_seeds() {
  UniqueId id{};
  id.version = Be32(0x67646b01);
  id.port = Be16(4000);
  std::memcpy(id.host.data(), "host", 4);
  const auto bytes = std::as_bytes(std::span(&id, 1));
  Seed seed(sizeof id);
  std::memcpy(seed.data(), bytes.data(), bytes.size());
  return {seed};
}

}  // namespace gdakit::fuzz
