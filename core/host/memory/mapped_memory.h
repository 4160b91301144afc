// What this process may do with its own memory.
#pragma once

#include <cstdint>

#include "core/base/result.h"

namespace gdakit {

// Whether all of these bytes are this process's, as far as the kernel tells. Of a range that only a
// GPU reaches it says false.
bool is_mapped(const void* base, std::uint64_t bytes);

// Ok if this process may both read and write all of these bytes. The error names the first that it
// may not, and what they are. Of a range that only a GPU reaches it is an error. Where there is no
// /proc, protection is not looked at.
Result<void> check_readable_writable(const void* base, std::uint64_t bytes);

}  // namespace gdakit
