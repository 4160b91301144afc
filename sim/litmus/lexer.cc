#include "sim/litmus/lexer.h"

#include <array>
#include <charconv>
#include <utility>

namespace gdakit::sim::litmus {
namespace {

// No <cctype>: its answers depend on the locale.
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool begins_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}
bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

struct CommentKind {
  std::string_view begin, end;
};
constexpr std::array<CommentKind, 3> kComments = {{{"(*", "*)"}, {"<<", ">>"}, {"//", "\n"}}};

constexpr std::array<std::string_view, 6> kLongSymbols = {"/\\", "\\/", "==", "!=", "<=", ">="};

// The length of the number at the beginning of `text`, 0 if there is none.
std::size_t read_number(std::string_view text, std::int64_t* value) {
  const bool negative = text.front() == '-';
  std::string_view digits = text.substr(negative ? 1 : 0);
  int base = 10;
  if (digits.substr(0, 2) == "0x") {
    base = 16;
    digits.remove_prefix(2);
  }
  std::uint64_t magnitude = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (read.ec != std::errc() || read.ptr == digits.data()) return 0;
  *value = static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
  return static_cast<std::size_t>(read.ptr - text.data());
}

std::size_t word_length(std::string_view text) {
  std::size_t length = 0;
  while (length < text.size() && (begins_word(text[length]) || is_digit(text[length]))) ++length;
  return length;
}

std::size_t symbol_length(std::string_view text) {
  for (const std::string_view symbol : kLongSymbols) {
    if (text.substr(0, symbol.size()) == symbol) return symbol.size();
  }
  return 1;
}

}  // namespace

std::string without_comments(std::string_view text) {
  std::string out(text);
  bool quoted = false;
  std::size_t at = 0;
  while (at < out.size()) {
    if (out[at] == '"') quoted = !quoted;
    const CommentKind* found = nullptr;
    for (const CommentKind& kind : kComments) {
      if (!quoted && out.compare(at, 2, kind.begin) == 0) found = &kind;
    }
    if (found == nullptr) {
      ++at;
      continue;
    }
    const std::size_t last = out.find(found->end, at + 2);
    const std::size_t stop = last == std::string::npos ? out.size() : last + found->end.size();
    for (; at < stop; ++at) {
      if (out[at] != '\n') out[at] = ' ';
    }
  }
  return out;
}

Cursor::Cursor(std::string name, std::string_view text, std::uint32_t line)
    : name_(std::move(name)) {
  lex(text, line);
}

void Cursor::lex(std::string_view text, std::uint32_t line) {
  while (!text.empty()) {
    Token token{TokenKind::symbol, {}, 0, line};
    std::size_t length = 1;
    if (is_blank(text.front())) {
      if (text.front() == '\n') ++line;
      text.remove_prefix(1);
      continue;
    }
    if (is_digit(text.front()) || text.front() == '-') {
      length = read_number(text, &token.value);
      token.kind = length == 0 ? TokenKind::symbol : TokenKind::number;
      if (length == 0) length = 1;
    } else if (begins_word(text.front())) {
      length = word_length(text);
      token.kind = TokenKind::word;
    } else {
      length = symbol_length(text);
    }
    token.text = text.substr(0, length);
    tokens_.push_back(token);
    text.remove_prefix(length);
  }
  tokens_.push_back(Token{TokenKind::end, "the end of the file", 0, line});
}

const Token& Cursor::peek(std::size_t ahead) const {
  const std::size_t at = position_ + ahead;
  return at < tokens_.size() ? tokens_[at] : tokens_.back();
}

Token Cursor::take() {
  const Token token = peek();
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool Cursor::accept(std::string_view text) {
  if (!at(text)) return false;
  take();
  return true;
}

void Cursor::expect(std::string_view text, std::string_view where) {
  if (accept(text)) return;
  fail(Code::invalid_argument, "expected '" + std::string(text) + "' " + std::string(where) +
                                   ", found '" + std::string(peek().text) + "'");
}

std::string_view Cursor::expect_word(std::string_view what) {
  if (peek().kind == TokenKind::word) return take().text;
  fail(Code::invalid_argument,
       "expected " + std::string(what) + ", found '" + std::string(peek().text) + "'");
  return {};
}

std::int64_t Cursor::expect_number(std::string_view what) {
  if (peek().kind == TokenKind::number) return take().value;
  fail(Code::invalid_argument,
       "expected " + std::string(what) + ", found '" + std::string(peek().text) + "'");
  return 0;
}

void Cursor::fail(Code code, const std::string& text) { fail_at(peek().line, code, text); }

void Cursor::fail_at(std::uint32_t line, Code code, const std::string& text) {
  if (!failed()) {
    code_ = code;
    error_ = name_ + ":" + std::to_string(line) + ": " + text;
  }
  position_ = tokens_.size() - 1;
}

}  // namespace gdakit::sim::litmus
