// stat() and its like. An open device is a file of memory, and says that it is the device.
#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <utility>

#include "backends/softnic/uverbs/preload/libc.h"
#include "backends/softnic/uverbs/sysfs.h"

namespace {

using gdakit::softnic::uverbs::device_minor;
using gdakit::softnic::uverbs::kCmMajor;
using gdakit::softnic::uverbs::kCmMinor;
using gdakit::softnic::uverbs::kDeviceMajor;
using gdakit::softnic::uverbs::libc_function;
using gdakit::softnic::uverbs::Path;
using gdakit::softnic::uverbs::Shim;

// Of a NIC's device, or of rdma_cm.
std::pair<unsigned, unsigned> device_number(int index) {
  if (index == Shim::kCmIndex) return {kCmMajor, kCmMinor};
  return {kDeviceMajor, device_minor(index)};
}

std::optional<int> index_of(const char* path) {
  if (Shim::get().is_cm(path)) return Shim::kCmIndex;
  return Shim::get().device_of(path);
}

// Why there is nothing to be said of it; 0: there is.
int absence_of(int index) {
  const int error = index == Shim::kCmIndex ? 0 : Shim::get().node_error(index);
  return error == ENOENT ? error : 0;
}

// Of one that may not be opened: nobody's but root's.
mode_t mode_of(int index) {
  const int error = index == Shim::kCmIndex ? 0 : Shim::get().node_error(index);
  return S_IFCHR | (error == 0 ? 0666 : 0600);
}

int fail(int error) {
  errno = error;
  return -1;
}

int describe(int index, struct stat& status) {
  const auto [major, minor] = device_number(index);
  status.st_mode = mode_of(index);
  status.st_rdev = ::makedev(major, minor);
  return 0;
}

int describe(int index, struct statx& status) {
  const auto [major, minor] = device_number(index);
  status.stx_mode = static_cast<std::uint16_t>(mode_of(index));
  status.stx_rdev_major = major;
  status.stx_rdev_minor = minor;
  return 0;
}

template <class Libc>
int stat_path(const char* path, struct stat* status, const Libc& libc) {
  const auto index = index_of(path);
  if (!index) return libc(Path(path).text());
  if (const int error = absence_of(*index)) return fail(error);
  *status = {};
  status->st_nlink = 1;
  return describe(*index, *status);
}

int describe_file(int result, int file, struct stat* status) {
  if (result != 0 || !Shim::get().is_open(file)) return result;
  return describe(Shim::get().index_of(file), *status);
}

// Whether a call is for the open file itself, and not for a path from there.
bool is_of_file(const char* path, int flags) {
  return (flags & AT_EMPTY_PATH) != 0 && (path == nullptr || *path == '\0');
}

using Access = int(const char*, int);

// Of a node that is not the system's: whether it is there, and whether it may be opened.
std::optional<int> access_own(const char* path, int mode) {
  const auto index = index_of(path);
  if (!index) return std::nullopt;
  const int error = *index == Shim::kCmIndex ? 0 : Shim::get().node_error(*index);
  if (error == 0 || (error != ENOENT && mode == F_OK)) return 0;
  return fail(error);
}

int access_path(Access* libc, const char* path, int mode) {
  if (const auto result = access_own(path, mode)) return *result;
  return libc(Path(path).text(), mode);
}

}  // namespace

GDAKIT_HOOK int access(const char* path, int mode) {
  static auto* const libc = libc_function<Access>("access");
  return access_path(libc, path, mode);
}

GDAKIT_HOOK int eaccess(const char* path, int mode) {
  static auto* const libc = libc_function<Access>("eaccess");
  return access_path(libc, path, mode);
}

GDAKIT_HOOK int faccessat(int folder, const char* path, int mode, int flags) {
  static auto* const libc = libc_function<int(int, const char*, int, int)>("faccessat");
  if (const auto result = access_own(path, mode)) return *result;
  return libc(folder, Path(path).text(), mode, flags);
}

GDAKIT_HOOK int stat(const char* path, struct stat* status) {
  static auto* const libc = libc_function<int(const char*, struct stat*)>("stat");
  return stat_path(path, status, [status](const char* where) { return libc(where, status); });
}

GDAKIT_HOOK int lstat(const char* path, struct stat* status) {
  static auto* const libc = libc_function<int(const char*, struct stat*)>("lstat");
  return stat_path(path, status, [status](const char* where) { return libc(where, status); });
}

GDAKIT_HOOK int fstat(int file, struct stat* status) {
  static auto* const libc = libc_function<int(int, struct stat*)>("fstat");
  return describe_file(libc(file, status), file, status);
}

GDAKIT_HOOK int fstatat(int folder, const char* path, struct stat* status, int flags) {
  static auto* const libc = libc_function<int(int, const char*, struct stat*, int)>("fstatat");
  const int result = stat_path(
      path, status, [=](const char* where) { return libc(folder, where, status, flags); });
  return is_of_file(path, flags) ? describe_file(result, folder, status) : result;
}

GDAKIT_HOOK int statx(int folder, const char* path, int flags, unsigned mask,
                      struct statx* status) {
  using Statx = int(int, const char*, int, unsigned, struct statx*);
  static auto* const libc = libc_function<Statx>("statx");
  const auto index = index_of(path);
  if (const int error = index ? absence_of(*index) : 0) return fail(error);
  const int result = index ? libc(AT_FDCWD, "/dev/null", 0, mask, status)
                           : libc(folder, Path(path).text(), flags, mask, status);
  if (result != 0) return result;
  const bool is_open = is_of_file(path, flags) && Shim::get().is_open(folder);
  if (index || is_open) describe(index ? *index : Shim::get().index_of(folder), *status);
  return 0;
}

// What stat() and its like are in programs that were built for a glibc before 2.33.
GDAKIT_HOOK int __xstat(int version, const char* path, struct stat* status) {
  static auto* const libc = libc_function<int(int, const char*, struct stat*)>("__xstat");
  return stat_path(path, status, [=](const char* where) { return libc(version, where, status); });
}

GDAKIT_HOOK int __lxstat(int version, const char* path, struct stat* status) {
  static auto* const libc = libc_function<int(int, const char*, struct stat*)>("__lxstat");
  return stat_path(path, status, [=](const char* where) { return libc(version, where, status); });
}

GDAKIT_HOOK int __fxstat(int version, int file, struct stat* status) {
  static auto* const libc = libc_function<int(int, int, struct stat*)>("__fxstat");
  return describe_file(libc(version, file, status), file, status);
}

GDAKIT_HOOK int __fxstatat(int version, int folder, const char* path, struct stat* status,
                           int flags) {
  using StatAt = int(int, int, const char*, struct stat*, int);
  static auto* const libc = libc_function<StatAt>("__fxstatat");
  return stat_path(path, status,
                   [=](const char* where) { return libc(version, folder, where, status, flags); });
}

static_assert(sizeof(struct stat) == sizeof(struct stat64));
// It is only the type's name that differs.
#pragma GCC diagnostic ignored "-Wattribute-alias"
GDAKIT_HOOK_ALIAS(decltype(::euidaccess), euidaccess, eaccess);
GDAKIT_HOOK_ALIAS(decltype(::stat64), stat64, stat);
GDAKIT_HOOK_ALIAS(decltype(::lstat64), lstat64, lstat);
GDAKIT_HOOK_ALIAS(decltype(::fstat64), fstat64, fstat);
GDAKIT_HOOK_ALIAS(decltype(::fstatat64), fstatat64, fstatat);
GDAKIT_HOOK_ALIAS(decltype(__xstat), __xstat64, __xstat);
GDAKIT_HOOK_ALIAS(decltype(__lxstat), __lxstat64, __lxstat);
GDAKIT_HOOK_ALIAS(decltype(__fxstat), __fxstat64, __fxstat);
GDAKIT_HOOK_ALIAS(decltype(__fxstatat), __fxstatat64, __fxstatat);
