// One run of two engines on arbitrary input: WQEs, doorbells, records, receive WQEs, keys, packets,
// and calls of the control path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace gdakit::softnic::test {

// Plays `data` as a sequence of things that clients and peers do, by queue pairs of RC, XRC or DC,
// then lets the engines come to rest. Returns what was violated, empty for nothing:
//   - no byte outside the registered regions and the completion queues has changed, nor one of a
//     region that no key lets be written, whatever the lists of keys of lists say;
//   - every CQE is well-formed;
//   - every send queue is at rest: all that is announced has completed, and if the queue pair
//     failed on a WQE, an error CQE said so;
//   - every target of DC drains, and leaves nothing in use;
//   - the control path holds its contract (fuzz_control.h), and all removals come to their end.
std::string fuzz_one(const std::uint8_t* data, std::size_t size);

}  // namespace gdakit::softnic::test
