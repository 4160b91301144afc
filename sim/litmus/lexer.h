// Lexer: the text of a litmus test as tokens, and a cursor over them that remembers the first
// error.
//
// After an error the cursor stands at the end, so that whoever reads on finds nothing and comes to
// an end too; only the first error is kept.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"

namespace gdakit::sim::litmus {

enum class TokenKind : std::uint8_t { word, number, symbol, end };

struct Token {
  TokenKind kind = TokenKind::end;
  std::string_view text;  // of the text that was lexed
  std::int64_t value = 0;
  std::uint32_t line = 0;
};

// The text without comments: "(* *)", "<< >>" and "//" outside of quotes become blanks, line breaks
// stay.
std::string without_comments(std::string_view text);

class Cursor {
 public:
  // `text` outlives the cursor; its first line has the number `line`.
  Cursor(std::string name, std::string_view text, std::uint32_t line);

  const Token& peek(std::size_t ahead = 0) const;
  Token take();
  bool at_end() const { return peek().kind == TokenKind::end; }
  bool at(std::string_view text) const { return peek().text == text && !at_end(); }
  // Takes the token if it is `text`.
  bool accept(std::string_view text);
  // Takes the token, which must be `text`; `where` completes "expected ... ".
  void expect(std::string_view text, std::string_view where);
  std::string_view expect_word(std::string_view what);
  std::int64_t expect_number(std::string_view what);

  // invalid_argument: this is no litmus test. unavailable: it is one, of a kind that is not
  // modelled.
  void fail(Code code, const std::string& text);
  void fail_at(std::uint32_t line, Code code, const std::string& text);
  bool failed() const { return !error_.empty(); }
  Error error() const { return Error(code_, error_); }

 private:
  void lex(std::string_view text, std::uint32_t line);

  std::string name_;
  std::vector<Token> tokens_;  // the last one is the end
  std::size_t position_ = 0;
  Code code_ = Code::invalid_argument;
  std::string error_;
};

}  // namespace gdakit::sim::litmus
