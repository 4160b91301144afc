// One instruction of a litmus test: "atom.acquire.gpu.cas r0, m, 0, 1".
#pragma once

#include <string>

#include "sim/litmus/lexer.h"
#include "sim/litmus/program.h"

namespace gdakit::sim::litmus {

// Reads one instruction at the cursor. Branches get no target: `label` is its name, "" for all
// other instructions. Registers and locations that are new are added.
Instruction parse_instruction(Cursor& cursor, Program& program, Thread& thread, std::string& label);

}  // namespace gdakit::sim::litmus
