#include "core/base/json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <string>

#include "core/base/assert.h"

namespace gdakit {
namespace {

// How many bytes the character at the start of `text` has; 0 if it is not UTF-8. Overlong forms,
// surrogates and what lies above U+10FFFF are not.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  if (first == 0xe0 && byte(1) < 0xa0) return 0;
  if (first == 0xed && byte(1) >= 0xa0) return 0;
  if (first == 0xf0 && byte(1) < 0x90) return 0;
  if (first == 0xf4 && byte(1) >= 0x90) return 0;
  return length;
}

void append_escape(char c, std::string& out) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  constexpr std::string_view kDigits = "0123456789abcdef";
  const auto code = static_cast<unsigned char>(c);
  out += "\\u00";
  out += kDigits[code >> 4];
  out += kDigits[code & 15];
}

bool needs_escape(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == '"' || c == '\\' || c == '<' || c == '>' ||
         c == 0x7f;
}

template <class T>
std::string in_digits(T number) {
  std::array<char, 32> digits;
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  return std::string(digits.data(), written.ptr);
}

}  // namespace

void JsonWriter::end() {
  GDAKIT_ASSERT(!levels_.empty() && !after_key_);
  const Level level = levels_.back();
  levels_.pop_back();
  if (!level.empty) new_line(levels_.size());
  *out_ << level.closes;
  if (levels_.empty()) *out_ << '\n';
}

void JsonWriter::key(std::string_view name) {
  GDAKIT_ASSERT(!levels_.empty() && levels_.back().closes == '}' && !after_key_);
  separate();
  quoted(name);
  *out_ << (indent_ > 0 ? ": " : ":");
  after_key_ = true;
}

void JsonWriter::value(std::string_view text) {
  before_value();
  quoted(text);
}

void JsonWriter::value(double number) {
  if (!std::isfinite(number)) return null();
  raw(in_digits(number));
}

void JsonWriter::signed_value(std::int64_t number) { raw(in_digits(number)); }

void JsonWriter::unsigned_value(std::uint64_t number) { raw(in_digits(number)); }

void JsonWriter::open(char opens, char closes) {
  before_value();
  *out_ << opens;
  levels_.push_back({closes});
}

void JsonWriter::before_value() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  GDAKIT_ASSERT(levels_.empty() || levels_.back().closes == ']');
  if (!levels_.empty()) separate();
}

void JsonWriter::separate() {
  if (!levels_.back().empty) *out_ << ',';
  levels_.back().empty = false;
  new_line(levels_.size());
}

void JsonWriter::new_line(std::size_t depth) {
  if (indent_ <= 0) return;
  *out_ << '\n' << std::string(depth * static_cast<std::size_t>(indent_), ' ');
}

void JsonWriter::raw(std::string_view text) {
  before_value();
  *out_ << text;
}

void JsonWriter::quoted(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (length == 1 && needs_escape(text.front())) {
      append_escape(text.front(), out);
    } else {
      out += text.substr(0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  *out_ << out << '"';
}

}  // namespace gdakit
