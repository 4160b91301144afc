// Text in the columns of a terminal: a name, and beside it sentences that are broken between words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gdakit::tools {

inline constexpr std::size_t kColumns = 100;

// `text`, broken so that no line that begins at column `indent` ends behind kColumns, if its words
// allow it. The first line begins where the caller has come to.
std::string wrapped(std::string_view text, std::size_t indent);

// "  name        text": the text begins at column `at`, and so does what does not fit.
std::string entry(std::string_view name, std::string_view text, std::size_t at = 14);

// What stands above a list: bold where stdout is a terminal, unless NO_COLOR is set.
std::string heading(std::string_view text);

}  // namespace gdakit::tools
