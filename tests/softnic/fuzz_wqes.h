// WQEs of a fuzz run, and what they name: mostly what is right.
#pragma once

#include <cstdint>
#include <vector>

#include "tests/softnic/fuzz_input.h"
#include "tests/softnic/fuzz_side.h"

namespace gdakit::softnic::test {

// In what the side's key of this index names, and that key.
std::uint64_t some_address(Input& input, const FuzzSide& side, std::uint32_t key);
MemoryKey some_key(Input& input, const FuzzSide& side, std::uint32_t key);
// Of any of its keys.
format::DataSegment some_data(Input& input, const FuzzSide& side);
SrqNumber some_srq(Input& input, const FuzzSide& peer);
// Entries of a list, of which one or the other may name the list itself.
std::vector<KeyListEntry> some_entries(Input& input, const FuzzSide& side);

// Posts a WQE that is mostly right, or any bytes.
void post_some(Input& input, FuzzSide& side, const FuzzSide& peer);
void post_rubbish(Input& input, FuzzSide& side);

}  // namespace gdakit::softnic::test
