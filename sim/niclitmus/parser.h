// Parser: the text of a NIC litmus test -> a Program (program.h says what it looks like).
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sim/niclitmus/program.h"

namespace gdakit::sim::niclitmus {

// `name` stands in errors, before the line: "flush.niclitmus:7: ...".
Result<Program> parse(std::string_view text, const std::string& name);

// Reads the file and parses it. Code::not_found if it cannot be read.
Result<Program> parse_file(const std::string& path);

}  // namespace gdakit::sim::niclitmus
