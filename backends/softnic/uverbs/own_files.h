// Descriptors that are this library's own, in a program that knows nothing of them.
//
//   OwnFile pipe = own_file(std::move(end));
//
// They have high numbers, beyond those that a program counts on for its own, and what closes many
// descriptors at once leaves them out (preload/hooks_calls.cc). A child of fork has none of them:
// its copies are closed before fork() returns, and an OwnFile there is of no file.
#pragma once

#include <optional>

#include "core/base/file_descriptor.h"
#include "core/base/handle.h"

namespace gdakit::softnic::uverbs {

// Whether this process's descriptor is one. Costs a load.
bool is_own_file(unsigned file);
// The first one that is not below `from`.
std::optional<unsigned> next_own_file(unsigned from);

struct OwnFileTraits {
  using Value = int;
  static Value none() { return -1; }
  static void close(Value file);
};
using OwnFile = UniqueHandle<OwnFileTraits>;

// Where numbers of own descriptors begin: at 512, or in the middle of the numbers that the process
// may have where these are fewer.
int least_own_number();

// Where no number is free there, the file keeps the one that it has.
OwnFile own_file(UniqueFileDescriptor file);

// Says of a descriptor that another object closes that it is one, until then.
struct OwnMarkTraits {
  using Value = int;
  static Value none() { return -1; }
  static void close(Value file);
};
using OwnMark = UniqueHandle<OwnMarkTraits>;
OwnMark mark_own(int file);

// A socket of which no child ever has a copy, whenever another thread forks. None: errno says why.
OwnFile own_socket(int domain, int type);

}  // namespace gdakit::softnic::uverbs
