// open() and its like: devices, and what is read of them in /sys.
#include <cstdarg>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <optional>
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
using GetAttribute = ssize_t(const char*, const char*, void*, size_t);
using OpenAtChecked = int(int, const char*, int);

bool takes_mode(int flags) { return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE; }

// Of a path that is not the system's: a descriptor, or -1.
std::optional<int> open_own(const char* path, int flags) {
  Shim& shim = Shim::get();
  if (const auto index = shim.device_of(path)) return shim.open(*index);
  if (shim.is_cm(path)) return shim.open_cm(flags);
  return std::nullopt;
}

int open_path(Open* libc, const char* path, int flags, mode_t mode) {
  if (const auto opened = open_own(path, flags)) return *opened;
  return libc(Path(path).text(), flags, mode);
}

int open_at(OpenAt* libc, int folder, const char* path, int flags, mode_t mode) {
  if (const auto opened = open_own(path, flags)) return *opened;
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

GDAKIT_HOOK int openat(int folder, const char* path, int flags, ...) {
  static OpenAt* const libc = libc_function<OpenAt>("openat");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = takes_mode(flags) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return open_at(libc, folder, path, flags, mode);
}

// What open() becomes where a program is compiled with _FORTIFY_SOURCE.
GDAKIT_HOOK int __open_2(const char* path, int flags) {
  static auto* const libc = libc_function<OpenChecked>("__open_2");
  if (const auto opened = open_own(path, flags)) return *opened;
  return libc(Path(path).text(), flags);
}

GDAKIT_HOOK int __openat_2(int folder, const char* path, int flags) {
  static auto* const libc = libc_function<OpenAtChecked>("__openat_2");
  if (const auto opened = open_own(path, flags)) return *opened;
  return libc(folder, Path(path).text(), flags);
}

GDAKIT_HOOK FILE* fopen(const char* path, const char* mode) {
  static auto* const libc = libc_function<FILE*(const char*, const char*)>("fopen");
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

GDAKIT_HOOK ssize_t __readlink_chk(const char* path, char* to, size_t room, size_t most) {
  using ReadLink = ssize_t(const char*, char*, size_t, size_t);
  static auto* const libc = libc_function<ReadLink>("__readlink_chk");
  return libc(Path(path).text(), to, room, most);
}

GDAKIT_HOOK ssize_t readlinkat(int folder, const char* path, char* to, size_t room) {
  static auto* const libc = libc_function<ssize_t(int, const char*, char*, size_t)>("readlinkat");
  return libc(folder, Path(path).text(), to, room);
}

// As ls -l asks of each file.
GDAKIT_HOOK ssize_t getxattr(const char* path, const char* name, void* to, size_t room) {
  static auto* const libc = libc_function<GetAttribute>("getxattr");
  return libc(Path(path).text(), name, to, room);
}

GDAKIT_HOOK ssize_t lgetxattr(const char* path, const char* name, void* to, size_t room) {
  static auto* const libc = libc_function<GetAttribute>("lgetxattr");
  return libc(Path(path).text(), name, to, room);
}

GDAKIT_HOOK char* realpath(const char* path, char* to) {
  static auto* const libc = libc_function<char*(const char*, char*)>("realpath");
  return libc(Path(path).text(), to);
}

GDAKIT_HOOK char* __realpath_chk(const char* path, char* to, size_t room) {
  static auto* const libc = libc_function<char*(const char*, char*, size_t)>("__realpath_chk");
  return libc(Path(path).text(), to, room);
}

// Of directory entries, too, it is only the type's name that differs.
#pragma GCC diagnostic ignored "-Wattribute-alias"
GDAKIT_HOOK_ALIAS(decltype(::open64), open64, open);
GDAKIT_HOOK_ALIAS(decltype(::openat64), openat64, openat);
GDAKIT_HOOK_ALIAS(OpenChecked, __open64_2, __open_2);
GDAKIT_HOOK_ALIAS(OpenAtChecked, __openat64_2, __openat_2);
GDAKIT_HOOK_ALIAS(decltype(::fopen64), fopen64, fopen);
GDAKIT_HOOK_ALIAS(decltype(::scandir64), scandir64, scandir);
