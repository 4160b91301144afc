#include "sim/world/arena.h"

#include <array>
#include <atomic>
#include <csignal>
#include <mutex>
#include <string_view>
#include <sys/mman.h>

#include "core/base/annotate.h"
#include "core/base/assert.h"
#include "sim/crash.h"

namespace gdakit::sim {
namespace {

// Far from where systems put programs and libraries, and where ThreadSanitizer lets a program map
// memory. Addresses stand in WQEs and thus in traces; nothing depends on them.
constexpr std::uint64_t kPreferred = kThreadSanitizer ? 0x40'0000'0000 : 0x5100'0000'0000;
constexpr std::uint64_t kStep = 0x1'0000'0000;
constexpr int kTries = 64;

std::uint64_t reserve(std::uint64_t bytes) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  for (int i = 0; i <= kTries; ++i) {
    const bool last = i == kTries;
    void* const wanted =
        last ? nullptr
             : reinterpret_cast<void*>(kPreferred + static_cast<std::uint64_t>(i) * kStep);
    void* const got =
        mmap(wanted, bytes, PROT_NONE, kFlags | (last ? 0 : MAP_FIXED_NOREPLACE), -1, 0);
    if (got != MAP_FAILED) return reinterpret_cast<std::uint64_t>(got);
  }
  return 0;
}

// The arenas of the process, and the signal handler that knows them. A signal handler has no other
// way to anything than through what belongs to the whole process.
class Guard {
 public:
  static Guard& instance() {
    static Guard guard;
    return guard;
  }

  void add(std::uint64_t begin, std::uint64_t end, const Layout& layout) {
    const std::lock_guard lock(mutex_);
    if (arenas_++ == 0) install();
    for (Entry& entry : entries_) {
      if (entry.begin.load() != 0) continue;
      entry.layout.store(&layout);
      entry.end.store(end);
      entry.begin.store(begin);
      return;
    }
    // More arenas than entries: the last ones do without the sentence.
  }

  void remove(std::uint64_t begin) {
    const std::lock_guard lock(mutex_);
    for (Entry& entry : entries_) {
      if (entry.begin.load() == begin) entry.begin.store(0);
    }
    if (--arenas_ == 0) uninstall();
  }

 private:
  struct Entry {
    std::atomic<std::uint64_t> begin = 0;  // 0: free
    std::atomic<std::uint64_t> end = 0;
    std::atomic<const Layout*> layout = nullptr;
  };

  void install() {
    if (installed_) return;
    sigaction(SIGSEGV, nullptr, &previous_);
    struct sigaction ours = {};
    ours.sa_sigaction = &Guard::on_fault;
    ours.sa_mask = previous_.sa_mask;
    // Where the thread has a stack for signals, one that has used up its own can still be told.
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &ours, nullptr);
    explain_addresses_by(&Guard::explain);
    installed_ = true;
  }

  // Somebody who has come in front of this handler keeps it as the one behind: it then stays, and
  // hands everything on.
  void uninstall() {
    struct sigaction current = {};
    sigaction(SIGSEGV, nullptr, &current);
    if ((current.sa_flags & SA_SIGINFO) == 0 || current.sa_sigaction != &Guard::on_fault) return;
    sigaction(SIGSEGV, &previous_, nullptr);
    installed_ = false;
  }

  static void on_fault(int signal, siginfo_t* info, void* context) {
    Guard& guard = instance();
    const bool faulted = info->si_code > 0;  // not sent by kill
    if (!faulted || !tell(reinterpret_cast<std::uint64_t>(info->si_addr))) {
      return guard.hand_on(signal, info, context);
    }
    sigaction(SIGSEGV, &guard.previous_, nullptr);
  }

  // Whether there is something to say of the address.
  static bool tell(std::uint64_t address) {
    SignalLine line;
    line << "gdakit: ";
    if (!explain(address, line)) return false;
    if (!has_told_crash()) line.write();
    return true;
  }

  // Whether the address lies in an arena.
  static bool explain(std::uint64_t address, SignalLine& line) {
    for (const Entry& entry : instance().entries_) {
      const std::uint64_t begin = entry.begin.load();
      if (begin == 0 || address < begin || address >= entry.end.load()) continue;
      const std::uint64_t offset = address - begin;
      line << "a kernel read or wrote simulated memory directly, at offset ";
      line.hex(offset);
      if (const Region* const region = entry.layout.load()->find(offset); region != nullptr) {
        line << " (" << std::string_view(region->name).substr(0, 80) << " +";
        line.hex(offset - region->begin) << ")";
      }
      line << ": use pe.machine().load_weak, store_weak or copy, or load and store with an order; "
              "outside of kernels, World::set and After::value\n";
      return true;
    }
    return false;
  }

  void hand_on(int signal, siginfo_t* info, void* context) {
    if ((previous_.sa_flags & SA_SIGINFO) != 0)
      return previous_.sa_sigaction(signal, info, context);
    if (previous_.sa_handler != SIG_DFL && previous_.sa_handler != SIG_IGN) {
      return previous_.sa_handler(signal);
    }
    // A fault happens again and then ends the program; a signal that was sent must be sent again.
    sigaction(SIGSEGV, &previous_, nullptr);
    if (info->si_code <= 0) raise(signal);
  }

  std::mutex mutex_;
  std::array<Entry, kTries> entries_;
  std::size_t arenas_ = 0;
  bool installed_ = false;
  struct sigaction previous_ = {};
};

}  // namespace

Arena::Arena(std::uint64_t bytes, const Layout& layout)
    : base_(0), bytes_((bytes + 4095) / 4096 * 4096) {
  base_ = reserve(bytes_);
  GDAKIT_ASSERT(base_ != 0);
  Guard::instance().add(base_, base_ + bytes_, layout);
}

Arena::~Arena() {
  Guard::instance().remove(base_);
  munmap(reinterpret_cast<void*>(base_), bytes_);
}

}  // namespace gdakit::sim
