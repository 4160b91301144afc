// open() and its like: devices, and what is read of them in /sys.
#include <cstdarg>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include "backends/softnic/uverbs/preload/libc.h"

namespace {

using gdakit::softnic::uverbs::libc_function;
using gdakit::softnic::uverbs::Path;
using gdakit::softnic::uverbs::Shim;

using Open = int(const char*, int, ...);
using OpenAt = int(int, const char*, int, ...);
using OpenChecked = int(const char*, int);

bool takes_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

int open_path(Open* libc, const char* path, int flags, mode_t mode) {
  if (const auto index = Shim::get().device_of(path)) return Shim::get().open(*index);
  return libc(Path(path).text(), flags, mode);
}

int open_at(OpenAt* libc, int folder, const char* path, int flags, mode_t mode) {
  if (const auto index = Shim::get().device_of(path)) return Shim::get().open(*index);
  return libc(folder, Path(path).text(), flags, mode);
}

}  // namespace

GDAKIT_HOOK int open(const char* path, int flags, ...) {
  static Open* const libc = libc_function<Open>("open");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = takes_mode(flags) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_path(libc, path, flags, mode);
}

GDAKIT_HOOK int open64(const char* path, int flags, ...) {
  static Open* const libc = libc_function<Open>("open64");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = takes_mode(flags) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_path(libc, path, flags, mode);
}

GDAKIT_HOOK int openat(int folder, const char* path, int flags, ...) {
  static OpenAt* const libc = libc_function<OpenAt>("openat");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = takes_mode(flags) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_at(libc, folder, path, flags, mode);
}

GDAKIT_HOOK int openat64(int folder, const char* path, int flags, ...) {
  static OpenAt* const libc = libc_function<OpenAt>("openat64");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = takes_mode(flags) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_at(libc, folder, path, flags, mode);
}

// What open() becomes where a program is compiled with _FORTIFY_SOURCE.
GDAKIT_HOOK int __open_2(const char* path, int flags) {
  static auto* const libc = libc_function<OpenChecked>("__open_2");
  if (const auto index = Shim::get().device_of(path)) return Shim::get().open(*index);
  return libc(Path(path).text(), flags);
}

GDAKIT_HOOK int __open64_2(const char* path, int flags) {
  static auto* const libc = libc_function<OpenChecked>("__open64_2");
  if (const auto index = Shim::get().device_of(path)) return Shim::get().open(*index);
  return libc(Path(path).text(), flags);
}

GDAKIT_HOOK FILE* fopen(const char* path, const char* mode) {
  static auto* const libc = libc_function<FILE*(const char*, const char*)>("fopen");
  return libc(Path(path).text(), mode);
}

GDAKIT_HOOK FILE* fopen64(const char* path, const char* mode) {
  static auto* const libc = libc_function<FILE*(const char*, const char*)>("fopen64");
  return libc(Path(path).text(), mode);
}

GDAKIT_HOOK DIR* opendir(const char* path) {
  static auto* const libc = libc_function<DIR*(const char*)>("opendir");
  return libc(Path(path).text());
}

GDAKIT_HOOK int scandir(const char* path, dirent*** names, int (*filter)(const dirent*),
                        int (*compare)(const dirent**, const dirent**)) {
  using ScanDir =
      int(const char*, dirent***, int (*)(const dirent*), int (*)(const dirent**, const dirent**));
  static auto* const libc = libc_function<ScanDir>("scandir");
  return libc(Path(path).text(), names, filter, compare);
}

GDAKIT_HOOK ssize_t readlink(const char* path, char* to, size_t room) {
  static auto* const libc = libc_function<ssize_t(const char*, char*, size_t)>("readlink");
  return libc(Path(path).text(), to, room);
}

GDAKIT_HOOK char* realpath(const char* path, char* to) {
  static auto* const libc = libc_function<char*(const char*, char*)>("realpath");
  return libc(Path(path).text(), to);
}

GDAKIT_HOOK char* __realpath_chk(const char* path, char* to, size_t room) {
  static auto* const libc = libc_function<char*(const char*, char*, size_t)>("__realpath_chk");
  return libc(Path(path).text(), to, room);
}
