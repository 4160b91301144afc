// The errors of Linux by their names: "EOPNOTSUPP".
#pragma once

#include <optional>
#include <string_view>

namespace gdakit::softnic::uverbs {

// By name, or by number in decimal digits; nothing if it is none that a call may return.
std::optional<int> errno_by_name(std::string_view name);

}  // namespace gdakit::softnic::uverbs
