// Parser: the text of a PTX litmus test -> a Program.
//
// What it reads: ld, st, atom, red (add sub mul div and or xor exch cas min max inc dec), fence and
// membar, bar.cta.sync and bar.cta.arrive, moves, add sub mul div, branches and labels; conditions
// exists, ~exists, forall with a filter. `ld r1, 5` and `ld r1, r2` are moves. volatile is relaxed
// at system scope, membar is fence.sc. What it refuses, by name: proxies (surface, texture,
// constant, alias), addresses in registers, barriers with a quorum, clusters.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "sim/litmus/program.h"

namespace gdakit::sim::litmus {

// `name` stands in errors, before the line: "MP.litmus:7: ...". The error's code is unavailable for
// a test that uses what is not modelled, and invalid_argument for text that is no litmus test.
Result<Program> parse(std::string_view text, const std::string& name);

// Reads the file and parses it. Code::not_found if it cannot be read.
Result<Program> parse_file(const std::string& path);

}  // namespace gdakit::sim::litmus
