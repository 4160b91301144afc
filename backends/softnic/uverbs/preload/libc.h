// libc's own functions behind the ones that this library puts in their place.
#pragma once

#include <cstring>
#include <dlfcn.h>
#include <optional>
#include <string>
#include <sys/types.h>

#include "backends/softnic/uverbs/preload/shim.h"

// Of functions that a program is to find before libc's.
#define GDAKIT_HOOK extern "C" __attribute__((visibility("default")))

// Another name of the hook, for programs that ask for files of 64 bits. All files are, here: types
// and constants behind the two names say the same.
#define GDAKIT_HOOK_ALIAS(type, name, hook) \
  extern "C" __attribute__((visibility("default"), alias(#hook))) type name

namespace gdakit::softnic::uverbs {

static_assert(sizeof(off_t) == 8);

// libc's function of this name; `Function` is its type. Null in a libc that has none.
template <class Function>
Function* libc_function(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

// The path that a call is for: where it begins with /sys/class/infiniband, the one in the folder
// that stands in for /sys. No other path takes memory: a program's own allocator reads files and
// links, too, while it holds its locks.
class Path {
 public:
  explicit Path(const char* path) : path_(path) {
    if (path != nullptr && std::strncmp(path, "/sys/", 5) == 0) {
      other_ = Shim::get().sysfs_path(path);
    }
  }
  const char* text() const { return other_ ? other_->c_str() : path_; }

 private:
  const char* path_;
  std::optional<std::string> other_;
};

}  // namespace gdakit::softnic::uverbs
