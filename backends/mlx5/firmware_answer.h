// What the firmware answered to a command that failed.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace gdakit::mlx5 {

// "; the firmware's status is 0x8 (limits exceeded), syndrome 0x19c6d6", and a remedy if there is
// one; empty if the command has not come to the firmware. `out` is the answer's mailbox.
std::string firmware_answer(std::span<const std::uint8_t> out);

// Whether it says that the object is not there, or not in the state that the command needs.
bool tells_of_object(std::span<const std::uint8_t> out);

}  // namespace gdakit::mlx5
