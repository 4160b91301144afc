// Ownership of an open file descriptor.
#pragma once

#include <unistd.h>

#include "core/base/handle.h"

namespace gdakit {

struct FileDescriptorTraits {
  using Value = int;
  static Value none() { return -1; }
  static void close(Value value) { ::close(value); }
};
using UniqueFileDescriptor = UniqueHandle<FileDescriptorTraits>;

}  // namespace gdakit
