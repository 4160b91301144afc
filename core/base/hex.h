// Bytes as hexadecimal digits, two for each, without anything between.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace gdakit {

inline std::string hex_digits(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace gdakit
