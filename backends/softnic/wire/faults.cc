#include "backends/softnic/wire/faults.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string>

#include "core/base/assert.h"

namespace gdakit::softnic {
namespace {

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return {};
  return value;
}

// The two sides of a mark; nothing without it.
std::optional<std::array<std::string_view, 2>> cut_at(std::string_view text,
                                                      std::string_view mark) {
  const std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return {};
  return {{text.substr(0, at), text.substr(at + mark.size())}};
}

// Not a number, a minus sign and -0 are none.
std::optional<double> amount(std::string_view text, double most) {
  if (text.starts_with('-')) return {};
  const auto value = number<double>(text);
  if (!value || !(*value >= 0 && *value <= most)) return {};
  return value;
}

std::optional<std::uint64_t> time_ns(std::string_view text) {
  struct Unit {
    std::string_view name;
    double ns;
  };
  // "s" is the end of all others.
  constexpr std::array<Unit, 4> kUnits = {{{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  for (const Unit& unit : kUnits) {
    if (!text.ends_with(unit.name)) continue;
    text.remove_suffix(unit.name.size());
    const auto value = amount(text, static_cast<double>(Faults::kMaxNs) / unit.ns);
    if (!value) return {};
    return static_cast<std::uint64_t>(std::llround(*value * unit.ns));
  }
  return {};
}

template <double Faults::*kMember>
bool take_rate(std::string_view text, Faults& faults) {
  if (!text.ends_with('%')) return false;
  text.remove_suffix(1);
  const auto percent = amount(text, 100);
  if (percent) faults.*kMember = *percent / 100;
  return percent.has_value();
}

bool take_depth(std::string_view text, Faults& faults) {
  const auto depth = number<std::uint32_t>(text);
  if (!depth || *depth < 1 || *depth > Faults::kMaxDepth) return false;
  faults.reorder_depth = *depth;
  return true;
}

bool take_delay(std::string_view text, Faults& faults) {
  const auto range = cut_at(text, "..");
  const auto least = time_ns(range ? (*range)[0] : text);
  const auto most = time_ns(range ? (*range)[1] : text);
  if (!least || !most || *least > *most) return false;
  faults.delay_min_ns = *least;
  faults.delay_max_ns = *most;
  return true;
}

bool take_down(std::string_view text, Faults& faults) {
  const auto parts = cut_at(text, "/");
  if (!parts) return false;
  const auto down_for = time_ns((*parts)[0]), every = time_ns((*parts)[1]);
  if (!down_for || !every || *down_for == 0 || *down_for >= *every) return false;
  faults.down_for_ns = *down_for;
  faults.down_every_ns = *every;
  return true;
}

bool take_seed(std::string_view text, Faults& faults) {
  const auto seed = number<std::uint64_t>(text);
  if (seed) faults.seed = *seed;
  return seed.has_value();
}

bool take_partition(std::string_view text, Faults& faults) {
  for (std::optional<std::string_view> rest = text; rest;) {
    const auto parts = cut_at(*rest, "+");
    const auto endpoint = number<Endpoint>(parts ? (*parts)[0] : *rest);
    std::vector<Endpoint>& all = faults.partitioned;
    if (!endpoint || std::find(all.begin(), all.end(), *endpoint) != all.end()) return false;
    all.push_back(*endpoint);
    rest = parts ? std::optional((*parts)[1]) : std::nullopt;
  }
  return true;
}

struct Key {
  std::string_view name;
  std::string_view allowed;
  bool (*take)(std::string_view, Faults&);
};
constexpr std::string_view kRate = "a percentage from 0% to 100%, as 0.5%";
constexpr std::array<Key, 10> kKeys = {{
    {"drop", kRate, take_rate<&Faults::drop>},
    {"repeat", kRate, take_rate<&Faults::repeat>},
    {"reorder", kRate, take_rate<&Faults::reorder>},
    {"reorder-depth", "a number of packets from 1 to 1024", take_depth},
    {"corrupt", kRate, take_rate<&Faults::corrupt>},
    {"mark", kRate, take_rate<&Faults::mark>},
    {"delay", "a time of at most 1000s, as 50us, or the least and the most, as 50us..2ms",
     take_delay},
    {"down", "how long the link is down and how often, as 200ms/5s: less than the whole time",
     take_down},
    {"seed", "a number from 0 to 18446744073709551615", take_seed},
    {"partition", "an endpoint's number, or several different ones, as 3+5", take_partition},
}};
static_assert(Faults::kMaxDepth == 1024 && Faults::kMaxNs == 1'000'000'000'000,
              "the sentences above name them");

Error wrong(std::string_view part, const std::string& why) {
  return Error(Code::invalid_argument, "\"" + std::string(part) + "\" is no fault: " + why);
}

std::string key_names() {
  std::string names;
  for (const Key& key : kKeys) names += (names.empty() ? "" : ", ") + std::string(key.name);
  return names;
}

class Drawn final : public Fates {
 public:
  Drawn(const Faults& faults, std::uint64_t stream)
      : faults_(faults), words_(faults.seed, stream), marks_(~faults.seed, stream) {}

  // Draws the same number of words for each packet, whatever the rates.
  Fate fate(const Packet&) override {
    Fate fate;
    fate.drops = words_.chance(faults_.drop);
    fate.corrupts = words_.chance(faults_.corrupt);
    fate.repeats = words_.chance(faults_.repeat) ? 1 : 0;
    const bool reorders = words_.chance(faults_.reorder);
    const std::uint64_t behind = 1 + words_.below(faults_.reorder_depth);
    if (reorders) fate.behind = static_cast<std::uint32_t>(behind);
    const std::uint64_t spread = faults_.delay_max_ns - faults_.delay_min_ns;
    fate.delay_ns = faults_.delay_min_ns + words_.below(spread + 1);
    fate.marks = marks_.chance(faults_.mark);
    return fate;
  }

 private:
  const Faults faults_;
  FaultWords words_;
  FaultWords marks_;
};

}  // namespace

Result<Faults> parse_faults(std::string_view text) {
  Faults faults;
  std::array<bool, kKeys.size()> seen = {};
  for (std::optional<std::string_view> rest = text; rest && !text.empty();) {
    const auto parts = cut_at(*rest, ",");
    const std::string_view part = parts ? (*parts)[0] : *rest;
    rest = parts ? std::optional((*parts)[1]) : std::nullopt;
    const auto sides = cut_at(part, "=");
    const auto key = std::find_if(kKeys.begin(), kKeys.end(),
                                  [&](const Key& one) { return sides && one.name == (*sides)[0]; });
    if (key == kKeys.end()) {
      return wrong(part, "it is one of " + key_names() + ", a = and a value, as drop=1%");
    }
    const std::string name(key->name);
    bool& again = seen[static_cast<std::size_t>(key - kKeys.begin())];
    if (again) return wrong(part, name + " stands there twice; leave one of them out");
    again = true;
    if (!key->take((*sides)[1], faults)) {
      return wrong(part, name + " is " + std::string(key->allowed));
    }
  }
  return faults;
}

std::unique_ptr<Fates> drawn(const Faults& faults, std::uint64_t stream) {
  GDAKIT_ASSERT(faults.reorder_depth >= 1 && faults.delay_min_ns <= faults.delay_max_ns &&
                faults.delay_max_ns <= Faults::kMaxNs);
  return std::make_unique<Drawn>(faults, stream);
}

}  // namespace gdakit::softnic
