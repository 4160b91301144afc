// A kernel that crashes while it is explored: who it was, and how to get back there.
#include <csignal>
#include <cstdint>
#include <string>
#include <sys/wait.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/annotate.h"
#include "tests/users/mail.h"

namespace gdakit::users {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::Truly;

// By the signal; the address sanitizer has a handler, which exits.
bool died_of_segv(int status) {
  const bool exited = WIFEXITED(status) && WEXITSTATUS(status) != 0;
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
  return kAddressSanitizer ? exited || killed : killed;
}

// Without the thread sanitizer's handler: it walks the stack, and faults itself where that is full.
template <class Act>
void crash(const Act& act) {
  if (kThreadSanitizer) std::signal(SIGSEGV, SIG_DFL);
  act();
}

constexpr std::uintptr_t kNowhere = 0x1230;

struct Touches {
  template <class Pe>
  void operator()(Pe& pe) const {
    if (pe.my_pe() != 1 || pe.thread_index() != 3) return;
    pe.machine().store_weak(reinterpret_cast<Word*>(kNowhere), 1);
  }
};

TEST(ExplorerCrashDeathTest, AWildPointerNamesTheThreadAndTheToken) {
  sim::World world("touches", {});
  world.launch({.blocks = 1, .threads = 4}, Touches{});
  EXPECT_EXIT(crash([&] { sim::explore_in_test(world); }), died_of_segv,
              ContainsRegex("gdakit explorer: touches, token m-1-0-[A-Za-z0-9_-]+: PE 1, block 0, "
                            "thread 3: wild pointer: it touched address 0x1230, where this process "
                            "has no memory"));
  EXPECT_EXIT(
      crash([&] { sim::explore_in_test(world, {.strategy = sim::StrategyKind::exhaustive}); }),
      died_of_segv,
      HasSubstr("touches, execution 0 of the exhaustive search: PE 1, block 0, thread 3: wild"));
}

// Crashes if PE 1 sees the flag without the data.
struct TakesWhatIsNotThere {
  Word* data;
  Word* flag;
  template <class Pe>
  void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      pe.put_value(flag, 1, 1);
      pe.put_value(data, 1, 1);
      return;
    }
    const bool told = m.load(order::Acquire<Scope::system>{}, flag) == 1;
    const bool there = m.load(order::RelaxedSystem{}, data) == 1;
    if (told && !there) m.store_weak(reinterpret_cast<Word*>(kNowhere), 1);
  }
};

TEST(ExplorerCrashDeathTest, TheTokenLeadsBackToTheCrash) {
  sim::World world("takes", {.expect_quiet = false});
  const TakesWhatIsNotThere kernel{world.allocate<Word>("data", 1),
                                   world.allocate<Word>("flag", 1, sim::RegionKind::signal)};
  world.launch({.blocks = 1, .threads = 1}, kernel);
  std::string token;
  EXPECT_EXIT(crash([&] { sim::explore_in_test(world); }), died_of_segv,
              Truly([&](const std::string& errors) {
                const std::size_t at = errors.find("token ");
                if (at != errors.npos) token = errors.substr(at + 6, errors.find(':', at) - at - 6);
                return !token.empty();
              }));
  ASSERT_NE(token.substr(0, 6), "m-1-0-") << "it should take a few executions";
  EXPECT_EXIT(crash([&] { sim::explore_in_test(world, {}, {.replay = token}); }), died_of_segv,
              AllOf(HasSubstr("takes, token " + token + ": PE 1, block 0, thread 0: wild"),
                    HasSubstr("address 0x1230")));
}

// The bytes are used behind the call, so that no frame can be left out.
template <class Machine>
[[gnu::noinline]] std::uint32_t descend(Machine& m, std::uint32_t depth) {
  std::uint32_t frame[256];
  for (std::uint32_t& word : frame) m.store_weak(&word, depth);
  const std::uint32_t below = depth == 0 ? 0 : descend(m, depth - 1);
  return below + m.load_weak(&frame[depth % 256]);
}

struct Descends {
  std::uint32_t depth;
  template <class Pe>
  void operator()(Pe& pe) const {
    descend(pe.machine(), depth);
  }
};

sim::Exploration descended(std::uint64_t stack_bytes) {
  sim::World world("descends", {.pes = 1, .stack_bytes = stack_bytes});
  world.launch({.blocks = 1, .threads = 1}, Descends{600});
  return sim::explore_in_test(world, {.schedules = 1});
}

TEST(ExplorerCrashDeathTest, AStackThatOverflowsNamesTheOption) {
  EXPECT_EXIT(crash([] { descended(64 * 1024); }), died_of_segv,
              AllOf(HasSubstr("PE 0, block 0, thread 0: stack overflow: its stack of "),
                    HasSubstr("make them smaller, or raise WorldOptions::stack_bytes\n"),
                    Not(HasSubstr("EMULATOR"))));
  EXPECT_TRUE(descended(1024 * 1024).passed());
}

}  // namespace
}  // namespace gdakit::users
