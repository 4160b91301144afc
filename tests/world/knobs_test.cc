#include "sim/world/knobs.h"

#include <set>

#include <gtest/gtest.h>

#include "sim/world/world.h"
#include "tests/world/nic_rig.h"

namespace gdakit::sim::test {
namespace {

TEST(Knobs, TheTableHoldsEveryKnobWithItsDefaultFirst) {
  EXPECT_EQ(knob_table().size(), kKnobCount);
  const Knobs defaults;
  for (std::size_t i = 0; i < kKnobCount; ++i) {
    const KnobRow& row = knob_row(static_cast<Knob>(i));
    EXPECT_EQ(row.get(defaults), 0u) << row.name;
    EXPECT_GE(row.values.size(), 2u) << row.name;
    EXPECT_FALSE(row.sentence.empty()) << row.name;
    EXPECT_FALSE(row.fact.empty()) << row.name;
  }
}

TEST(Knobs, EveryValueOfEveryKnobCanBeSetReadAndDescribed) {
  for (const KnobRow& row : knob_table()) {
    for (std::uint32_t value = 0; value < row.values.size(); ++value) {
      Knobs knobs;
      ASSERT_TRUE(set_knob(knobs, row.name, row.values[value]));
      EXPECT_EQ(row.get(knobs), value) << row.name;
      const auto texts = describe(knobs);
      if (value == 0) {
        EXPECT_TRUE(texts.empty());
        EXPECT_EQ(knobs, Knobs{});
      } else {
        ASSERT_EQ(texts.size(), 1u);
        EXPECT_EQ(texts[0], std::string(row.name) + "=" + std::string(row.values[value]));
      }
    }
  }
}

TEST(Knobs, AnUnknownNameOrValueIsAnErrorThatListsTheKnownOnes) {
  Knobs knobs;
  const Result<> name = set_knob(knobs, "dma_atoms", "8");
  ASSERT_FALSE(name);
  EXPECT_NE(name.error().message().find("dma_atom_bytes"), std::string::npos);
  const Result<> value = set_knob(knobs, "inbound_order", "some");
  ASSERT_FALSE(value);
  EXPECT_NE(value.error().message().find("all, owner, none"), std::string::npos);
  EXPECT_EQ(knobs, Knobs{});
}

TEST(Knobs, PresetsOfGpusDifferInWhatTheyKeepInOrder) {
  ASSERT_TRUE(knobs_of_gpu("hopper"));
  EXPECT_EQ(*knobs_of_gpu("hopper"), hopper());
  EXPECT_FALSE(needs_cst(hopper()));
  ASSERT_TRUE(knobs_of_gpu("ampere"));
  EXPECT_TRUE(needs_cst(*knobs_of_gpu("ampere")));
  EXPECT_FALSE(knobs_of_gpu("volta"));
}

TEST(Knobs, DrawsNothingButTheAllowedKnobs) {
  Script never([](Choice, std::uint32_t) -> std::uint32_t {
    ADD_FAILURE() << "nothing is to be chosen";
    return 0;
  });
  Chooser chooser(never);
  chooser.begin();
  EXPECT_EQ(draw(chooser, ampere(), {}), ampere());

  std::vector<std::uint32_t> counts;
  Script last([&counts](Choice kind, std::uint32_t count) {
    EXPECT_EQ(kind, Choice::knob);
    counts.push_back(count);
    return count - 1;
  });
  Chooser second(last);
  second.begin();
  const Knobs drawn = draw(second, hopper(), {Knob::read_order, Knob::inbound_order});
  EXPECT_EQ(counts, (std::vector<std::uint32_t>{2, 3}));
  Knobs expected;
  expected.read_order = ReadOrder::ascending;
  expected.inbound_order = InboundOrder::none;
  EXPECT_EQ(drawn, expected);
}

// Whatever the base is: pick 0 is the base's value, and all picks together are all values.
TEST(Knobs, PickZeroIsTheBasesOwnValueAndTheOthersAreAllOthers) {
  for (const KnobRow& row : knob_table()) {
    for (std::uint32_t own = 0; own < row.values.size(); ++own) {
      Knobs base;
      base.record_read = RecordRead::recovery;
      row.set(base, own);
      std::set<std::uint32_t> seen;
      for (std::uint32_t pick = 0; pick < row.values.size(); ++pick) {
        Script script([pick](Choice, std::uint32_t) { return pick; });
        Chooser chooser(script);
        chooser.begin();
        KnobSet one;
        one.bits = 1u << static_cast<unsigned>(row.knob);
        const Knobs drawn = draw(chooser, base, one);
        if (pick == 0) {
          EXPECT_EQ(drawn, base) << row.name;
        }
        seen.insert(row.get(drawn));
      }
      EXPECT_EQ(seen.size(), row.values.size()) << row.name;
    }
  }
}

TEST(Knobs, ALossThatTheNicCouldNeverFindOutIsNotDrawn) {
  const KnobSet both{Knob::record_read, Knob::doorbell_loss};
  for (std::uint32_t record = 0; record < 4; ++record) {
    std::uint32_t turn = 0;
    Script script([&](Choice, std::uint32_t) { return turn++ == 0 ? record : 1; });
    Chooser chooser(script);
    chooser.begin();
    const Knobs drawn = draw(chooser, hopper(), both);
    EXPECT_EQ(drawn.doorbell_loss, DoorbellLoss::lost);
    EXPECT_NE(drawn.record_read, RecordRead::late);
    EXPECT_NE(drawn.record_read, RecordRead::never);
  }
}

TEST(Knobs, ARecordThatIsNeverReadIsNotWhatDoorbellsSendTheNicTo) {
  Script script([](Choice, std::uint32_t count) { return count - 1; });
  Chooser chooser(script);
  chooser.begin();
  const Knobs drawn = draw(chooser, hopper(), KnobSet{Knob::record_read, Knob::doorbell_producer});
  EXPECT_EQ(drawn.doorbell_producer, DoorbellProducer::record);
  EXPECT_NE(drawn.record_read, RecordRead::never);
}

TEST(Knobs, WorldsDrawAllOfNicsAndNothingOfTheGpu) {
  const KnobSet drawn = WorldOptions{}.knobs;
  for (const Knob knob : {Knob::dma_atom_bytes, Knob::payload_write_order, Knob::record_read,
                          Knob::doorbell_loss, Knob::device_native_atomics, Knob::wire_loss}) {
    EXPECT_TRUE(drawn.has(knob)) << knob_row(knob).name;
  }
  for (const Knob knob : {Knob::inbound_order, Knob::gpu_scope_reaches_nic, Knob::signal_path,
                          Knob::cqe_bytes, Knob::early_acks, Knob::placement}) {
    EXPECT_FALSE(drawn.has(knob)) << knob_row(knob).name;
  }
}

}  // namespace
}  // namespace gdakit::sim::test
