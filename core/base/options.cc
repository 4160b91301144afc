#include "core/base/options.h"

#include <algorithm>
#include <unistd.h>

#include "core/base/edit_distance.h"
#include "core/base/hca_list.h"
#include "core/base/option_table.h"

namespace gdakit {
namespace {

constexpr std::string_view kPrefix = "GDAKIT_";
// Of variables that are no options: what concerns tests alone, and what `gdakit verbs` hands on.
constexpr std::string_view kOtherPrefixes[] = {"GDAKIT_TEST_", "GDAKIT_VERBS_"};

constexpr const char* kLauncherVariables[] = {
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RUN_ID",
    // PMIx, and launchers of MPI without it
    "PMIX_RANK", "PMIX_NAMESPACE", "PMIX_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK", "PMI_RANK", "PMI_SIZE",
    // Slurm
    "SLURM_PROCID", "SLURM_NTASKS", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_JOB_ID",
    "SLURM_STEP_ID", "SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURMD_NODENAME"};

bool is_no_option(std::string_view name) {
  return std::ranges::any_of(kOtherPrefixes, [name](auto one) { return name.starts_with(one); });
}

bool is_launcher_variable(std::string_view name) {
  return std::ranges::find(kLauncherVariables, name) != std::end(kLauncherVariables);
}

Error not_allowed(const OptionRow& row, std::string_view value) {
  const std::string shown =
      row.secret ? std::string("its value (not shown)") : "\"" + std::string(value) + "\"";
  return Error(Code::invalid_argument,
               std::string(row.name) + ": " + shown + " is not allowed; allowed is " + row.allowed);
}

std::string unknown_variable(const std::string& name) {
  const auto nearest = std::ranges::min_element(
      option_table(), {}, [&](const OptionRow& row) { return edit_distance(name, row.name); });
  // The prefix, which all have, does not count.
  const std::string_view own = std::string_view(name).substr(kPrefix.size());
  const bool meant = may_be_meant(own, edit_distance(name, nearest->name));
  return name + " is not a variable that gdakit knows and is ignored; " +
         (meant ? std::string("did you mean ") + nearest->name + "?" : "gdakit info shows all");
}

Result<void> validate_together(const Options& options) {
  if (options.rank.has_value() != options.size.has_value()) {
    return Error(Code::invalid_argument,
                 std::string("GDAKIT_RANK and GDAKIT_SIZE go together, but only ") +
                     (options.rank ? "GDAKIT_RANK" : "GDAKIT_SIZE") +
                     " is set; set both, or start the program with gdakit run");
  }
  if (options.rank && *options.rank >= *options.size) {
    return Error(Code::invalid_argument,
                 "GDAKIT_RANK: \"" + std::to_string(*options.rank) +
                     "\" is not allowed in a job of GDAKIT_SIZE=" + std::to_string(*options.size) +
                     "; allowed is an integer from 0 to " + std::to_string(*options.size - 1));
  }
  if (options.symmetric_size > options.heap_limit) {
    return Error(Code::invalid_argument,
                 "GDAKIT_SYMMETRIC_SIZE (" + find_row("GDAKIT_SYMMETRIC_SIZE")->text(options) +
                     ") is above GDAKIT_HEAP_LIMIT (" +
                     find_row("GDAKIT_HEAP_LIMIT")->text(options) + "); raise the limit");
  }
  const std::string misfit = HcaMap::parse(options.hca_map).value().misfit(options.nics_per_pe);
  if (!misfit.empty()) return Error(Code::invalid_argument, misfit);
  return {};
}

}  // namespace

std::span<const char* const> launcher_variables() { return kLauncherVariables; }

Result<void> Options::validate() const {
  Options scratch;
  for (const OptionRow& row : option_table()) {
    const std::string value = row.text(*this);
    if (value.empty() && row.text(scratch).empty()) continue;  // not set, and need not be
    if (!row.parse(scratch, value)) return not_allowed(row, value);
  }
  return validate_together(*this);
}

Result<ParsedOptions> parse_options(
    const std::vector<std::pair<std::string, std::string>>& variables) {
  ParsedOptions parsed;
  for (const auto& [name, value] : variables) {
    if (is_launcher_variable(name) && !value.empty()) parsed.options.set_by_launcher[name] = value;
    if (!name.starts_with(kPrefix) || is_no_option(name)) continue;
    const OptionRow* const row = find_row(name);
    if (row == nullptr) {
      parsed.warnings.push_back(unknown_variable(name));
      continue;
    }
    if (!row->parse(parsed.options, value)) return not_allowed(*row, value);
    parsed.options.from_variables[name] = row->text(parsed.options);
  }
  if (Result<void> valid = parsed.options.validate(); !valid) return valid.error();
  return parsed;
}

std::vector<std::pair<std::string, std::string>> environment_variables() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

Result<Options> Options::from_environment() {
  Result<ParsedOptions> parsed = parse_options(environment_variables());
  if (!parsed) return parsed.error();
  const Options& options = parsed->options;
  const Log log(options.log, options.rank ? static_cast<int>(*options.rank) : -1);
  for (const std::string& warning : parsed->warnings) log.warn(warning);
  return options;
}

}  // namespace gdakit
