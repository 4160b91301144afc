// Whole files, with the system's reason where that fails.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace gdakit {

// `what` is what the sentence calls it: "the litmus test". Code::not_found: there is no such file.
Result<std::string> read_file(const std::string& path, const std::string& what);

// What is there is replaced.
Result<void> write_file(const std::string& path, std::string_view text);

// The same, but whoever reads finds the old file or the new one whole. It is written as
// `next_path`, in the same file system, and then renamed.
Result<void> replace_file(const std::string& path, const std::string& next_path,
                          std::string_view text);

// Whether write_file could begin, for those who will have something to write much later. What is
// there stays as it is.
Result<void> try_to_write(const std::string& path);

}  // namespace gdakit
