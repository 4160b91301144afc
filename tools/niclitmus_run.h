// `gdakit litmus` for tests of the NIC half (*.niclitmus).
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "core/base/json.h"
#include "core/base/result.h"

namespace gdakit::tools {

struct NicLitmusOptions {
  bool exhaustive = true;
  std::uint64_t runs = 0;  // at most, or in random mode exactly; 0: the usual number
  std::uint64_t seed = 1;
};

// Whether a file is one of these, by its name.
bool is_niclitmus(const std::string& file);

// Checks every verdict of the file and prints each in a line or, with `json`, as an object. False
// if one does not hold.
Result<bool> run_niclitmus(const std::string& file, const NicLitmusOptions& options,
                           std::ostream& out, JsonWriter* json);

}  // namespace gdakit::tools
