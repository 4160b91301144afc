#include "sim/world/nic_agent.h"

#include <gtest/gtest.h>

#include "core/format/cqe.h"
#include "core/format/doorbell.h"
#include "tests/world/nic_rig.h"

namespace gdakit::sim::test {
namespace {

format::CqeTail tail_of(NicRig& rig, std::uint32_t pe) {
  return {rig.load(pe, NicRig::kCqe + format::kCqeTailOffset, weak::Sem::acquire)};
}

// Thread 0 puts eight bytes from its heap to PE 1's.
void post_put(NicRig& rig, std::uint64_t value) {
  rig.store(0, NicRig::kHeap, value);
  rig.post(0, format::Opcode::rdma_write,
           {rig.remote(NicRig::kHeap + 64), rig.local(NicRig::kHeap, 8)});
}

TEST(NicAgent, PutsDataAndCompletesIt) {
  NicRig rig;
  Script plain;
  Chooser chooser(plain);
  chooser.begin();
  rig.begin(chooser);
  EXPECT_FALSE(rig.has_work());
  EXPECT_EQ(tail_of(rig, 0).opcode(), format::CqeOpcode::invalid);
  post_put(rig, 0x1122334455667788);
  EXPECT_TRUE(rig.nics[0]->has_work(0));
  EXPECT_FALSE(rig.nics[1]->has_work(0));
  rig.run();
  const format::CqeTail tail = tail_of(rig, 0);
  EXPECT_EQ(tail.opcode(), format::CqeOpcode::requester);
  EXPECT_EQ(tail.wqe_counter(), 0);
  EXPECT_EQ(rig.load(1, NicRig::kHeap + 64, weak::Sem::relaxed), 0x1122334455667788u);
  EXPECT_EQ(rig.memory.finding(), FindingKind::none) << rig.memory.finding_text();
}

TEST(NicAgent, GetsDataAndFetches) {
  NicRig rig;
  Script plain;
  Chooser chooser(plain);
  chooser.begin();
  rig.begin(chooser);
  rig.store(1, NicRig::kHeap + 64, 77, weak::Sem::relaxed);
  rig.post(0, format::Opcode::rdma_read,
           {rig.remote(NicRig::kHeap + 64), rig.local(NicRig::kHeap, 8)});
  rig.post(
      0, format::Opcode::atomic_fa,
      {rig.remote(NicRig::kSignal), format::to_segment(format::AtomicSegment{Be64{5}, Be64{0}}),
       rig.local(NicRig::kHeap + 8, 8)});
  rig.run();
  EXPECT_EQ(tail_of(rig, 0).wqe_counter(), 1);
  EXPECT_EQ(rig.load(0, NicRig::kHeap), 77u);
  EXPECT_EQ(rig.load(0, NicRig::kHeap + 8), 0u);
  EXPECT_EQ(rig.load(1, NicRig::kSignal, weak::Sem::relaxed), 5u);
  EXPECT_EQ(rig.memory.finding(), FindingKind::none) << rig.memory.finding_text();
}

// Whatever the NICs choose: a thread that has acquired the CQE may reuse what it put, and the data
// is that of the put.
TEST(NicAgent, AnyOrderOfItsWorkGivesTheSamePut) {
  std::uint64_t state = 1;
  Script random([&state](Choice kind, std::uint32_t count) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    // Thread 1 reads the newest values.
    return kind == Choice::load ? 0 : static_cast<std::uint32_t>((state >> 33) % count);
  });
  for (const auto record_read :
       {RecordRead::early, RecordRead::late, RecordRead::recovery, RecordRead::never}) {
    NicRig rig;
    rig.knobs.record_read = record_read;
    for (int i = 0; i < 200; ++i) {
      Chooser chooser(random);
      chooser.begin();
      rig.begin(chooser);
      post_put(rig, 41);
      while (tail_of(rig, 0).opcode() == format::CqeOpcode::invalid) {
        ASSERT_TRUE(rig.has_work());
        for (auto& nic : rig.nics) {
          if (nic->can_go(0)) nic->go(0);
        }
      }
      rig.store(0, NicRig::kHeap, 42);
      rig.run();
      EXPECT_EQ(rig.load(1, NicRig::kHeap + 64, weak::Sem::relaxed), 41u);
      EXPECT_EQ(rig.memory.finding(), FindingKind::none) << rig.memory.finding_text();
    }
  }
}

TEST(NicAgent, ReleasesAtGpuScopeReachItOnlyIfTheKnobSaysSo) {
  for (const auto reaches : {YesNo::no, YesNo::yes}) {
    Knobs knobs;
    knobs.gpu_scope_reaches_nic = reaches;
    NicRig rig(knobs);
    Layout all_gpu;
    for (const Region& region : rig.layout.regions()) {
      if (region.owner == Owner::gpu) all_gpu.add(region);
    }
    EXPECT_EQ(nic_scope(knobs, rig.layout), Scope::system) << "some of its memory is the host's";
    EXPECT_EQ(nic_scope(knobs, all_gpu), reaches == YesNo::yes ? Scope::gpu : Scope::system);
    rig.layout = all_gpu;
    Script plain;
    Chooser chooser(plain);
    chooser.begin();
    rig.begin(chooser);
    rig.store(0, NicRig::kHeap, 9);
    rig.write_wqe(0, format::Opcode::rdma_write,
                  {rig.remote(NicRig::kHeap + 64), rig.local(NicRig::kHeap, 8)});
    rig.release(0, Scope::gpu);
    rig.store_record(0);
    rig.release(0, Scope::gpu);
    rig.ring(0);
    rig.run();
    const auto expected = reaches == YesNo::yes ? FindingKind::none : FindingKind::race;
    EXPECT_EQ(rig.memory.finding(), expected) << rig.memory.finding_text();
  }
}

TEST(NicAgent, ALostDoorbellIsFoundInTheRecordUnlessTheKnobForbidsIt) {
  for (const auto record_read :
       {RecordRead::early, RecordRead::late, RecordRead::recovery, RecordRead::never}) {
    NicRig rig;
    rig.knobs.record_read = record_read;
    rig.knobs.doorbell_loss = DoorbellLoss::lost;
    Script loses([](Choice kind, std::uint32_t) { return kind == Choice::fault ? 1u : 0u; });
    Chooser chooser(loses);
    chooser.begin();
    rig.begin(chooser);
    post_put(rig, 3);
    rig.run();
    EXPECT_EQ(tail_of(rig, 0).opcode(), format::CqeOpcode::invalid);
    EXPECT_EQ(rig.nics[0]->can_go(0), record_read == RecordRead::early);
    const bool found = rig.nics[0]->idle_turn(0);
    EXPECT_EQ(found, record_read == RecordRead::early || record_read == RecordRead::recovery);
    rig.run();
    EXPECT_EQ(tail_of(rig, 0).opcode(),
              found ? format::CqeOpcode::requester : format::CqeOpcode::invalid);
    EXPECT_FALSE(rig.nics[0]->idle_turn(0)) << "nothing is left to be found";
  }
}

TEST(NicAgent, LooksAtRecordsEarlyOnlyAfterSomethingWasWritten) {
  NicRig rig;
  Script plain;
  Chooser chooser(plain);
  chooser.begin();
  rig.begin(chooser);
  for (int i = 0; i < 20 && rig.nics[0]->can_go(0); ++i) rig.nics[0]->go(0);
  EXPECT_FALSE(rig.nics[0]->can_go(0));
  rig.write_wqe(0, format::Opcode::nop, {});
  rig.release(0);
  rig.store_record(0);
  EXPECT_TRUE(rig.nics[0]->can_go(0));
  EXPECT_FALSE(rig.nics[0]->has_work(0));
  for (int i = 0; i < 50 && rig.nics[0]->can_go(0); ++i) rig.nics[0]->go(0);
  EXPECT_EQ(tail_of(rig, 0).opcode(), format::CqeOpcode::requester) << "no doorbell was rung";
  EXPECT_EQ(rig.memory.finding(), FindingKind::none) << rig.memory.finding_text();
}

TEST(NicAgent, GoesByTheDoorbellOrByTheRecordAlone) {
  for (const auto producer : {DoorbellProducer::doorbell, DoorbellProducer::record}) {
    NicRig rig;
    rig.knobs.doorbell_producer = producer;
    rig.knobs.record_read = RecordRead::late;
    Script plain;
    Chooser chooser(plain);
    chooser.begin();
    rig.begin(chooser);
    rig.write_wqe(0, format::Opcode::nop, {});
    rig.release(0);
    rig.ring(0);
    rig.run();
    const bool done = tail_of(rig, 0).opcode() == format::CqeOpcode::requester;
    EXPECT_EQ(done, producer == DoorbellProducer::doorbell);
    rig.store_record(0);
    rig.release(0);
    rig.ring(0);
    rig.run();
    EXPECT_EQ(tail_of(rig, 0).opcode(), format::CqeOpcode::requester);
  }
}

// An old index in the doorbell is healed by the record, unless nobody reads that.
TEST(NicAgent, ADoorbellWithAnOldIndexHangsWhereRecordsAreNeverRead) {
  for (const auto record_read : {RecordRead::late, RecordRead::never}) {
    NicRig rig;
    rig.knobs.record_read = record_read;
    Script plain;
    Chooser chooser(plain);
    chooser.begin();
    rig.begin(chooser);
    rig.write_wqe(0, format::Opcode::nop, {});
    rig.release(0);
    rig.store_record(0);
    rig.release(0);
    rig.ring(0, /*producer=*/0);
    rig.run();
    const bool done = tail_of(rig, 0).opcode() == format::CqeOpcode::requester;
    EXPECT_EQ(done, record_read == RecordRead::late);
  }
}

// A doorbell that comes while the record is being read makes the NIC read it again.
TEST(NicAgent, ADoorbellDuringAReadOfTheRecordIsNotForgotten) {
  NicRig rig;
  rig.knobs.doorbell_producer = DoorbellProducer::record;
  rig.knobs.record_read = RecordRead::late;
  bool doorbells_first = false;
  Script script([&](Choice kind, std::uint32_t count) {
    return kind == Choice::delivery && doorbells_first ? count - 1 : 0;
  });
  Chooser chooser(script);
  chooser.begin();
  rig.begin(chooser);
  rig.write_wqe(0, format::Opcode::nop, {});
  rig.release(0);
  rig.ring(0);
  // The doorbell, the engine's step, and the read of a record that says nothing yet.
  for (int i = 0; i < 3; ++i) rig.nics[0]->go(0);
  rig.store_record(0);
  rig.release(0);
  rig.ring(0);
  doorbells_first = true;
  rig.nics[0]->go(0);
  doorbells_first = false;
  rig.run();
  EXPECT_EQ(tail_of(rig, 0).opcode(), format::CqeOpcode::requester);
}

TEST(NicAgent, TracesShowDoorbellDmaAndPackets) {
  NicRig rig;
  Script plain;
  Chooser chooser(plain);
  chooser.begin();
  Trace trace;
  rig.begin(chooser, &trace);
  post_put(rig, 8);
  rig.run();
  std::set<EventKind> kinds;
  std::set<std::string> places;
  for (const Event& event : trace.events) {
    kinds.insert(event.kind);
    places.insert(event.where);
  }
  for (const EventKind kind :
       {EventKind::doorbell, EventKind::dma_read, EventKind::dma_write, EventKind::packet}) {
    EXPECT_TRUE(kinds.count(kind)) << static_cast<int>(kind);
  }
  EXPECT_TRUE(places.count("PE 0 queue 0 WQE 0 +16"));
  EXPECT_TRUE(places.count("PE 1 heap +0x40"));
  EXPECT_TRUE(places.count("PE 0 queue 0 CQE +56"));
}

TEST(NicAgent, LostPacketsAreSentAgainWhenTheirTimeHasCome) {
  NicRig rig;
  rig.knobs.wire_loss = YesNo::yes;
  int faults = 0;
  Script loses_first([&faults](Choice kind, std::uint32_t) {
    return kind == Choice::fault && faults++ == 0 ? 1u : 0u;
  });
  Chooser chooser(loses_first);
  chooser.begin();
  rig.begin(chooser);
  post_put(rig, 6);
  rig.run();
  EXPECT_EQ(tail_of(rig, 0).opcode(), format::CqeOpcode::invalid);
  const auto timer = rig.nics[0]->next_timer_ns();
  ASSERT_TRUE(timer);
  EXPECT_FALSE(rig.nics[0]->has_work(*timer - 1));
  EXPECT_TRUE(rig.nics[0]->has_work(*timer));
  rig.nics[0]->go(*timer);
  for (int i = 0; i < 100; ++i) {
    for (auto& nic : rig.nics) {
      if (nic->has_work(*timer)) nic->go(*timer);
    }
  }
  EXPECT_EQ(tail_of(rig, 0).opcode(), format::CqeOpcode::requester);
}

}  // namespace
}  // namespace gdakit::sim::test
