// Writes, atomics and flushes of SimDma: sim/world/dma_write.cc.
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/format/cqe.h"
#include "tests/world/port_rig.h"

namespace gdakit::sim::test {
namespace {

using softnic::DmaOp;

TEST(SimDma, CopiesWithinMemory) {
  Script plain;
  Port port(plain);
  port.write_word(NicRig::kHeap, 9);
  port.dma->copy(port.rig.at(NicRig::kHeap + 64), port.rig.at(NicRig::kHeap), 8);
  EXPECT_EQ(port.read_word(NicRig::kHeap + 64), 9u);
}

TEST(SimDma, WritesACqeWithItsTail) {
  for (const CqeBytes bytes : {CqeBytes::in_order, CqeBytes::any}) {
    Knobs knobs;
    knobs.cqe_bytes = bytes;
    Script plain;
    Port port(plain, knobs);
    const std::vector<std::uint8_t> sent = pattern(64);
    format::Cqe64 cqe;
    std::memcpy(&cqe, sent.data(), sizeof cqe);
    port.dma->write_cqe(port.rig.at(NicRig::kCqe), cqe);
    for (std::uint64_t word = 0; word < 8; ++word) {
      std::uint64_t expected = 0;
      std::memcpy(&expected, sent.data() + 8 * word, 8);
      EXPECT_EQ(port.rig.load(0, NicRig::kCqe + 8 * word, weak::Sem::acquire), expected);
    }
  }
}

TEST(SimDma, PerformsAtomicsOfFourAndEightBytes) {
  for (const YesNo native : {YesNo::yes, YesNo::no}) {
    Knobs knobs;
    knobs.device_native_atomics = native;
    Script plain;
    Port port(plain, knobs);
    const auto perform = [&](const softnic::AtomicRequest& request) {
      std::uint64_t old = ~std::uint64_t{0};
      const DmaOp op = port.dma->atomic(port.rig.at(NicRig::kSignal), request, &old);
      EXPECT_EQ(op.id == 0, native == YesNo::yes);
      port.dma->finish();
      EXPECT_TRUE(port.dma->done(op));
      return old;
    };
    softnic::AtomicRequest add;
    add.swap_add = 0x1'0000'0005;
    EXPECT_EQ(perform(add), 0u);
    EXPECT_EQ(port.read_word(NicRig::kSignal), 0x1'0000'0005u);
    softnic::AtomicRequest exclusive_or = add;
    exclusive_or.boundary = ~std::uint64_t{0};
    exclusive_or.swap_add = 0xf;
    EXPECT_EQ(perform(exclusive_or), 0x1'0000'0005u);
    EXPECT_EQ(port.read_word(NicRig::kSignal), 0x1'0000'000au);
    softnic::AtomicRequest swap;
    swap.kind = softnic::AtomicKind::compare_swap;
    swap.compare = 0x0a;
    swap.compare_mask = 0xff;
    swap.swap_add = 0x22;
    swap.swap_mask = 0xf0;
    EXPECT_EQ(perform(swap), 0x1'0000'000au);
    EXPECT_EQ(port.read_word(NicRig::kSignal), 0x1'0000'002au);
    EXPECT_EQ(perform(swap), 0x1'0000'002au) << "the comparison fails";
    EXPECT_EQ(port.read_word(NicRig::kSignal), 0x1'0000'002au);
    softnic::AtomicRequest add4;
    add4.size = 4;
    add4.swap_add = 0xffff'fffe;
    EXPECT_EQ(perform(add4), 0x2au);
    EXPECT_EQ(port.read_word(NicRig::kSignal), 0x1'0000'0028u) << "the upper half stays";
  }
}

TEST(SimDma, KeepsSplitAtomicsBeforeLaterWrites) {
  Knobs knobs;
  knobs.device_native_atomics = YesNo::no;
  Script plain;
  Port port(plain, knobs);
  softnic::AtomicRequest add;
  add.swap_add = 1;
  std::uint64_t old[2] = {9, 9};
  port.dma->atomic(port.rig.at(NicRig::kSignal), add, &old[0]);
  port.dma->atomic(port.rig.at(NicRig::kSignal), add, &old[1]);
  EXPECT_TRUE(port.dma->pending());
  port.write_word(NicRig::kHeap, 1);
  EXPECT_FALSE(port.dma->pending());
  EXPECT_EQ(old[0], 0u);
  EXPECT_EQ(old[1], 1u);
}

TEST(SimDma, ReadsPushItsOwnWritesAndNoOthers) {
  for (const bool relaxed : {false, true}) {
    const auto seen = outcomes([&](Chooser& chooser) {
      Knobs knobs;
      if (relaxed) knobs.inbound_order = InboundOrder::none;
      Port port(chooser, knobs);
      port.write_word(NicRig::kHeap, 1);
      port.rig.store(1, NicRig::kHeap + 8, 1, weak::Sem::relaxed);
      return std::to_string(port.read_word(NicRig::kHeap)) +
             std::to_string(port.read_word(NicRig::kHeap + 8));
    });
    EXPECT_EQ(seen, (std::set<std::string>{"10"})) << "thread 1 stores in PE 1";
  }
  const auto seen = outcomes([&](Chooser& chooser) {
    Knobs knobs;
    knobs.inbound_order = InboundOrder::none;
    Port port(chooser, knobs);
    port.write_word(NicRig::kHeap, 1);
    port.rig.store(0, NicRig::kHeap + 8, 1, weak::Sem::relaxed);
    return std::to_string(port.read_word(NicRig::kHeap)) +
           std::to_string(port.read_word(NicRig::kHeap + 8));
  });
  EXPECT_EQ(seen, (std::set<std::string>{"10", "11"}));
}

TEST(SimDma, AFlushCoversWhatWasWrittenBeforeItWentOut) {
  const auto run = [](bool flushes) {
    return outcomes([&](Chooser& chooser) {
      Knobs knobs;
      knobs.inbound_order = InboundOrder::none;
      Port port(chooser, knobs);
      std::uint64_t dumped = 0;
      port.write_word(NicRig::kHeap, 1);
      if (flushes) port.dma->read(&dumped, port.rig.at(NicRig::kSink), 8);
      port.write_word(NicRig::kHeap + 64, 1);
      while (port.dma->pending()) port.dma->advance();
      format::Cqe64 cqe{};
      cqe.op_own = 1;
      port.dma->write_cqe(port.rig.at(NicRig::kCqe), cqe);
      const std::uint64_t tail = port.rig.load(0, NicRig::kCqe + 56, weak::Sem::acquire);
      if (tail == 0) return std::string("not yet");
      return std::to_string(port.rig.load(0, NicRig::kHeap, weak::Sem::relaxed)) +
             std::to_string(port.rig.load(0, NicRig::kHeap + 64, weak::Sem::relaxed));
    });
  };
  EXPECT_EQ(run(false), (std::set<std::string>{"00", "01", "10", "11", "not yet"}));
  EXPECT_EQ(run(true), (std::set<std::string>{"10", "11", "not yet"}));
}

TEST(SimDma, AFlushTakesWhatItCoversOffTheListOfItsOwnWrites) {
  // Once flushed, a word that somebody else has written since may be read old again.
  const auto seen = outcomes([](Chooser& chooser) {
    Knobs knobs;
    knobs.inbound_order = InboundOrder::none;
    Port port(chooser, knobs);
    port.write_word(NicRig::kHeap, 1);
    port.read_word(NicRig::kSink);
    port.rig.store(0, NicRig::kHeap, 2, weak::Sem::relaxed);
    return std::to_string(port.read_word(NicRig::kHeap));
  });
  EXPECT_EQ(seen, (std::set<std::string>{"1", "2"}));
}

TEST(SimDma, AFlushKeepsWhatWasWrittenWhileItWasUnderWayOnThatList) {
  const auto seen = outcomes([](Chooser& chooser) {
    Knobs knobs;
    knobs.inbound_order = InboundOrder::none;
    Port port(chooser, knobs);
    std::uint64_t dumped = 0;
    port.dma->read(&dumped, port.rig.at(NicRig::kSink), 8);
    port.write_word(NicRig::kHeap, 1);
    while (port.dma->pending()) port.dma->advance();
    return std::to_string(port.read_word(NicRig::kHeap));
  });
  EXPECT_EQ(seen, (std::set<std::string>{"1"}));
}

TEST(SimDma, HasOnlyTheAgentsThatTheKnobsCallFor) {
  const auto agents = [](const Knobs& knobs, bool relaxed_region) {
    Script plain;
    Chooser chooser(plain);
    chooser.begin();
    NicRig rig(knobs);
    Layout layout;
    for (Region region : rig.layout.regions()) {
      if (relaxed_region && region.kind == RegionKind::heap) region.inbound = Inbound::relaxed;
      layout.add(region);
    }
    rig.begin(chooser, nullptr, true);
    const std::size_t before = rig.memory.agent_count();
    const SimDma dma(rig.memory, chooser, knobs, rig.space, layout, rig.port_place(0));
    return rig.memory.agent_count() - before;
  };
  EXPECT_EQ(agents({}, false), 1u);
  EXPECT_EQ(agents({}, true), 2u);
  EXPECT_EQ(agents(ampere(), false), 2u);
  Knobs split;
  split.signal_path = SignalPath::split;
  EXPECT_EQ(agents(split, false), 2u);
  split.payload_write_order = PayloadOrder::relaxed;
  EXPECT_EQ(agents(split, false), 3u);
}

}  // namespace
}  // namespace gdakit::sim::test
