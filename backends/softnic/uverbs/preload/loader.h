// The functions of libc that find functions, which the hooks of the same names stand before: found
// in libc's own table of symbols, since asking for them would lead to the hooks again.
#pragma once

namespace gdakit::softnic::uverbs {

// "dlsym", "dlvsym" or "dlopen" of libc, or of libdl where that is apart (glibc before 2.34).
void* find_loader_function(const char* name);

template <class Function>
Function* loader_function(const char* name) {
  return reinterpret_cast<Function*>(find_loader_function(name));
}

}  // namespace gdakit::softnic::uverbs
