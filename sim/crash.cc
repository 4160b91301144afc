#include "sim/crash.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "sim/thread.h"

namespace gdakit::sim {
namespace {

constexpr std::array kSignals{SIGSEGV, SIGBUS};

// What the program had before the first CrashWatch of the process.
struct Handlers {
  std::mutex mutex;
  std::size_t watches = 0;
  std::array<struct sigaction, kSignals.size()> before{};
};
Handlers handlers;

std::atomic<AddressTeller> address_teller = nullptr;
std::atomic<bool> has_told = false;
// A handler reads it, so its first use in a thread must not allocate.
[[gnu::tls_model("initial-exec")]] thread_local const CrashWatch* innermost = nullptr;

void name_thread(SignalLine& line, const Thread& thread) {
  line << innermost->origin() << ": ";
  if (thread.pe >= 0) line << "PE " << static_cast<std::uint64_t>(thread.pe) << ", ";
  line << "block " << thread.block_index << ", thread " << thread.thread_index << ": ";
}

// With an address.
std::string_view what_is_wrong(int signal, const siginfo_t& info) {
  if (signal == SIGBUS) return ", which cannot be touched: it is not aligned, or its file is short";
  if (info.si_code == SEGV_MAPERR) return ", where this process has no memory";
  if (info.si_code == SEGV_ACCERR) return ", which this process may not access so";
  return ", or one that no processor has";  // the system does not tell such an address
}

void tell(const Thread& thread, int signal, const siginfo_t& info) {
  const auto* const address = static_cast<const std::byte*>(info.si_addr);
  const auto number = reinterpret_cast<std::uintptr_t>(address);
  const AddressTeller teller = address_teller;
  SignalLine line;
  name_thread(line, thread);
  if (thread.stack.guards(address)) {
    line << "stack overflow: its stack of " << thread.stack.bytes
         << " bytes is full; a kernel's local arrays lie there: make them smaller, or raise "
         << thread.stack.option << "\n";
  } else if (teller == nullptr || !teller(number, line)) {
    line << "wild pointer: it touched address ";
    line.hex(number) << what_is_wrong(signal, info) << "\n";
  }
  line.write();
  has_told = true;
}

void on_crash(int signal, siginfo_t* info, void*) {
  const int code = errno;
  const bool is_fault = info->si_code > 0;  // else somebody has sent it
  const Thread* const thread = current_thread();
  if (is_fault && thread != nullptr && innermost != nullptr) tell(*thread, signal, *info);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (kSignals[i] == signal) ::sigaction(signal, &handlers.before[i], nullptr);
  }
  if (!is_fault) ::raise(signal);  // there is no instruction that would fault again
  errno = code;
}

void begin_watch() {
  const std::lock_guard lock(handlers.mutex);
  if (handlers.watches++ != 0) return;
  struct sigaction action {};
  action.sa_sigaction = on_crash;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &action, &handlers.before[i]);
  }
}

// A handler that the program has set meanwhile stays.
void end_watch() {
  const std::lock_guard lock(handlers.mutex);
  if (--handlers.watches != 0) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    struct sigaction now {};
    ::sigaction(kSignals[i], nullptr, &now);
    const bool is_ours = (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_crash;
    if (is_ours) ::sigaction(kSignals[i], &handlers.before[i], nullptr);
  }
}

// A stack that has overflown has no room for a handler. One for each OS thread, kept for its next
// launch.
stack_t signal_stack() {
  constexpr std::size_t kBytes = std::size_t{64} << 10;
  thread_local std::unique_ptr<std::byte[]> memory;
  if (memory == nullptr) memory.reset(new std::byte[kBytes]);  // not to be touched before its time
  stack_t stack{};
  stack.ss_sp = memory.get();
  stack.ss_size = kBytes;
  return stack;
}

}  // namespace

void explain_addresses_by(AddressTeller teller) { address_teller = teller; }

bool has_told_crash() { return has_told; }

CrashWatch::CrashWatch(std::string origin)
    : origin_(std::move(origin)), outer_(std::exchange(innermost, this)) {
  ::sigaltstack(nullptr, &before_);
  lent_ = (before_.ss_flags & SS_DISABLE) != 0;
  if (lent_) {
    const stack_t stack = signal_stack();
    ::sigaltstack(&stack, nullptr);
  }
  begin_watch();
}

CrashWatch::~CrashWatch() {
  innermost = outer_;
  end_watch();
  if (lent_) ::sigaltstack(&before_, nullptr);
}

}  // namespace gdakit::sim
