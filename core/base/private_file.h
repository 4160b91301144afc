// Files that one user alone may read, because they tell what a job does.
#pragma once

#include <string>

#include "core/base/file_descriptor.h"
#include "core/base/result.h"

namespace gdakit {

// Opens the file at `path` to be written from its beginning, with mode 0600. A file that was there
// keeps its content (see empty_file), and nobody but its user reads it from now on. Pipes and
// devices are as they are, and a pipe is waited for until somebody reads it. `what` is the plural
// that errors use for such files: "captures". Errors: the folder is missing or may not be written
// to; the path is a folder; another user's file or pipe; the file system keeps no modes.
Result<UniqueFileDescriptor> open_private_file(const std::string& path, const std::string& what);

// Whether open_private_file could open it, for those who will have something to write much later.
// What is there keeps its content, and a pipe is not opened.
Result<void> try_to_write_private(const std::string& path, const std::string& what);

// Cuts a regular file to nothing. Error: the file system refuses.
Result<void> empty_file(int fd, const std::string& path, const std::string& what);

// Why a file of this kind cannot be written, with a remedy.
Error private_file_error(const std::string& path, const std::string& what, int error);

}  // namespace gdakit
