// dlopen() and dlvsym(), for libraries and functions that are not to be there (failures.h).
//
// Everything else is libc's own, called from where it was called itself: what a name means depends
// on who asks. Where nothing is to fail this library is not even asked for what fails.
#include <dlfcn.h>
#include <string>
#include <string_view>

#include "backends/softnic/uverbs/preload/libc.h"
#include "backends/softnic/uverbs/preload/loader.h"
#include "backends/softnic/uverbs/preload/tail_call.h"

namespace {

using gdakit::softnic::uverbs::loader_function;
using gdakit::softnic::uverbs::Shim;

using Dlopen = void*(const char*, int);
using Dlvsym = void*(void*, const char*, const char*);

// Where nothing lies: what dlerror() says of it names the library, and why it is not there.
constexpr const char* kNowhere = "/gdakit verbs --fail/";
constexpr const char* kNoVersion = "GDAKIT_VERBS_FAIL";

bool is_to_fail(const char* path) {
  if (path == nullptr || !Shim::has_failures()) return false;
  const std::string_view whole = path;
  return Shim::get().node_failures().libraries.contains(whole.substr(whole.rfind('/') + 1));
}

void* fail_to_open(Dlopen* libc, const char* path, int flags) {
  const std::string_view whole = path;
  const std::string nowhere = kNowhere + std::string(whole.substr(whole.rfind('/') + 1));
  return libc(nowhere.c_str(), flags);
}

}  // namespace

GDAKIT_HOOK GDAKIT_WITH_TAIL_CALLS void* dlopen(const char* path, int flags) {
  static auto* const libc = loader_function<Dlopen>("dlopen");
  if (is_to_fail(path)) return fail_to_open(libc, path, flags);
  GDAKIT_TAIL_CALL return libc(path, flags);
}

GDAKIT_HOOK GDAKIT_WITH_TAIL_CALLS void* dlvsym(void* handle, const char* name,
                                                const char* version) {
  static auto* const libc = loader_function<Dlvsym>("dlvsym");
  const bool fails =
      Shim::has_failures() && Shim::get().node_failures().symbols.contains(std::string_view(name));
  GDAKIT_TAIL_CALL return libc(handle, name, fails ? kNoVersion : version);
}
