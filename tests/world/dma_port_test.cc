#include "sim/world/dma_port.h"

#include <cstring>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/world/port_rig.h"

namespace gdakit::sim::test {
namespace {

using softnic::DmaOp;

TEST(SimDma, ReadsWhatItWroteAtAnyPlaceInAnySizeAndAtom) {
  for (const std::uint8_t atom : {1, 2, 4, 8, 16, 32, 64}) {
    for (std::size_t offset = 0; offset < 9; ++offset) {
      for (const std::size_t size : {1, 2, 3, 7, 8, 9, 17, 64, 70}) {
        Knobs knobs;
        knobs.dma_atom_bytes = atom;
        Script last([](Choice kind, std::uint32_t count) {
          return kind == Choice::delivery ? count - 1 : 0;
        });
        Port port(last, knobs);
        const std::vector<std::uint8_t> sent = pattern(size);
        port.dma->write(port.rig.at(NicRig::kHeap + offset), sent.data(), size);
        std::vector<std::uint8_t> got(size + 2, 0xee);
        const DmaOp op = port.dma->read(got.data() + 1, port.rig.at(NicRig::kHeap + offset), size);
        EXPECT_FALSE(port.dma->done(op));
        while (port.dma->pending()) port.dma->advance();
        EXPECT_TRUE(port.dma->done(op));
        EXPECT_EQ(got.front(), 0xee);
        EXPECT_EQ(got.back(), 0xee);
        EXPECT_EQ(std::memcmp(got.data() + 1, sent.data(), size), 0)
            << "atom " << int(atom) << " offset " << offset << " size " << size;
        EXPECT_EQ(port.rig.memory.finding(), FindingKind::none);
      }
    }
  }
}

TEST(SimDma, CutsReadsAtTheBordersOfAtoms) {
  for (const auto& [atom, steps] : {std::pair{1, 64}, {4, 16}, {8, 8}, {16, 4}, {64, 1}}) {
    Knobs knobs;
    knobs.dma_atom_bytes = static_cast<std::uint8_t>(atom);
    Script plain;
    Port port(plain, knobs);
    std::uint8_t buffer[64];
    port.dma->read(buffer, port.rig.at(NicRig::kHeap), sizeof buffer);
    int taken = 0;
    for (; port.dma->pending(); ++taken) port.dma->advance();
    EXPECT_EQ(taken, steps);
  }
}

TEST(SimDma, TakesThePartsOfReadsInAnyOrderOrInTurn) {
  for (const ReadOrder order : {ReadOrder::any, ReadOrder::ascending}) {
    Knobs knobs;
    knobs.read_order = order;
    std::vector<std::uint32_t> counts;
    Script script([&counts](Choice kind, std::uint32_t count) {
      if (kind == Choice::delivery) counts.push_back(count);
      return 0u;
    });
    Port port(script, knobs);
    std::uint64_t words[3];
    port.dma->read(words, port.rig.at(NicRig::kHeap), 16);
    port.dma->read(words + 2, port.rig.at(NicRig::kHeap + 64), 8);
    while (port.dma->pending()) port.dma->advance();
    const std::vector<std::uint32_t> open = {3, 2};
    EXPECT_EQ(counts, order == ReadOrder::any ? open : std::vector<std::uint32_t>{});
  }
}

// An atom of 16 bytes is taken at one moment, two of 8 bytes are not.
TEST(SimDma, OthersMayWriteBetweenAtoms) {
  for (const std::uint8_t atom : {8, 16}) {
    Knobs knobs;
    knobs.dma_atom_bytes = atom;
    Script plain;
    Port port(plain, knobs);
    std::uint64_t words[2] = {};
    port.dma->read(words, port.rig.at(NicRig::kHeap), sizeof words);
    port.dma->advance();
    port.rig.store(0, NicRig::kHeap + 8, 5, weak::Sem::relaxed);
    port.dma->finish();
    EXPECT_EQ(words[1], atom == 8 ? 5u : 0u);
  }
}

TEST(SimDma, AFenceIsDoneWhenTheReadsBeforeItAre) {
  Script last(
      [](Choice kind, std::uint32_t count) { return kind == Choice::delivery ? count - 1 : 0; });
  Port port(last);
  EXPECT_EQ(port.dma->fence().id, 0u) << "nothing to wait for";
  std::uint64_t words[2];
  const DmaOp first = port.dma->read(&words[0], port.rig.at(NicRig::kHeap), 8);
  const DmaOp fence = port.dma->fence();
  const DmaOp second = port.dma->read(&words[1], port.rig.at(NicRig::kHeap), 8);
  port.dma->advance();
  EXPECT_TRUE(port.dma->done(second));
  EXPECT_FALSE(port.dma->done(first));
  EXPECT_FALSE(port.dma->done(fence));
  const DmaOp third = port.dma->read(&words[1], port.rig.at(NicRig::kHeap), 8);
  port.dma->finish();
  EXPECT_TRUE(port.dma->done(first));
  EXPECT_TRUE(port.dma->done(fence));
  EXPECT_TRUE(port.dma->done(third));
  EXPECT_EQ(port.dma->completions(), 3u);
}

TEST(SimDma, AFenceDoesNotWaitForLaterReads) {
  Script plain;
  Port port(plain);
  std::uint64_t words[2];
  port.dma->read(&words[0], port.rig.at(NicRig::kHeap), 8);
  const DmaOp fence = port.dma->fence();
  const DmaOp second = port.dma->read(&words[1], port.rig.at(NicRig::kHeap), 8);
  port.dma->advance();
  EXPECT_TRUE(port.dma->done(fence));
  EXPECT_FALSE(port.dma->done(second));
  port.dma->finish();
}

TEST(SimDma, NothingIsWrittenAfterAbandon) {
  Script plain;
  Port port(plain);
  port.write_word(NicRig::kHeap, 9);
  std::uint64_t word = 1;
  port.dma->read(&word, port.rig.at(NicRig::kHeap), 8);
  port.dma->abandon();
  EXPECT_FALSE(port.dma->pending());
  EXPECT_EQ(port.dma->fence().id, 0u);
  EXPECT_EQ(word, 1u);
}

TEST(SimDma, AnAccessOutsideOfItsMemoryIsAFinding) {
  std::uint64_t word = 7;
  Script plain;
  const auto finding = [&](std::uint64_t offset, bool writes) {
    Port port(plain);
    if (writes) {
      port.dma->write(port.rig.at(offset), &word, 8);
    } else {
      const DmaOp op = port.dma->read(&word, port.rig.at(offset), 8);
      EXPECT_EQ(op.id != 0, port.rig.memory.finding() == FindingKind::none);
    }
    port.dma->finish();
    return port.rig.memory.finding();
  };
  for (const bool writes : {false, true}) {
    EXPECT_EQ(finding(NicRig::kHeap, writes), FindingKind::none);
    EXPECT_EQ(finding(NicRig::kBytes - 8, writes), FindingKind::stray) << "in no region";
    EXPECT_EQ(finding(NicRig::kBytes, writes), FindingKind::stray) << "in no PE's memory";
    EXPECT_EQ(finding(NicRig::kHeap + NicRig::kHeapBytes - 4, writes), FindingKind::stray)
        << "half outside";
    EXPECT_EQ(finding(std::uint64_t{0} - 0x1000, writes), FindingKind::stray) << "below";
  }
}

// A write comes after an atomic that is still under way.
TEST(SimDma, ReadsOfRecordsAcquireInOnePieceAndOthersDoNot) {
  for (const std::uint64_t offset : {NicRig::kRecord, NicRig::kHeap}) {
    const bool is_record = offset == NicRig::kRecord;
    const auto seen = outcomes([&](Chooser& chooser) {
      Knobs knobs;
      knobs.dma_atom_bytes = 1;
      knobs.read_order = ReadOrder::ascending;
      Port port(chooser, knobs);
      NicRig& rig = port.rig;
      rig.store(0, NicRig::kHeap + 64, 7, weak::Sem::relaxed);
      rig.memory.store(rig.threads[0], rig.model(0, offset), 4, 0x01010101,
                       {.sem = weak::Sem::release});
      std::uint32_t word = 0;
      port.dma->read(&word, rig.at(offset), sizeof word);
      int atoms = 0;
      for (; port.dma->pending(); ++atoms) port.dma->advance();
      EXPECT_EQ(atoms, is_record ? 1 : 4);
      if (word != 0x01010101) return std::string("not yet");
      return std::to_string(port.read_word(NicRig::kHeap + 64));
    });
    EXPECT_TRUE(seen.count("7"));
    EXPECT_EQ(seen.count("0"), is_record ? 0u : 1u);
  }
}

TEST(SimDma, PrefetchesTheNextWqeAndNobodyWaitsForIt) {
  for (const Prefetch prefetch : {Prefetch::off, Prefetch::on}) {
    Knobs knobs;
    knobs.wqe_prefetch = prefetch;
    knobs.dma_atom_bytes = 64;
    for (const std::uint64_t offset : {NicRig::kSlots, NicRig::kSlots + 0x1c0, NicRig::kHeap}) {
      Script plain;
      Trace trace;
      Port port(plain, knobs, &trace);
      std::uint8_t wqe[64];
      const DmaOp op = port.dma->read(wqe, port.rig.at(offset), sizeof wqe);
      port.dma->advance();
      EXPECT_TRUE(port.dma->done(op));
      const bool prefetches = prefetch == Prefetch::on && offset != NicRig::kHeap;
      EXPECT_EQ(port.dma->pending(), prefetches) << offset;
      EXPECT_EQ(port.dma->fence().id, 0u);
      port.dma->finish();
      const std::string last = trace.events.back().where;
      if (prefetches) {
        EXPECT_EQ(last, offset == 0 ? "PE 0 queue 0 WQE 1 +56" : "PE 0 queue 0 WQE 0 +56");
      }
    }
  }
}

TEST(SimDma, SaysWhatItWillTouchIfThereIsOnlyOneThing) {
  Script plain;
  Port port(plain);
  std::uint64_t words[2];
  port.dma->read(words, port.rig.at(NicRig::kHeap + 8), 8);
  EXPECT_EQ(port.dma->next().kind, NextStep::Kind::load);
  EXPECT_EQ(port.dma->next().object, (NicRig::kHeap + 8) / 8);
  port.dma->read(words + 1, port.rig.at(NicRig::kHeap), 8);
  EXPECT_EQ(port.dma->next().kind, NextStep::Kind::unknown);
  port.dma->finish();
}

}  // namespace
}  // namespace gdakit::sim::test
