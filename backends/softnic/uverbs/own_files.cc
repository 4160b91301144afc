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
std::atomic<unsigned> end_of_own{0};  // all that have ever been own are below

void mark(unsigned number) {
  if (number >= kMostFiles) return;
  is_own[number] = true;
  unsigned end = end_of_own.load();
  while (end <= number && !end_of_own.compare_exchange_weak(end, number + 1)) {
  }
}

// Held by who opens files, and by fork.
std::mutex opening;
// How often this thread holds it. Counted before it is taken: a signal's handler may come between.
thread_local int times_held = 0;

void hold() {
  if (times_held++ == 0) opening.lock();
}

void let_go() {
  if (times_held == 1) opening.unlock();
  --times_held;
}

// Not by close(), which is answered by this library.
void close_all() {
  for (unsigned file = 0; file < end_of_own.load(); ++file) {
    if (is_own[file].exchange(false)) ::syscall(SYS_close, file);
  }
}

void leave_child() {
  close_all();
  let_go();
}

int keep(UniqueFileDescriptor file) {
  UniqueFileDescriptor moved(::fcntl(file.get(), F_DUPFD_CLOEXEC, least_own_number()));
  if (!moved) moved = std::move(file);
  mark(static_cast<unsigned>(moved.get()));
  return moved.release();
}

// No longer its own first: what closes it may be asked whose it is.
void close_kept(int file) {
  const OpeningOwnFiles closing;
  const auto number = static_cast<unsigned>(file);
  if (number >= kMostFiles || is_own[number].exchange(false)) ::close(file);
}

constexpr KeptFileRules kRules{keep, close_kept};

// Before anything is opened, and before any thread forks.
bool begin() {
  kept_file_rules = &kRules;
  return ::pthread_atfork(hold, let_go, leave_child) == 0;
}
const bool has_begun = begin();

}  // namespace

int least_own_number() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return kFirst;
  return static_cast<int>(std::min<rlim_t>(kFirst, limit.rlim_cur / 2));
}

bool is_own_file(unsigned file) { return file < kMostFiles && is_own[file].load(); }

std::optional<unsigned> next_own_file(unsigned from) {
  for (unsigned file = from; file < end_of_own.load(); ++file) {
    if (is_own_file(file)) return file;
  }
  return std::nullopt;
}

OpeningOwnFiles::OpeningOwnFiles() { hold(); }

OpeningOwnFiles::~OpeningOwnFiles() { let_go(); }

}  // namespace gdakit::softnic::uverbs
