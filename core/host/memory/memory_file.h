// Files that have no name and lie in memory: what processes of a host map to share it.
#pragma once

#include <cstdint>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"

namespace gdakit {

// Empty, this user's alone, closed on exec, open to seals. `name` is for /proc.
Result<UniqueFileDescriptor> make_memory_file(const char* name);

// Makes the file `bytes` long. Beyond the process's limit on files (ulimit -f), for which the
// system would end the process by SIGXFSZ, it is an error.
Result<void> resize_memory_file(const UniqueFileDescriptor& file, std::uint64_t bytes);

}  // namespace gdakit
