// The calls on an open device, and what becomes of its descriptors; and the end of the process.
#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <fcntl.h>
#include <optional>
#include <rdma/rdma_user_ioctl_cmds.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "backends/softnic/uverbs/preload/callers.h"
#include "backends/softnic/uverbs/preload/libc.h"

namespace {

using gdakit::softnic::uverbs::Context;
using gdakit::softnic::uverbs::count_call;
using gdakit::softnic::uverbs::libc_function;
using gdakit::softnic::uverbs::OpeningOwnFiles;
using gdakit::softnic::uverbs::Shim;

constexpr int kNetlinkRdma = 20;

int fail(int error) {
  errno = error;
  return -1;
}

int duplicated(int file, int other) {
  if (other >= 0 && Shim::get().is_open(file)) Shim::get().duplicated(file, other);
  return other;
}

// `dup` makes `to` another descriptor of `file`, unless it is the library's own. What is open there
// is the program's then, or nothing is: that number no thread of the library's is to get meanwhile.
// What was open may take long to close, which nobody is to wait for.
template <class Dup>
int duplicate_as(int file, int to, Dup dup) {
  int result = -1;
  bool is_done = false;
  if (Shim::get().is_owner()) {
    const OpeningOwnFiles opening;
    if (Shim::get().keeps(to)) return fail(EBUSY);
    is_done = ::fcntl(to, F_GETFD) < 0;
    if (is_done) result = dup();
  }
  if (!is_done) result = dup();
  if (result >= 0 && file != to && Shim::get().is_open(to)) Shim::get().closed(to);
  return duplicated(file, result);
}

__attribute__((destructor)) void end() { Shim::get().drain(); }

}  // namespace

GDAKIT_HOOK int ioctl(int file, unsigned long request, ...) {
  static auto* const libc = libc_function<int(int, unsigned long, ...)>("ioctl");
  va_list rest;
  va_start(rest, request);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  if (!Shim::get().is_open(file)) return libc(file, request, argument);
  const std::shared_ptr<Context> context = Shim::get().context(file);
  if (context == nullptr) return fail(Shim::get().is_open(file) ? ENOTTY : EBADF);
  if (request != RDMA_VERBS_IOCTL) return fail(ENOTTY);
  count_call(__builtin_return_address(0));
  const int error = context->call(reinterpret_cast<std::uintptr_t>(argument));
  return error == 0 ? 0 : fail(error);
}

// Commands of rdma_cm. A program may write from a signal's handler: where nothing is open, nothing
// is made.
GDAKIT_HOOK ssize_t write(int file, const void* bytes, size_t size) {
  static auto* const libc = libc_function<ssize_t(int, const void*, size_t)>("write");
  Shim* const shim = Shim::made();
  const auto error = shim == nullptr ? std::nullopt : shim->write(file, bytes, size);
  if (!error) return libc(file, bytes, size);
  return *error == 0 ? static_cast<ssize_t>(size) : fail(*error);
}

GDAKIT_HOOK int close(int file) {
  static auto* const libc = libc_function<int(int)>("close");
  if (Shim::get().keeps(file)) return fail(EBADF);
  if (Shim::get().is_open(file)) Shim::get().closed(file);
  return libc(file);
}

// All of the range but the library's own. What stays open, or is another thread's still, is no
// device that has been closed.
GDAKIT_HOOK int close_range(unsigned first, unsigned last, int flags) {
  Shim& shim = Shim::get();
  const auto range = [flags](unsigned from, unsigned to) {
    return static_cast<int>(::syscall(SYS_close_range, from, to, flags));
  };
  if (first > last || flags != 0) return range(first, last);
  shim.range_closed(first, last);
  for (unsigned from = first;; ++from) {
    const std::optional<unsigned> own = shim.next_kept(from);
    if (!own || *own > last) return range(from, last);
    if (from < *own && range(from, *own - 1) != 0) return -1;
    from = *own;
    if (from == last) return 0;
  }
}

GDAKIT_HOOK void closefrom(int first) {
  const auto from = static_cast<unsigned>(std::max(first, 0));
  if (close_range(from, ~0u, 0) == 0) return;
  for (int file = static_cast<int>(from); file < ::getdtablesize(); ++file) close(file);
}

GDAKIT_HOOK int dup(int file) {
  static auto* const libc = libc_function<int(int)>("dup");
  return duplicated(file, libc(file));
}

GDAKIT_HOOK int dup2(int file, int to) {
  static auto* const libc = libc_function<int(int, int)>("dup2");
  return duplicate_as(file, to, [=] { return libc(file, to); });
}

GDAKIT_HOOK int dup3(int file, int to, int flags) {
  static auto* const libc = libc_function<int(int, int, int)>("dup3");
  return duplicate_as(file, to, [=] { return libc(file, to, flags); });
}

namespace {

using Fcntl = int(int, int, ...);

int call_fcntl(Fcntl* libc, int file, int command, void* argument) {
  const int result = libc(file, command, argument);
  return command == F_DUPFD || command == F_DUPFD_CLOEXEC ? duplicated(file, result) : result;
}

}  // namespace

GDAKIT_HOOK int fcntl(int file, int command, ...) {
  static auto* const libc = libc_function<Fcntl>("fcntl");
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return call_fcntl(libc, file, command, argument);
}

GDAKIT_HOOK int fcntl64(int file, int command, ...) {
  static auto* const libc = libc_function<Fcntl>("fcntl64");
  va_list rest;
  va_start(rest, command);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  return call_fcntl(libc, file, command, argument);
}

// Where the system has RDMA itself, its list of devices would be believed, and /sys not read.
GDAKIT_HOOK int socket(int domain, int type, int protocol) {
  static auto* const libc = libc_function<int(int, int, int)>("socket");
  if (domain == AF_NETLINK && protocol == kNetlinkRdma && Shim::get().active()) {
    return fail(EPROTONOSUPPORT);
  }
  return libc(domain, type, protocol);
}

GDAKIT_HOOK void _exit(int status) {
  static auto* const libc = libc_function<void(int)>("_exit");
  Shim::get().pause();
  libc(status);
  std::abort();
}

GDAKIT_HOOK void _Exit(int status) { _exit(status); }
