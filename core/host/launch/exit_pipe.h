// How a PE asks `gdakit run` to end the whole job: one line in a pipe of the launcher's, which
// GDAKIT_EXIT_PIPE names.
//
//   "2 0\n"    PE 2 asks for an end with status 0
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/result.h"

namespace gdakit {

struct ExitRequest {
  int rank;
  int status;  // 0 to 255, as exit() gives it on
};

// Writes one to the pipe at `path`. Errors: there is no pipe, or nobody reads it.
Result<void> send_exit_request(const std::string& path, ExitRequest request);

// The first line of `text`; nothing if it is none of a request.
std::optional<ExitRequest> parse_exit_request(std::string_view text);

}  // namespace gdakit
