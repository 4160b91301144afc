// Firmware commands by the names that the programmer's reference manual gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gdakit::softnic::uverbs {

// The opcode of "CREATE_QP", or of a number, "0x500"; nothing if it is neither. Of names, those of
// commands that this NIC has.
std::optional<std::uint16_t> opcode_by_name(std::string_view name);

}  // namespace gdakit::softnic::uverbs
