// What options say of numbers that are none: CLI11's own words name ranges of 600 digits, and it
// reads -1 as 2^64 - 1.
#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <string>

namespace gdakit::tools {

// A check for CLI11: "" for a whole number from `least` to 2^64 - 1, else what it is not.
inline std::function<std::string(const std::string&)> whole_number(std::uint64_t least) {
  return [least](const std::string& text) -> std::string {
    std::uint64_t number = 0;
    const char* const end = text.data() + text.size();
    const auto read = std::from_chars(text.data(), end, number);
    if (read.ec == std::errc::result_out_of_range) return text + " is too large";
    const bool is_whole = read.ec == std::errc{} && read.ptr == end && number >= least;
    return is_whole ? "" : "\"" + text + "\" is not a whole number from " + std::to_string(least);
  };
}

}  // namespace gdakit::tools
