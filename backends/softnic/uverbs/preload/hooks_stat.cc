// stat() and its like. An open device is a file of memory, and says that it is the device.
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "backends/softnic/uverbs/preload/libc.h"
#include "backends/softnic/uverbs/sysfs.h"

namespace {

using gdakit::softnic::uverbs::device_minor;
using gdakit::softnic::uverbs::kDeviceMajor;
using gdakit::softnic::uverbs::libc_function;
using gdakit::softnic::uverbs::Path;
using gdakit::softnic::uverbs::Shim;

template <class Status>
int describe(int index, Status& status) {
  status.st_mode = S_IFCHR | 0666;
  status.st_rdev = ::makedev(kDeviceMajor, device_minor(index));
  return 0;
}

template <class Status, class Libc>
int stat_path(const char* path, Status* status, const Libc& libc) {
  const auto index = Shim::get().device_of(path);
  if (!index) return libc(Path(path).text());
  *status = {};
  status->st_nlink = 1;
  return describe(*index, *status);
}

template <class Status>
int describe_file(int result, int file, Status* status) {
  if (result != 0 || !Shim::get().is_open(file)) return result;
  return describe(Shim::get().index_of(file), *status);
}

}  // namespace

GDAKIT_HOOK int access(const char* path, int mode) {
  static auto* const libc = libc_function<int(const char*, int)>("access");
  if (Shim::get().device_of(path)) return 0;
  return libc(Path(path).text(), mode);
}

GDAKIT_HOOK int stat(const char* path, struct stat* status) {
  static auto* const libc = libc_function<int(const char*, struct stat*)>("stat");
  return stat_path(path, status, [status](const char* where) { return libc(where, status); });
}

GDAKIT_HOOK int stat64(const char* path, struct stat64* status) {
  static auto* const libc = libc_function<int(const char*, struct stat64*)>("stat64");
  return stat_path(path, status, [status](const char* where) { return libc(where, status); });
}

GDAKIT_HOOK int fstat(int file, struct stat* status) {
  static auto* const libc = libc_function<int(int, struct stat*)>("fstat");
  return describe_file(libc(file, status), file, status);
}

GDAKIT_HOOK int fstat64(int file, struct stat64* status) {
  static auto* const libc = libc_function<int(int, struct stat64*)>("fstat64");
  return describe_file(libc(file, status), file, status);
}

// What stat() and fstat() are in programs that were built for a glibc before 2.33.
GDAKIT_HOOK int __xstat(int version, const char* path, struct stat* status) {
  static auto* const libc = libc_function<int(int, const char*, struct stat*)>("__xstat");
  return stat_path(path, status, [=](const char* where) { return libc(version, where, status); });
}

GDAKIT_HOOK int __fxstat(int version, int file, struct stat* status) {
  static auto* const libc = libc_function<int(int, int, struct stat*)>("__fxstat");
  return describe_file(libc(version, file, status), file, status);
}
