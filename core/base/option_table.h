// The table of options: one row for each environment variable.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "core/base/options.h"

namespace gdakit {

// One environment variable.
struct OptionRow {
  const char* name;
  const char* type;     // integer, size, time, choice, text
  const char* unit;     // empty where it has none
  const char* allowed;  // ends the sentence "allowed is ..."
  const char* sentence;
  bool secret;  // its value must not be shown

  // Sets the option from `text`; false where the text is not allowed.
  bool (*parse)(Options& options, std::string_view text);
  // The value in a spelling that parse() takes; empty for one that is not set.
  std::string (*text)(const Options& options);
};

std::span<const OptionRow> option_table();
// The row of a variable; null if there is none.
const OptionRow* find_row(std::string_view name);

// The value as anybody may see it: of a secret, no more than that it is set.
std::string shown_value(const OptionRow& row, const Options& options);

// The variables of launchers other than gdakit's own that are read: RANK, PMIX_RANK, ...
std::span<const char* const> launcher_variables();

// Environment if the value is what the variable gave, fallback if it is the default, else program.
OptionSource option_source(const OptionRow& row, const Options& options);

}  // namespace gdakit
