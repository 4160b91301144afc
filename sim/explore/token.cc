#include "sim/explore/token.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/assert.h"
#include "sim/explore/generator.h"
#include "sim/explore/mixed.h"
#include "sim/explore/replay.h"

namespace gdakit::sim {
namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t kCheckDigits = 3;     // of a vector
constexpr std::size_t kRunCheckDigits = 2;  // of a run
constexpr char kVector = 'v';
// No execution has more choices; a token that says so is damaged.
constexpr std::uint64_t kMostPicks = std::uint64_t{1} << 26;

constexpr std::pair<StrategyKind, char> kLetters[] = {
    {StrategyKind::mixed, 'm'}, {StrategyKind::random, 'r'}, {StrategyKind::pct, 'p'}};

std::string check_digits(std::string_view text, std::string_view subject, std::size_t count) {
  std::uint64_t sum = text.size();
  for (const std::string_view part : {text, subject}) {
    for (const char c : part)
      sum = scramble((sum + static_cast<unsigned char>(c)) * 0x100000001b3u);
  }
  std::string digits;
  for (std::size_t i = 0; i < count; ++i, sum >>= 6) digits += kDigits[sum % 64];
  return digits;
}

// Five bits a digit, the lowest first; 32 more means that another digit follows.
void append_number(std::uint64_t number, std::string& out) {
  for (; number >= 32; number >>= 5) out += kDigits[32 + number % 32];
  out += kDigits[number];
}

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  for (std::uint32_t shift = 0; shift < 40 && !text.empty(); shift += 5) {
    const std::uint64_t digit = kDigits.find(text.front());
    text.remove_prefix(1);
    number |= (digit % 32) << shift;
    if (digit < 32) return number;
  }
  return std::nullopt;
}

std::string in_hex(std::uint64_t number) {
  std::array<char, 16> digits;
  const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), number, 16);
  return std::string(digits.data(), written.ptr);
}

std::optional<std::uint64_t> from_hex(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number, 16);
  if (text.empty() || read.ec != std::errc{} || read.ptr != end) return std::nullopt;
  return number;
}

Error no_token(std::string_view text, const std::string& why) {
  return Error(Code::invalid_argument, "\"" + std::string(text) + "\" is not a replay token: " +
                                           why + "; copy it from the failure's report as it is");
}

// The text without its check sum, or the error that the sum does not fit.
Result<std::string_view> without_check(std::string_view text, std::string_view subject,
                                       std::size_t digits) {
  if (text.size() <= digits) return no_token(text, "it is too short");
  const std::string_view body = text.substr(0, text.size() - digits);
  if (text.substr(body.size()) == check_digits(body, subject, digits)) return body;
  const std::string mistyped = "its check sum does not fit, so a character is wrong or missing";
  if (subject.empty()) return no_token(text, mistyped);
  return Error(Code::invalid_argument,
               "\"" + std::string(text) + "\" is not a replay token of " + std::string(subject) +
                   ": " + mistyped + ", or it is of another scenario or of other options; copy " +
                   "the whole line \"replay\" of the failure's report");
}

// As pairs: how many zeros, then a pick less one.
std::string vector_text(const std::vector<std::uint32_t>& picks, std::string_view subject) {
  std::string text(1, kVector);
  std::uint64_t zeros = 0;
  for (const std::uint32_t pick : picks) {
    if (pick == 0) {
      ++zeros;
      continue;
    }
    append_number(std::exchange(zeros, 0), text);
    append_number(pick - 1, text);
  }
  return text + check_digits(text, subject, kCheckDigits);
}

Result<Token> parse_vector(std::string_view text, std::string_view subject) {
  for (const char c : text) {
    if (kDigits.find(c) == kDigits.npos) {
      return no_token(text, std::string("it has the character '") + c + "'");
    }
  }
  const Result<std::string_view> checked = without_check(text, subject, kCheckDigits);
  if (!checked) return checked.error();
  std::string_view body = checked->substr(1);
  std::vector<std::uint32_t> picks;
  while (!body.empty()) {
    const std::optional<std::uint64_t> zeros = take_number(body);
    const std::optional<std::uint64_t> pick = take_number(body);
    if (!zeros || !pick || *zeros > kMostPicks - picks.size() || *pick >= ~std::uint32_t{0}) {
      return no_token(text, "its numbers make no sense");
    }
    picks.resize(picks.size() + *zeros);
    picks.push_back(static_cast<std::uint32_t>(*pick) + 1);
  }
  return Token(std::move(picks));
}

Result<Token> parse_run(StrategyKind strategy, std::string_view text, std::string_view subject) {
  const Result<std::string_view> checked = without_check(text, subject, kRunCheckDigits);
  if (!checked) return checked.error();
  const std::string_view body = *checked;  // m-SEED-EXECUTION-
  const std::size_t middle = body.find('-', 2);
  if (body.size() < 3 || body[1] != '-' || middle == body.npos || body.back() != '-' ||
      middle + 1 == body.size()) {
    return no_token(text, "a seed and an execution should follow its letter");
  }
  const std::string_view rest = body.substr(middle + 1);
  const auto seed = from_hex(body.substr(2, middle - 2));
  const auto execution = from_hex(rest.substr(0, rest.size() - 1));
  if (!seed || !execution) return no_token(text, "its seed or its execution is no number");
  return Token(SeededRun{strategy, *seed, *execution});
}

char letter_of(StrategyKind kind) {
  for (const auto& [strategy, letter] : kLetters) {
    if (strategy == kind) return letter;
  }
  return 0;
}

template <class T>
std::unique_ptr<Strategy> seeded(const SeededRun& run) {
  auto strategy = std::make_unique<T>(run.seed);
  strategy->seek(run.execution);
  return strategy;
}

}  // namespace

const char* strategy_name(StrategyKind kind) {
  switch (kind) {
    case StrategyKind::mixed: return "mixed";
    case StrategyKind::random: return "random";
    case StrategyKind::pct: return "pct";
    case StrategyKind::exhaustive: return "exhaustive";
  }
  return "?";
}

Result<StrategyKind> strategy_named(std::string_view name) {
  for (const StrategyKind kind :
       {StrategyKind::mixed, StrategyKind::random, StrategyKind::pct, StrategyKind::exhaustive}) {
    if (name == strategy_name(kind)) return kind;
  }
  return Error(Code::invalid_argument, "there is no strategy \"" + std::string(name) +
                                           "\"; there are mixed, random, pct and exhaustive");
}

Token::Token(const SeededRun& run) : is_run_(true), run_(run) {
  GDAKIT_ASSERT(letter_of(run.strategy) != 0);
}

Token::Token(std::vector<std::uint32_t> picks) : picks_(std::move(picks)) {
  while (!picks_.empty() && picks_.back() == 0) picks_.pop_back();
}

Result<Token> Token::parse(std::string_view text, std::string_view subject) {
  if (text.empty()) return no_token(text, "it is empty");
  Result<Token> parsed = no_token(text, "one begins with v, m, r or p");
  if (text.front() == kVector) parsed = parse_vector(text, subject);
  for (const auto& [strategy, letter] : kLetters) {
    if (text.front() == letter) parsed = parse_run(strategy, text, subject);
  }
  if (parsed) parsed->bind(std::string(subject));
  return parsed;
}

std::string Token::text() const {
  if (picks() != nullptr) return vector_text(*picks(), subject_);
  std::string text(1, letter_of(run()->strategy));
  text += "-" + in_hex(run()->seed) + "-" + in_hex(run()->execution) + "-";
  return text + check_digits(text, subject_, kRunCheckDigits);
}

std::unique_ptr<Strategy> Token::strategy() const {
  if (picks() != nullptr) return std::make_unique<ReplayStrategy>(*picks());
  switch (run()->strategy) {
    case StrategyKind::random: return seeded<RandomStrategy>(*run());
    case StrategyKind::pct: return seeded<PctStrategy>(*run());
    default: return seeded<MixedStrategy>(*run());
  }
}

}  // namespace gdakit::sim
