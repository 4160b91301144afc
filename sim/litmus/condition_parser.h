// The condition of a litmus test: "exists (P1:r1 == 1 /\ ~(x = 2 \/ y != 0))".
#pragma once

#include "sim/litmus/lexer.h"
#include "sim/litmus/program.h"

namespace gdakit::sim::litmus {

// Reads an expression at the cursor; what it speaks of is added to the program's observables. "/\"
// binds tighter than "\/", and "~" (or "not") tightest.
Condition parse_condition(Cursor& cursor, Program& program);

}  // namespace gdakit::sim::litmus
