// Message passing, the smallest kernel in which an order can be missing: one side writes data and
// then a flag, the other side waits for the flag and reads the data. Twice: between two PEs, and
// between two blocks of one GPU. Copy this file to begin tests of your own kernels;
// docs/test-your-kernel.md walks through it.
#include <cstdint>

#include <gtest/gtest.h>

#include "sim/test.h"

namespace {

using namespace gdakit;
using Word = std::uint64_t;

constexpr Word kLetter = 42;

// What the kernels work on. Every PE has its own copy of each at the same address.
struct Mail {
  Word* draft;
  Word* data;
  Word* flag;
  Word* taken;
};

Mail make_mail(sim::World& world) {
  Mail mail{};
  mail.draft = world.allocate<Word>("draft", 1);
  mail.data = world.allocate<Word>("data", 1);
  mail.flag = world.allocate<Word>("flag", 1, sim::RegionKind::signal);
  mail.taken = world.allocate<Word>("taken", 1);
  return mail;
}

// From PE 0 to PE 1. The NIC delivers a thread's puts in their order, so the flag comes after the
// data; `Look` is the order of the load that sees it come.
template <class Look>
struct BetweenPes {
  Mail mail;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(mail.draft, kLetter);
      pe.put_nbi(mail.data, mail.draft, 1, 1);
      pe.put_value(mail.flag, 1, 1);
      pe.quiet();
    } else {
      while (m.load(Look{}, mail.flag) == 0) m.spin(Site::user);
      m.store_weak(mail.taken, m.load_weak(mail.data));
    }
  }
};

// The same with nothing but gdakit's calls: wait_until has the order that the data needs.
struct BetweenPesByWaiting {
  Mail mail;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (pe.my_pe() == 0) {
      m.store_weak(mail.draft, kLetter);
      pe.put_signal(mail.data, mail.draft, 1, mail.flag, 1, SignalOp::set, 1);
    } else if (pe.wait_until(mail.flag, Compare::eq, 1).ok()) {
      m.store_weak(mail.taken, m.load_weak(mail.data));
    }
  }
};

sim::Exploration explore_pes(const sim::Knobs& machine, const auto& make_kernel) {
  sim::World world("mail between PEs", {.pes = 2, .base = machine});
  const Mail mail = make_mail(world);
  world.launch({.blocks = 1, .threads = 1}, make_kernel(mail));
  world.check([=](sim::After& after) {
    after.expect(after.value(1, mail.taken) == kLetter, "PE 1 takes what PE 0 sent");
  });
  return sim::explore_in_test(world);
}

template <class Look>
sim::Exploration explore_between_pes(const sim::Knobs& machine) {
  return explore_pes(machine, [](const Mail& mail) { return BetweenPes<Look>{mail}; });
}

TEST(MessagePassing, WithoutAcquireTheDataMayBeOld) {
  const sim::Exploration found = explore_between_pes<order::RelaxedSystem>(sim::hopper());
  ASSERT_FALSE(found.passed()) << found.report();
  EXPECT_EQ(found.failure->result.finding, sim::FindingKind::race) << found.report();
}
TEST(MessagePassing, WithAcquireOfTooNarrowAScopeTheDataMayBeOld) {
  const sim::Exploration found = explore_between_pes<order::Acquire<Scope::gpu>>(sim::hopper());
  ASSERT_FALSE(found.passed()) << found.report();
  EXPECT_EQ(found.failure->result.finding, sim::FindingKind::race) << found.report();
}
TEST(MessagePassing, WithAcquireTheDataArrives) {
  const sim::Exploration found = explore_between_pes<order::Acquire<Scope::system>>(sim::hopper());
  EXPECT_TRUE(found.passed()) << found.report();
}

// Before Hopper an acquire is not enough for what a NIC wrote.
TEST(MessagePassing, OnAmpereALoopOfOnesOwnMayReadOldData) {
  const sim::Exploration found = explore_between_pes<order::Acquire<Scope::system>>(sim::ampere());
  ASSERT_FALSE(found.passed()) << found.report();
  EXPECT_EQ(found.failure->result.finding, sim::FindingKind::race) << found.report();
}
TEST(MessagePassing, WaitUntilSuitsEveryGpu) {
  for (const sim::Knobs& machine : {sim::hopper(), sim::ampere()}) {
    const sim::Exploration found =
        explore_pes(machine, [](const Mail& mail) { return BetweenPesByWaiting{mail}; });
    EXPECT_TRUE(found.passed()) << found.report();
  }
}

// From block 0 to block 1 of one GPU; `Publish` is the order of the store that says "it is there".
template <class Publish>
struct BetweenBlocks {
  Mail mail;
  template <class Pe>
  GDAKIT_DEVICE void operator()(Pe& pe) const {
    auto& m = pe.machine();
    if (m.block_index() == 0) {
      m.store_weak(mail.data, kLetter);
      m.store(Publish{}, mail.flag, 1);
    } else {
      while (m.load(order::Acquire<Scope::gpu>{}, mail.flag) == 0) m.spin(Site::user);
      m.store_weak(mail.taken, m.load_weak(mail.data));
    }
  }
};

template <class Publish>
sim::Exploration explore_between_blocks() {
  sim::World world("mail between blocks", {.pes = 1});
  const Mail mail = make_mail(world);
  world.launch({.blocks = 2, .threads = 1}, BetweenBlocks<Publish>{mail});
  world.check([=](sim::After& after) {
    after.expect(after.value(0, mail.taken) == kLetter, "block 1 takes what block 0 wrote");
  });
  return sim::explore_in_test(world);
}

TEST(MessagePassing, WithoutReleaseTheDataMayBeOld) {
  const sim::Exploration found = explore_between_blocks<order::RelaxedGpu>();
  ASSERT_FALSE(found.passed()) << found.report();
  EXPECT_EQ(found.failure->result.finding, sim::FindingKind::race) << found.report();
}
TEST(MessagePassing, WithReleaseOfTooNarrowAScopeTheDataMayBeOld) {
  const sim::Exploration found = explore_between_blocks<order::Release<Scope::block>>();
  ASSERT_FALSE(found.passed()) << found.report();
  EXPECT_EQ(found.failure->result.finding, sim::FindingKind::race) << found.report();
}
TEST(MessagePassing, WithReleaseTheDataArrives) {
  const sim::Exploration found = explore_between_blocks<order::Release<Scope::gpu>>();
  EXPECT_TRUE(found.passed()) << found.report();
}

}  // namespace
