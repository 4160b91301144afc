// The bytes of a layout as text, for golden words that read as a hardware dump does.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string>

namespace gdakit::format {

// Four bytes a word, in memory order: "00123408 abcdef03".
template <class Layout>
std::string hex(const Layout& layout) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  std::size_t index = 0;
  for (const std::uint8_t byte : std::bit_cast<std::array<std::uint8_t, sizeof(Layout)>>(layout)) {
    if (index != 0 && index % 4 == 0) text += ' ';
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
    ++index;
  }
  return text;
}

// The layout that hex() shows as `text`; spaces do not count.
template <class Layout>
Layout from_hex(const std::string& text) {
  std::array<std::uint8_t, sizeof(Layout)> bytes{};
  std::size_t digit = 0;
  for (const char c : text) {
    if (c == ' ') continue;
    const int value = c <= '9' ? c - '0' : c - 'a' + 10;
    bytes.at(digit / 2) = static_cast<std::uint8_t>((bytes.at(digit / 2) << 4) | value);
    ++digit;
  }
  return std::bit_cast<Layout>(bytes);
}

}  // namespace gdakit::format
