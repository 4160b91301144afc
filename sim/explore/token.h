// Token: one execution in one short word, to be passed around and replayed.
//
//   m-5f3a-12c-k7    execution 0x12c of the mixed strategy (r: random, p: PCT) with seed 0x5f3a
//   vQBrCB3xY        the picks themselves: what remains after shrinking
//
// The last characters are a check sum, so that a mistyped token is an error and not another
// execution. What the token is of, a scenario with its options, can be a part of that sum: then it
// is an error, too, to replay it with another one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "sim/choice/choice.h"

namespace gdakit::sim {

enum class StrategyKind : std::uint8_t { mixed, random, pct, exhaustive };
const char* strategy_name(StrategyKind kind);
Result<StrategyKind> strategy_named(std::string_view name);

// An execution that a strategy found: never StrategyKind::exhaustive, whose executions have no
// numbers.
struct SeededRun {
  StrategyKind strategy = StrategyKind::mixed;
  std::uint64_t seed = 0;
  std::uint64_t execution = 0;  // the first is 0

  bool operator==(const SeededRun&) const = default;
};

class Token {
 public:
  Token() = default;  // the plain execution: no picks
  explicit Token(const SeededRun& run);
  // Zeros at the end are left out.
  explicit Token(std::vector<std::uint32_t> picks);

  // invalid_argument: no token, or one that was mistyped, or not one of `subject`.
  static Result<Token> parse(std::string_view text, std::string_view subject = {});
  std::string text() const;

  // From now on it is of this subject; "": of none.
  void bind(std::string subject) { subject_ = std::move(subject); }

  // Null if the token is a vector of picks.
  const SeededRun* run() const { return is_run_ ? &run_ : nullptr; }
  // Null if the token names a run.
  const std::vector<std::uint32_t>* picks() const { return is_run_ ? nullptr : &picks_; }

  // A strategy whose first execution is the one that the token names.
  std::unique_ptr<Strategy> strategy() const;

  bool operator==(const Token&) const = default;

 private:
  bool is_run_ = false;
  SeededRun run_;
  std::vector<std::uint32_t> picks_;
  std::string subject_;
};

}  // namespace gdakit::sim
