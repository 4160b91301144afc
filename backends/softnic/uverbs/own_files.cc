#include "backends/softnic/uverbs/own_files.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <fcntl.h>
#include <mutex>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gdakit::softnic::uverbs {
namespace {

constexpr unsigned kFirst = 512;
constexpr unsigned kMostFiles = 65536;  // those behind are never asked about

// By number. A process has one table of descriptors, and this says whose they are.
std::array<std::atomic<bool>, kMostFiles> is_own{};

// Held while a socket is made that is not known yet, and by fork.
std::mutex forking;

// Not by close(), which is answered by this library.
void close_all() {
  for (unsigned file = 0; file < kMostFiles; ++file) {
    if (is_own[file].exchange(false)) ::syscall(SYS_close, file);
  }
}

void close_in_children() {
  static std::once_flag once;
  std::call_once(once, [] {
    const auto child = [] {
      close_all();
      forking.unlock();
    };
    ::pthread_atfork([] { forking.lock(); }, [] { forking.unlock(); }, child);
  });
}

int mark(int file) {
  close_in_children();
  if (static_cast<unsigned>(file) < kMostFiles) is_own[static_cast<unsigned>(file)] = true;
  return file;
}

}  // namespace

int least_own_number() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kFirst;
  return static_cast<int>(std::min<rlim_t>(kFirst, limit.rlim_cur / 2));
}

bool is_own_file(unsigned file) { return file < kMostFiles && is_own[file].load(); }

std::optional<unsigned> next_own_file(unsigned from) {
  for (unsigned file = from; file < kMostFiles; ++file) {
    if (is_own_file(file)) return file;
  }
  return std::nullopt;
}

// No longer its own first: what closes it may be asked whose it is.
void OwnFileTraits::close(Value file) {
  const auto number = static_cast<unsigned>(file);
  if (number >= kMostFiles || is_own[number].exchange(false)) ::close(file);
}

void OwnMarkTraits::close(Value file) {
  if (static_cast<unsigned>(file) < kMostFiles) is_own[static_cast<unsigned>(file)] = false;
}

OwnMark mark_own(int file) { return OwnMark(mark(file)); }

OwnFile own_file(UniqueFileDescriptor file) {
  if (!file) return OwnFile();
  UniqueFileDescriptor moved(::fcntl(file.get(), F_DUPFD_CLOEXEC, least_own_number()));
  if (!moved) moved = std::move(file);
  return OwnFile(mark(moved.release()));
}

OwnFile own_socket(int domain, int type) {
  close_in_children();
  const std::lock_guard lock(forking);
  return own_file(UniqueFileDescriptor(::socket(domain, type | SOCK_CLOEXEC, 0)));
}

}  // namespace gdakit::softnic::uverbs
