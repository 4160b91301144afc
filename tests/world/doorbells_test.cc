#include "sim/world/doorbells.h"

#include <memory>

#include <gtest/gtest.h>

#include "core/format/doorbell.h"
#include "tests/world/nic_rig.h"

namespace gdakit::sim::test {
namespace {

constexpr std::uint32_t kRegister = format::kUarDoorbellBegin;

// Doorbells of two threads of one GPU to one NIC.
struct Bells {
  explicit Bells(Strategy& strategy, const Knobs& given = {})
      : knobs(given), memory(64, names), chooser(strategy) {
    chooser.begin();
    memory.begin({}, chooser, nullptr);
    thread = memory.add_agent({0, 0, false});
    neighbour = memory.add_agent({1, 0, false});
    nic = memory.add_agent({9, 9, true});
    doorbells = std::make_unique<Doorbells>(memory, chooser, knobs, nic, 0);
  }

  void store(weak::AgentId agent, std::uint64_t value, std::uint32_t offset = kRegister) {
    doorbells->store(agent, 1, offset, value);
  }
  std::uint64_t deliver(std::uint32_t index = 0) {
    const auto arrived = doorbells->deliver(index);
    return arrived ? arrived->value : 0;
  }

  struct NoNames final : weak::Names {
    std::string place(weak::Address) const override { return "a word"; }
    std::string agent(weak::AgentId) const override { return "an agent"; }
  } names;
  Knobs knobs;
  weak::Memory memory;
  Chooser chooser;
  weak::AgentId thread = 0, neighbour = 0, nic = 0;
  std::unique_ptr<Doorbells> doorbells;
};

TEST(Doorbells, CarryPageOffsetAndValue) {
  Script plain;
  Bells bells(plain);
  EXPECT_TRUE(bells.doorbells->empty());
  bells.doorbells->store(bells.thread, 3, kRegister + 8, 0x1234);
  ASSERT_EQ(bells.doorbells->deliverable(), 1u);
  const auto arrived = bells.doorbells->deliver(0);
  ASSERT_TRUE(arrived);
  EXPECT_EQ(arrived->uar, 3u);
  EXPECT_EQ(arrived->offset, kRegister + 8);
  EXPECT_EQ(arrived->value, 0x1234u);
  EXPECT_TRUE(bells.doorbells->empty());
}

TEST(Doorbells, OfOneThreadToOneRegisterStayInOrder) {
  Script plain;
  Bells bells(plain);
  bells.store(bells.thread, 1);
  bells.store(bells.thread, 2);
  EXPECT_EQ(bells.doorbells->deliverable(), 1u);
  EXPECT_EQ(bells.deliver(), 1u);
  EXPECT_EQ(bells.deliver(), 2u);
}

TEST(Doorbells, ToDifferentRegistersOrPagesDoNot) {
  Script plain;
  Bells bells(plain);
  bells.store(bells.thread, 1);
  bells.store(bells.thread, 2, kRegister + 8);
  bells.doorbells->store(bells.thread, 2, kRegister, 3);
  ASSERT_EQ(bells.doorbells->deliverable(), 3u);
  EXPECT_EQ(bells.deliver(2), 3u);
  EXPECT_EQ(bells.deliver(1), 2u);
  EXPECT_EQ(bells.deliver(0), 1u);
}

TEST(Doorbells, BehindAReleaseThatReachesTheNicStayInOrder) {
  for (const Scope scope : {Scope::gpu, Scope::system}) {
    Script plain;
    Bells bells(plain);
    bells.store(bells.thread, 1);
    bells.memory.fence(bells.thread, weak::Sem::release, scope);
    bells.store(bells.thread, 2, kRegister + 8);
    EXPECT_EQ(bells.doorbells->deliverable(), scope == Scope::system ? 1u : 2u);
  }
}

TEST(Doorbells, OfTwoThreadsToOneRegisterAreInOrderOnlyIfTheSecondKnowsOfTheFirst) {
  for (const bool knows : {false, true}) {
    Script plain;
    Bells bells(plain);
    bells.store(bells.thread, 1);
    if (knows) bells.memory.join(bells.neighbour, bells.thread);
    bells.store(bells.neighbour, 2);
    EXPECT_EQ(bells.doorbells->deliverable(), knows ? 1u : 2u);
  }
}

// Reads, as the NIC, what the thread wrote before it rang; 0 picks the newest, all others older.
std::uint64_t oldest_read(bool releases) {
  Script oldest(
      [](Choice kind, std::uint32_t count) { return kind == Choice::load ? count - 1 : 0; });
  Bells bells(oldest);
  bells.memory.store(bells.thread, 0, 8, 7, {.sem = weak::Sem::relaxed});
  if (releases) bells.memory.fence(bells.thread, weak::Sem::release, Scope::system);
  bells.store(bells.thread, 1);
  bells.deliver();
  return bells.memory.load(bells.nic, 0, 8, {.sem = weak::Sem::relaxed});
}

TEST(Doorbells, BringWhatWasReleasedBeforeThem) {
  EXPECT_EQ(oldest_read(true), 7u);
  EXPECT_EQ(oldest_read(false), 0u);
}

TEST(Doorbells, AreLostOnlyByTheKnobAndOnlyByChoice) {
  Knobs knobs;
  knobs.doorbell_loss = DoorbellLoss::lost;
  Script loses([](Choice kind, std::uint32_t) { return kind == Choice::fault ? 1u : 0u; });
  Script keeps;
  Bells lost(loses, knobs);
  lost.store(lost.thread, 1);
  EXPECT_FALSE(lost.doorbells->deliver(0));
  EXPECT_TRUE(lost.doorbells->empty());
  lost.store(lost.thread, 2);
  EXPECT_TRUE(lost.doorbells->deliver(0, /*surely=*/true));
  Bells kept(keeps, knobs);
  kept.store(kept.thread, 1);
  EXPECT_EQ(kept.deliver(), 1u);
  Bells safe(loses);
  safe.store(safe.thread, 1);
  EXPECT_EQ(safe.deliver(), 1u);
}

TEST(Doorbells, AreOverwrittenOnlyByAnotherOneToTheSameRegister) {
  Knobs knobs;
  knobs.doorbell_merge = DoorbellMerge::merge;
  Script merges([](Choice kind, std::uint32_t) { return kind == Choice::fault ? 1u : 0u; });
  Bells bells(merges, knobs);
  bells.store(bells.thread, 1);
  bells.store(bells.thread, 2);
  EXPECT_FALSE(bells.doorbells->deliver(0));
  EXPECT_EQ(bells.deliver(), 2u) << "the newest one stays";
  bells.store(bells.thread, 3);
  bells.store(bells.thread, 4, kRegister + 8);
  EXPECT_EQ(bells.deliver(), 3u) << "another register overwrites nothing";
}

}  // namespace
}  // namespace gdakit::sim::test
