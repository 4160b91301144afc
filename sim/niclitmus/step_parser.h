// One step of a NIC litmus test: "dma.read r0, x, 2", "st.mmio 0, 7", or an instruction of
// sim/litmus.
#pragma once

#include <cstddef>
#include <string_view>

#include "sim/litmus/lexer.h"
#include "sim/niclitmus/program.h"

namespace gdakit::sim::niclitmus {

// Reads a step of the agent in this column at the cursor. Registers that are new are added.
Step parse_step(litmus::Cursor& cursor, Program& program, std::size_t column);

// "NIC1" -> 1, which is also the number of its PE.
std::uint32_t parse_nic(litmus::Cursor& cursor, Program& program, std::string_view name);

}  // namespace gdakit::sim::niclitmus
