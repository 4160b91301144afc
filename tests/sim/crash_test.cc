#include "sim/crash.h"

#include <csignal>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>

#include "tests/sim/run.h"

namespace gdakit::sim {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

// How a program ends that has no handler: by the signal. The address sanitizer has one, which
// exits.
bool died_of_segv(int status) {
  const bool exited = WIFEXITED(status) && WEXITSTATUS(status) != 0;
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
  return kAddressSanitizer ? exited || killed : killed;
}

constexpr EmulatorOptions kPe1{.pe = 1};

// Runs `act` in one thread of many.
template <class Act>
void in_a_thread(const Act& act, const EmulatorOptions& options = kPe1) {
  run(
      {3, 40},
      [&](HostMachine& m) {
        if (m.block_index() == 2 && m.thread_index() == 37) act(m);
      },
      options);
}

// The same, for an `act` that ends the program. Without the thread sanitizer's handler: it walks
// the stack and faults itself where that is full.
template <class Act>
void crash_in_a_thread(const Act& act, const EmulatorOptions& options = kPe1) {
  if (kThreadSanitizer) std::signal(SIGSEGV, SIG_DFL);
  in_a_thread(act, options);
}

void touch(HostMachine& m, std::uintptr_t address) {
  m.store(kRelaxed, reinterpret_cast<std::uint32_t*>(address), 1);
}

// Fills frame upon frame. Each one is changed by the call below it, so that none can be left out.
// Nothing but these frames may fill the stack: the thread sanitizer's functions take locks, and
// where one of them faults with such a lock, the handler that calls the next waits for ever.
[[gnu::noinline, gnu::no_sanitize_thread]] void descend(std::uint32_t* above, std::uint32_t depth) {
  std::uint32_t frame[256];
  for (std::uint32_t& word : frame) word = above[depth % 256];
  if (depth != 0) descend(frame, depth - 1);
  above[depth % 256] += frame[(depth + 1) % 256];
}

void overflow(HostMachine&) {
  std::uint32_t first[256] = {};
  descend(first, 1000);
}

template <std::size_t kBytes>
[[gnu::noinline]] void use_array(HostMachine& m) {
  std::uint32_t array[kBytes / sizeof(std::uint32_t)];
  m.store(kRelaxed, &array[0], 1);
}

TEST(CrashWatchDeathTest, AStackThatOverflowsNamesTheThreadAndTheOption) {
  EXPECT_EXIT(crash_in_a_thread(overflow), died_of_segv,
              HasSubstr("gdakit emulator: PE 1, block 2, thread 37: stack overflow: its stack of " +
                        std::to_string(kDefaultStackBytes) +
                        " bytes is full; a kernel's local "
                        "arrays lie there: make them smaller, or raise GDAKIT_EMULATOR_STACK"));
}

TEST(CrashWatchDeathTest, AnArrayThatIsLargerThanTheStackIsAnOverflowToo) {
  const EmulatorOptions small{.stacks = {.bytes = 64 * 1024}, .pe = 1};
  EXPECT_EXIT(crash_in_a_thread(use_array<1000 * 1024>, small), died_of_segv,
              HasSubstr("PE 1, block 2, thread 37: stack overflow: its stack of 65536 bytes"));
  in_a_thread(use_array<1000 * 1024>, {.stacks = {.bytes = 1200 * 1024}, .pe = 1});
}

TEST(CrashWatchDeathTest, AWildPointerNamesTheThreadAndTheAddress) {
  // A sanitizer that has a handler adds its own report.
  const char* const also = kAddressSanitizer ? "ERROR: AddressSanitizer: SEGV" : "";
  EXPECT_EXIT(crash_in_a_thread([](HostMachine& m) { touch(m, 0x1230); }), died_of_segv,
              AllOf(HasSubstr("gdakit emulator: PE 1, block 2, thread 37: wild pointer: it touched "
                              "address 0x1230, where this process has no memory"),
                    HasSubstr(also)));
  EXPECT_EXIT(crash_in_a_thread([](HostMachine& m) { touch(m, std::uintptr_t{1} << 62); }),
              died_of_segv,
              HasSubstr("PE 1, block 2, thread 37: wild pointer: it touched address"));
}

TEST(CrashWatchDeathTest, OfAKernelWithoutAPeItNamesTheThread) {
  EXPECT_EXIT(crash_in_a_thread([](HostMachine& m) { touch(m, 0x1230); }, {.workers = 2}),
              died_of_segv, HasSubstr("gdakit emulator: block 2, thread 37: wild pointer"));
}

void say_and_exit(int, siginfo_t* info, void*) {
  const bool told = reinterpret_cast<std::uintptr_t>(info->si_addr) == 0x1230;
  static_cast<void>(!::write(STDERR_FILENO, "the program's own", 17));
  ::_exit(told ? 7 : 1);
}

void set_handler(int signal) {
  struct sigaction action {};
  action.sa_sigaction = say_and_exit;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(signal, &action, nullptr);
}

TEST(CrashWatchDeathTest, AHandlerOfTheProgramsOwnGetsTheSignalBehindTheSentence) {
  EXPECT_EXIT(
      {
        set_handler(SIGSEGV);
        in_a_thread([](HostMachine& m) { touch(m, 0x1230); });
      },
      testing::ExitedWithCode(7), ContainsRegex("wild pointer: .*the program's own"));
}

TEST(CrashWatchDeathTest, AFaultOfAnotherThreadIsLeftAlone) {
  EXPECT_EXIT(
      {
        set_handler(SIGSEGV);
        in_a_thread([](HostMachine&) {
          std::thread([] {
            reinterpret_cast<std::uint32_t*>(0x1230)[std::thread::hardware_concurrency() * 0] = 1;
          }).join();
        });
      },
      testing::ExitedWithCode(7), Not(HasSubstr("emulator")));
}

TEST(CrashWatchDeathTest, ASignalThatSomebodySendsEndsTheProgramWithoutASentence) {
  EXPECT_EXIT(crash_in_a_thread([](HostMachine&) { std::raise(SIGSEGV); }), died_of_segv,
              Not(HasSubstr("pointer: it")));
}

// The handler of a signal as a word that can be compared.
bool is_handled_by(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction now {};
  ::sigaction(signal, nullptr, &now);
  return (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == handler;
}

TEST(CrashWatch, PutsBackWhatTheProgramHad) {
  struct sigaction before {};
  set_handler(SIGSEGV);
  ::sigaction(SIGBUS, nullptr, &before);
  bool watched = false;
  in_a_thread([&](HostMachine&) { watched = !is_handled_by(SIGSEGV, say_and_exit); });
  EXPECT_TRUE(watched);
  EXPECT_TRUE(is_handled_by(SIGSEGV, say_and_exit));
  struct sigaction after {};
  ::sigaction(SIGBUS, nullptr, &after);
  EXPECT_EQ(after.sa_sigaction, before.sa_sigaction);
  // What the program sets meanwhile stays.
  in_a_thread([&](HostMachine&) { set_handler(SIGBUS); });
  EXPECT_TRUE(is_handled_by(SIGBUS, say_and_exit));
  ::sigaction(SIGBUS, &before, nullptr);
  ::signal(SIGSEGV, SIG_DFL);
}

TEST(CrashWatch, KeepsAStackForSignalsThatTheThreadHas) {
  stack_t before{};
  ::sigaltstack(nullptr, &before);
  alignas(16) static std::byte memory[64 * 1024];
  stack_t mine{};
  mine.ss_sp = memory;
  mine.ss_size = sizeof memory;
  ASSERT_EQ(::sigaltstack(&mine, nullptr), 0);
  stack_t within{};
  in_a_thread([&](HostMachine&) { ::sigaltstack(nullptr, &within); });
  EXPECT_EQ(within.ss_sp, static_cast<void*>(memory));
  ::sigaltstack(&before, nullptr);
  in_a_thread([&](HostMachine&) { ::sigaltstack(nullptr, &within); });
  EXPECT_EQ(within.ss_flags & SS_DISABLE, 0);
  stack_t after{};
  ::sigaltstack(nullptr, &after);
  EXPECT_EQ(after.ss_flags & SS_DISABLE, before.ss_flags & SS_DISABLE);
}

}  // namespace
}  // namespace gdakit::sim
