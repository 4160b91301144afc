// The worlds of docs/test-your-kernel.md, and that they are found to be what the guide says.
#include <filesystem>
#include <guides/test-your-kernel-1.inc>
#include <string>

#include <gtest/gtest-spi.h>

namespace {

// The test's working folder from now on, which goes with it.
class Folder {
 public:
  Folder() : before_(std::filesystem::current_path()) {
    if (::mkdtemp(name_.data()) != nullptr) std::filesystem::current_path(name_);
  }
  ~Folder() {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(name_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

 private:
  std::filesystem::path before_;
  std::string name_ = testing::TempDir() + "gdakit-guide-XXXXXX";
};

// The guide's first test fails, as it says.
#pragma push_macro("TEST")
#undef TEST
#define TEST(SUITE, NAME) void guide_##SUITE##_##NAME()
#include <guides/test-your-kernel-2.inc>
#pragma pop_macro("TEST")

TEST(TestYourKernel, ARelaxedFlagIsARace) {
  const Folder folder;
  EXPECT_NONFATAL_FAILURE(guide_MessagePassing_DataArrives(), "mail between blocks: race: ");
  EXPECT_TRUE(std::filesystem::exists("run.html"));
}

Mail make_mail(sim::World& world) {
  return {world.allocate<Word>("draft", 1), world.allocate<Word>("data", 1),
          world.allocate<Word>("flag", 1, sim::RegionKind::signal),
          world.allocate<Word>("taken", 1)};
}

TEST(TestYourKernel, AReleaseOfTooNarrowAScopeIsToldOf) {
  sim::World world("mail between blocks", {.pes = 1});
  const Mail mail = make_mail(world);
#include <guides/test-your-kernel-3.inc>
  const sim::Exploration found = sim::explore_in_test(world);
  ASSERT_FALSE(found.passed());
  EXPECT_NE(found.report().find("the release that covers it has scope block"), std::string::npos)
      << found.report();
}

struct BetweenPes {
  Mail mail;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
#include <guides/test-your-kernel-4.inc>
  }
};

TEST(TestYourKernel, ARelaxedLoadOfWhatTheNicWroteIsARace) {
  sim::World world("mail between PEs", {.pes = 2});
  world.launch({.blocks = 1, .threads = 1}, BetweenPes{make_mail(world)});
  const sim::Exploration found = sim::explore_in_test(world);
  ASSERT_FALSE(found.passed());
  EXPECT_EQ(found.failure->result.finding, sim::FindingKind::race) << found.report();
}

struct BetweenPesByWaiting {
  Mail mail;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(mail.draft, 42);
      pe.put_signal(mail.data, mail.draft, 1, mail.flag, 1, SignalOp::set, 1);
    } else if (pe.wait_until(mail.flag, Compare::eq, 1).ok()) {
      m.store_weak(mail.taken, m.load_weak(mail.data));
    }
  }
};

TEST(TestYourKernel, AWorldDrawsTheMachinesThatItNames) {
#include <guides/test-your-kernel-5.inc>
  const Mail mail = make_mail(world);
  world.launch({.blocks = 1, .threads = 1}, BetweenPesByWaiting{mail});
  world.check([=](sim::After& after) {
    after.expect(after.value(1, mail.taken) == 42, "PE 1 takes what PE 0 sent");
  });
  const sim::Exploration found = sim::explore_in_test(world);
  EXPECT_TRUE(found.passed()) << found.report();
}

}  // namespace
