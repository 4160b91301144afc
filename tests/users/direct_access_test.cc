// A kernel that goes around the Machine is stopped with a sentence; every other fault stays as it
// was.
#include <atomic>
#include <csignal>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/users/mail.h"

namespace gdakit::users {
namespace {

using ::testing::Truly;

struct Writes {
  Word* data;
  template <class Pe>
  void operator()(Pe&) const {
    *data = 1;
  }
};
struct Reads {
  Word* data;
  Word* taken;
  template <class Pe>
  void operator()(Pe& pe) const {
    pe.machine().store_weak(taken, *data);
  }
};

TEST(DirectAccessDeathTest, OfAKernelIsNamed) {
  sim::World world("direct", {});
  auto* data = world.allocate<Word>("letters", 4);
  auto* taken = world.allocate<Word>("taken", 1);
  sim::World reading("direct", {});
  reading.allocate<Word>("letters", 4);
  reading.allocate<Word>("taken", 1);
  world.launch_on(0, {.blocks = 1, .threads = 1}, Writes{data + 1});
  reading.launch_on(0, {.blocks = 1, .threads = 1}, Reads{data + 3, taken});
  EXPECT_DEATH(sim::explore_in_test(world),
               "^gdakit explorer: direct, token [A-Za-z0-9_-]+: PE 0, block 0, thread 0: a kernel "
               "read or wrote simulated memory directly, at offset 0x[0-9a-f]+ "
               "\\(letters \\+0x8\\): use pe.machine\\(\\).load_weak, store_weak or copy");
  EXPECT_DEATH(sim::explore_in_test(reading), "\\(letters \\+0x18\\): use pe.machine");
}

TEST(DirectAccessDeathTest, OfAKernelHasOneSentence) {
  sim::World world("direct", {});
  world.launch_on(0, {.blocks = 1, .threads = 1}, Writes{world.allocate<Word>("letters", 1)});
  EXPECT_DEATH(sim::explore_in_test(world), Truly([](const std::string& errors) {
                 return errors.find("directly") == errors.rfind("directly");
               }));
}

TEST(DirectAccessDeathTest, OfTheTestItselfIsNamed) {
  sim::World world("direct", {});
  const auto* data = world.allocate<Word>("letters", 1);
  EXPECT_DEATH(static_cast<void>(std::atomic_ref(*const_cast<Word*>(data)).load()),
               "outside of kernels, World::set and After::value");
}

constexpr int kSeenElsewhere = 7;
void leave(int) { _exit(kSeenElsewhere); }
void leave_with_address(int, siginfo_t* info, void*) {
  _exit(info->si_addr != nullptr ? kSeenElsewhere : 1);
}

// Memory that is no arena and cannot be touched.
Word* forbidden_page() {
  return static_cast<Word*>(
      mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
}

struct sigaction handler_now() {
  struct sigaction now = {};
  sigaction(SIGSEGV, nullptr, &now);
  return now;
}

TEST(OtherFaultsDeathTest, GoToTheHandlerThatWasThereBefore) {
  const auto fault_with = [](struct sigaction handler) {
    sigaction(SIGSEGV, &handler, nullptr);
    const sim::World world("faults", {});
    std::atomic_ref(*forbidden_page()).store(1);
  };
  struct sigaction simple = {};
  simple.sa_handler = leave;
  EXPECT_EXIT(fault_with(simple), ::testing::ExitedWithCode(kSeenElsewhere), "^$");
  struct sigaction informed = {};
  informed.sa_sigaction = leave_with_address;
  informed.sa_flags = SA_SIGINFO;
  EXPECT_EXIT(fault_with(informed), ::testing::ExitedWithCode(kSeenElsewhere), "^$");
  struct sigaction none = {};
  none.sa_handler = SIG_DFL;
  EXPECT_EXIT(fault_with(none), ::testing::KilledBySignal(SIGSEGV), "^$");
}
TEST(OtherFaultsDeathTest, SignalThatIsSentEndsTheProgram) {
  const auto send = [] {
    struct sigaction none = {};
    none.sa_handler = SIG_DFL;
    sigaction(SIGSEGV, &none, nullptr);
    const sim::World world("faults", {});
    kill(getpid(), SIGSEGV);
    pause();
  };
  EXPECT_EXIT(send(), ::testing::KilledBySignal(SIGSEGV), "^$");
}
// The handler from before sees the access to the arena, too, after the sentence.
TEST(DirectAccessDeathTest, EndsAsTheHandlerFromBeforeWantsIt) {
  const auto fault = [] {
    struct sigaction simple = {};
    simple.sa_handler = leave;
    sigaction(SIGSEGV, &simple, nullptr);
    sim::World world("faults", {});
    std::atomic_ref(*world.allocate<Word>("word", 1)).store(1);
  };
  EXPECT_EXIT(fault(), ::testing::ExitedWithCode(kSeenElsewhere), "at offset .*word");
}

TEST(FaultHandler, IsThereWhileThereIsAWorld) {
  const struct sigaction before = handler_now();
  {
    const sim::World world("first", {});
    const struct sigaction during = handler_now();
    EXPECT_NE(during.sa_sigaction, before.sa_sigaction);
    { const sim::World second("second", {}); }
    EXPECT_EQ(handler_now().sa_sigaction, during.sa_sigaction);
  }
  EXPECT_EQ(handler_now().sa_sigaction, before.sa_sigaction);
  // The C library adds a flag of its own to whatever is set.
  constexpr int kOurs = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART;
  EXPECT_EQ(handler_now().sa_flags & kOurs, before.sa_flags & kOurs);
}
TEST(FaultHandler, IsGoneAfterWorldsOfManyThreads) {
  const struct sigaction before = handler_now();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 50; ++round) {
        sim::World world("short", {.pes = 1});
        world.launch({.blocks = 1, .threads = 1}, [](auto&) {});
        EXPECT_TRUE(sim::explore_in_test(world, {.schedules = 1}).passed());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(handler_now().sa_sigaction, before.sa_sigaction);
}
// More worlds than the handler has room to know: the sentence is missing, nothing else.
TEST(FaultHandler, StandsManyWorlds) {
  const struct sigaction before = handler_now();
  {
    std::vector<std::unique_ptr<sim::World>> worlds;
    for (int i = 0; i < 70; ++i) {
      worlds.push_back(std::make_unique<sim::World>("one", sim::WorldOptions{.pes = 1}));
    }
  }
  EXPECT_EQ(handler_now().sa_sigaction, before.sa_sigaction);
}

}  // namespace
}  // namespace gdakit::users
