// What the firmware answered to a command.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace gdakit::mlx5 {

// "; the firmware's status is 0x8 (limits exceeded), syndrome 0x19c6d6", and a remedy if there is
// one; empty if the command has not come to the firmware. `out` is the answer's mailbox.
std::string firmware_answer(std::span<const std::uint8_t> out);

// Before a command is sent: marks the last bytes of its answer's mailbox. The kernel gives all
// bytes of an answer, which takes the mark away; an answer that ends early leaves it. The mark has
// four bytes, of which nothing here reads what the answer has in their place: an answer that lacks
// fewer is as good as a whole one.
void mark_end(std::span<std::uint8_t> out);

// What is wrong with the answer to a command that succeeded, behind the call's name and "answered":
// it ends early, or has a status that is none of success. Empty: nothing.
std::string wrong_with_answer(std::span<const std::uint8_t> out);

// Whether it says that the object is not there, or not in the state that the command needs.
bool tells_of_object(std::span<const std::uint8_t> out);

}  // namespace gdakit::mlx5
