// Wrong values: how one that an expectation found at the end of a run came about.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "sim/choice/trace.h"
#include "sim/weak/memory.h"

namespace gdakit::sim {

// The last event of the trace that wrote `value` to the place; kReadInitial if none did.
std::int32_t writer_of(const Trace& trace, const std::string& where, std::uint64_t value);

// `check` is the trace's event that saw the value. Looks at what the thread that stored it had read
// before, the latest first, for one of:
//
//   - a write to the place of such a read that nothing orders with it
//   - a value that nobody has read before it was overwritten with what such a read returned
//
// and adds to trace.missing what would have ordered them. Adds nothing where there is neither.
void explain_wrong_value(const weak::Memory& memory, std::size_t check, Trace& trace);

}  // namespace gdakit::sim
