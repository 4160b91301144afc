#include "nvshmem/library/variables.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <string_view>

#include "core/base/bits.h"
#include "core/base/option_table.h"
#include "nvshmem/detail/constants.h"

namespace gdakit::nvshmem {
namespace {

constexpr std::string_view kPrefix = "NVSHMEM_";

// Each gives the value of the GDAKIT_* variable, or nothing where `text` stands for none.
using Translate = std::optional<std::string> (*)(std::string_view text);

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& letter : small) letter = static_cast<char>(std::tolower(letter));
  return small;
}

// "1.5G", "512M", "1048576": NVSHMEM takes fractions, gdakit whole bytes.
std::optional<std::string> size(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{}) return std::nullopt;
  const std::string unit = lower({stop, static_cast<std::size_t>(end - stop)});
  constexpr std::array<std::string_view, 5> kUnits{"", "k", "m", "g", "t"};
  const auto found = std::find(kUnits.begin(), kUnits.end(), unit.substr(0, 1));
  if (found == kUnits.end()) return std::nullopt;
  const double bytes =
      value * static_cast<double>(std::uint64_t{1} << 10 * (found - kUnits.begin()));
  if (!(bytes >= 0 && bytes < 0x1p63)) return std::nullopt;  // "nan", too
  return std::to_string(std::max<std::uint64_t>(static_cast<std::uint64_t>(bytes), 4096));
}

std::optional<std::string> level(std::string_view text) {
  const std::string name = lower(text);
  if (name == "none") return "error";
  if (name == "version" || name == "warn") return "warn";
  if (name == "info" || name == "abort") return "info";
  if (name == "trace") return "debug";
  return std::nullopt;
}

std::optional<std::string> as_is(std::string_view text) { return std::string(text); }

// A power of two that is not less.
std::optional<std::string> depth(std::string_view text) {
  std::uint64_t value = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || stop != text.data() + text.size() || value == 0) return std::nullopt;
  if (value > std::uint64_t{1} << 32) return std::nullopt;
  return std::to_string(std::uint64_t{1} << log2_ceil(std::max<std::uint64_t>(value, 64)));
}

std::optional<std::string> handler(std::string_view text) {
  const std::string name = lower(text);
  if (name == "auto" || name == "gpu") return name;
  if (name == "cpu") return "proxy";
  return std::nullopt;
}

std::optional<std::string> remote_transport(std::string_view text) {
  const std::string name = lower(text);
  if (name == "ibrc") return "commands";
  if (name == "ibgda") return "gpu";
  return std::nullopt;
}

std::optional<std::string> bootstrap(std::string_view text) {
  const std::string name = lower(text);
  if (name == "pmi" || name == "pmix" || name == "mpi" || name == "uid") return "auto";
  return std::nullopt;
}

std::optional<bool> yes_or_no(std::string_view text) {
  const std::string answer = lower(text);
  const auto is_one_of = [&answer](std::initializer_list<std::string_view> words) {
    return std::find(words.begin(), words.end(), answer) != words.end();
  };
  if (is_one_of({"1", "true", "yes", "y", "on", "t"})) return true;
  if (is_one_of({"0", "false", "no", "n", "off", "f"})) return false;
  return std::nullopt;
}

// What `gpumem` asks for is GPU memory where the NIC's handler can do with it.
std::optional<std::string> queue_memory(std::string_view text) {
  const std::string name = lower(text);
  if (name == "gpumem") return "auto";
  if (name == "hostmem") return "host";
  return std::nullopt;
}

std::optional<std::string> no_direct_peers(std::string_view text) {
  const std::optional<bool> answer = yes_or_no(text);
  if (!answer) return std::nullopt;
  return *answer ? "nic" : "auto";
}

struct Row {
  std::string_view name;  // behind the prefix
  const char* variable;
  Translate translate;
};

// What stands below has the last word where two say the same variable.
constexpr Row kRows[] = {
    {"SYMMETRIC_SIZE", "GDAKIT_SYMMETRIC_SIZE", size},
    {"MAX_MEMORY_PER_GPU", "GDAKIT_HEAP_LIMIT", size},
    {"CUMEM_GRANULARITY", "GDAKIT_HEAP_CHUNK", size},
    {"DEBUG", "GDAKIT_LOG", level},
    {"QP_DEPTH", "GDAKIT_QUEUE_DEPTH", depth},
    {"REMOTE_TRANSPORT", "GDAKIT_NIC_HANDLER", remote_transport},
    {"IBGDA_NIC_HANDLER", "GDAKIT_NIC_HANDLER", handler},
    {"IBGDA_NUM_RC_PER_PE", "GDAKIT_QUEUES_PER_PEER", as_is},
    {"IBGDA_NUM_FETCH_SLOTS_PER_RC", "GDAKIT_FETCH_SLOTS", depth},
    {"IBGDA_FORCE_NIC_BUF_MEMTYPE", "GDAKIT_QUEUE_MEMORY", queue_memory},
    {"DISABLE_P2P", "GDAKIT_TRANSPORT", no_direct_peers},
    {"MAX_TEAMS", "GDAKIT_TEAMS", as_is},
    {"REDUCE_SCRATCH_SIZE", "GDAKIT_TEAM_SCRATCH", size},
    {"BOOTSTRAP", "GDAKIT_LAUNCHER", bootstrap},
    {"HCA_LIST", "GDAKIT_HCA_LIST", as_is},
    {"IB_GID_INDEX", "GDAKIT_GID", as_is},
    {"IB_SL", "GDAKIT_SERVICE_LEVEL", as_is},
    {"IB_TRAFFIC_CLASS", "GDAKIT_TRAFFIC_CLASS", as_is},
};

bool is_yes(std::string_view text) { return yes_or_no(text).value_or(false); }
bool is_yes_or_no(std::string_view text) { return yes_or_no(text).has_value(); }
bool is_anything(std::string_view) { return true; }

// What is meant for NVSHMEM's own launchers, asks for an introduction, or for what gdakit does
// anyhow. Where NVSHMEM is installed, its VERSION may be a number.
struct Accepted {
  std::string_view name;  // behind the prefix
  bool (*accepts)(std::string_view value);
};
constexpr Accepted kAccepted[] = {{"IB_ENABLE_IBGDA", is_yes},
                                  {"HOME", is_anything},
                                  {"PREFIX", is_anything},
                                  {"VERSION", is_anything},
                                  {"INFO", is_yes_or_no},
                                  {"DISABLE_NVLS", is_yes},
                                  {"DISABLE_NCCL", is_yes},
                                  // NVSHMEM's perftests read it themselves.
                                  {"MACHINE_READABLE_OUTPUT", is_anything}};

bool is_accepted(std::string_view name, std::string_view value) {
  return std::any_of(std::begin(kAccepted), std::end(kAccepted), [&](const Accepted& each) {
    return each.name == name && each.accepts(value);
  });
}

bool is_taken(const Variables& variables) {
  const Result<ParsedOptions> parsed = parse_options(variables);
  return parsed && parsed->options.validate();
}

// The variables that stand for `value`, or nothing where gdakit takes none for it. A heap that is
// large from the beginning raises the limit of its growth.
std::optional<Variables> meaning_of(const Row& row, std::string_view value) {
  const std::optional<std::string> text = row.translate(value);
  if (!text) return std::nullopt;
  Variables meant{{row.variable, *text}};
  if (is_taken(meant)) return meant;
  if (row.translate == size) meant.emplace_back("GDAKIT_HEAP_LIMIT", *text);
  return is_taken(meant) ? std::optional(meant) : std::nullopt;
}

const Row* row_of(std::string_view name) {
  const auto* const row = std::find_if(std::begin(kRows), std::end(kRows), [name](const Row& each) {
    return name.starts_with(kPrefix) && each.name == name.substr(kPrefix.size());
  });
  return row == std::end(kRows) ? nullptr : row;
}

// IBRC has nobody but the host drive the NIC, whatever IBGDA's handler is.
bool is_overruled(const Row& row, const Variables& translated) {
  const std::pair<std::string, std::string> ibrc{"GDAKIT_NIC_HANDLER", "commands"};
  return row.translate == handler &&
         std::find(translated.begin(), translated.end(), ibrc) != translated.end();
}

void translate_row(const Row& row, const std::string& name, const std::string& value,
                   TranslatedVariables& translated) {
  const std::optional<Variables> meant = meaning_of(row, value);
  if (!meant) {
    translated.warnings.push_back(name + "=" + value + " has no meaning here and is ignored; " +
                                  row.variable + " takes " + find_row(row.variable)->allowed);
  } else if (!is_overruled(row, translated.variables)) {
    translated.variables.insert(translated.variables.end(), meant->begin(), meant->end());
  }
}

}  // namespace

TranslatedVariables translate(const Variables& environment) {
  TranslatedVariables translated;
  for (const Row& row : kRows) {
    for (const auto& [name, value] : environment) {
      if (row_of(name) == &row) translate_row(row, name, value, translated);
    }
  }
  for (const auto& [name, value] : environment) {
    if (!name.starts_with(kPrefix) || row_of(name) != nullptr) continue;
    if (is_accepted(std::string_view(name).substr(kPrefix.size()), value)) continue;
    translated.warnings.push_back(name +
                                  " has no meaning here and is ignored; gdakit info lists the "
                                  "variables there are");
  }
  translated.variables.insert(translated.variables.end(), environment.begin(), environment.end());
  return translated;
}

std::string introduction(const Variables& environment, const Options& options) {
  const auto asks_for = [&environment](std::string_view wanted) {
    return std::any_of(environment.begin(), environment.end(), [wanted](const auto& variable) {
      return variable.first == wanted && is_yes(variable.second);
    });
  };
  const bool lists = asks_for("NVSHMEM_INFO");
  if (!lists && !asks_for("NVSHMEM_VERSION")) return {};
  std::string text = "gdakit " GDAKIT_VERSION " with the interface of NVSHMEM ";
  text += std::to_string(NVSHMEM_VENDOR_MAJOR_VERSION) + '.' +
          std::to_string(NVSHMEM_VENDOR_MINOR_VERSION) + '.' +
          std::to_string(NVSHMEM_VENDOR_PATCH_VERSION);
  if (!lists) return text;
  for (const OptionRow& row : option_table()) {
    text += std::string("\n") + row.name + '=' + shown_value(row, options) + " (" +
            option_source_name(option_source(row, options)) + ')';
  }
  return text;
}

bool asks_for_mpi(const Variables& environment) {
  return std::any_of(environment.begin(), environment.end(), [](const auto& variable) {
    return variable.first == "NVSHMEM_BOOTSTRAP" && lower(variable.second) == "mpi";
  });
}

Result<Options> options_of_environment() {
  const TranslatedVariables translated = translate(environment_variables());
  Result<ParsedOptions> parsed = parse_options(translated.variables);
  if (!parsed) return parsed.error();
  static std::once_flag warned;
  std::call_once(warned, [&] {
    const Log log(parsed->options.log);
    for (const std::string& warning : translated.warnings) log.warn(warning);
    for (const std::string& warning : parsed->warnings) log.warn(warning);
  });
  return parsed->options;
}

}  // namespace gdakit::nvshmem
