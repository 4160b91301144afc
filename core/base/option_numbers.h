// Parsers and printers of options that are numbers, sizes and times: for options_table.cc, each
// instantiated for the member of Options that it serves.
#pragma once

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "core/base/bits.h"
#include "core/base/options.h"

namespace gdakit {

template <class T>
std::optional<T> parse_number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

// The type of an option's value: T of T, and of std::optional<T>.
template <class T>
struct ValueOf {
  using Type = T;
};
template <class T>
struct ValueOf<std::optional<T>> {
  using Type = T;
};
template <auto kMember>
using OptionValue =
    typename ValueOf<std::remove_reference_t<decltype(std::declval<Options&>().*kMember)>>::Type;

template <auto kMember, std::uint64_t kLeast, std::uint64_t kMost>
bool parse_integer(Options& options, std::string_view text) {
  const std::optional<std::uint64_t> value = parse_number<std::uint64_t>(text);
  if (!value || *value < kLeast || *value > kMost) return false;
  options.*kMember = static_cast<OptionValue<kMember>>(*value);
  return true;
}

template <auto kMember, std::uint64_t kLeast, std::uint64_t kMost>
bool parse_power_of_two(Options& options, std::string_view text) {
  Options changed = options;
  if (!parse_integer<kMember, kLeast, kMost>(changed, text)) return false;
  if (!is_power_of_two(changed.*kMember)) return false;
  options.*kMember = changed.*kMember;
  return true;
}

template <auto kMember>
std::string integer_text(const Options& options) {
  return std::to_string(options.*kMember);
}

template <auto kMember>
std::string optional_text(const Options& options) {
  const auto& value = options.*kMember;
  return value ? std::to_string(*value) : std::string();
}

inline constexpr std::string_view kSuffixes = "KMG";  // 2^10, 2^20, 2^30
inline constexpr std::uint64_t kLeastSize = 4096;
inline constexpr std::uint64_t kMostSize = std::uint64_t{1} << 46;

template <auto kMember>
bool parse_size(Options& options, std::string_view text) {
  int shift = 0;
  if (!text.empty()) {
    const std::size_t suffix = kSuffixes.find(text.back());
    if (suffix != std::string_view::npos) {
      shift = 10 * (static_cast<int>(suffix) + 1);
      text.remove_suffix(1);
    }
  }
  const std::optional<std::uint64_t> value = parse_number<std::uint64_t>(text);
  if (!value || *value > (kMostSize >> shift) || (*value << shift) < kLeastSize) return false;
  options.*kMember = *value << shift;
  return true;
}

template <auto kMember>
std::string size_text(const Options& options) {
  std::uint64_t value = options.*kMember;
  std::string suffix;
  for (const char unit : kSuffixes) {
    if (value == 0 || value % 1024 != 0) break;
    value /= 1024;
    suffix = unit;
  }
  return std::to_string(value) + suffix;
}

// Seconds, to the millisecond.
inline constexpr int kMostMilliseconds = 1'000'000'000;

template <auto kMember, int kLeast, int kMost = kMostMilliseconds>
bool parse_seconds(Options& options, std::string_view text) {
  const std::optional<double> seconds = parse_number<double>(text);
  if (!seconds || !(*seconds >= 0 && *seconds <= kMost / 1000)) return false;
  const std::chrono::milliseconds value(std::llround(*seconds * 1000));
  if (value.count() < kLeast) return false;
  options.*kMember = value;
  return true;
}

template <auto kMember>
std::string seconds_text(const Options& options) {
  const auto count = (options.*kMember).count();
  std::string text = std::to_string(count / 1000);
  if (count % 1000 != 0) text += "." + std::to_string(1000 + count % 1000).substr(1);
  return text;
}

}  // namespace gdakit
