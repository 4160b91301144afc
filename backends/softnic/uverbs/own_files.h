// Descriptors that are this library's own, in a program that knows nothing of them: all files that
// it keeps (core/base/kept_file.h).
//
//   const OpeningOwnFiles opening;
//   const KeptFile pipe = keep_file(std::move(end));
//
// They have high numbers, beyond those that a program counts on for its own, and what closes many
// descriptors at once leaves them out (preload/hooks_calls.cc). A child of fork has none of them:
// its copies are closed before fork() returns, and a KeptFile there is of no file.
#pragma once

#include <optional>

#include "core/base/kept_file.h"

namespace gdakit::softnic::uverbs {

// Whether this process's descriptor is one. Costs a load.
bool is_own_file(unsigned file);
// The first one that is not below `from`.
std::optional<unsigned> next_own_file(unsigned from);

// Where their numbers begin: at 512, or in the middle of the numbers that the process may have
// where these are fewer. Where none is free from there on, a file keeps the number that it has.
int least_own_number();

// While one lives, no other thread forks, or gives a descriptor a number that is free (dup2):
// neither gets at a file that is opened and not kept yet. Those that close many numbers at once
// may. They nest. A program's dup2 waits for them, also in a signal's handler: so they are short.
class OpeningOwnFiles {
 public:
  OpeningOwnFiles();
  ~OpeningOwnFiles();
  OpeningOwnFiles(const OpeningOwnFiles&) = delete;
  OpeningOwnFiles& operator=(const OpeningOwnFiles&) = delete;
};

}  // namespace gdakit::softnic::uverbs
