// Several NICs as one backend: who is asked what, and what becomes of the answers.
#include "core/host/nic_set.h"

#include <array>
#include <string>
#include <vector>

#include <gmock/gmock.h>

#include "core/host/memory/host_memory.h"
#include "core/host/nic_keys.h"
#include "tests/support/fake_nic.h"

namespace gdakit {
namespace {

using test::fake_nics;
using test::FakeNic;
using test::FakeNics;
using test::FakeOwner;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

template <class T>
std::string refusal_of(const Result<T>& result) {
  return result ? "none" : result.error().message();
}

class NicSetTest : public testing::Test {
 protected:
  static constexpr std::uint32_t kNics = 3;

  FakeNic& nic(std::uint32_t place) { return *set_.nics[place]; }
  Backend& set() { return *set_.backend; }
  QueueResources queue_of(std::uint32_t place) {
    QueueMemory memory;
    memory.nic = place;
    const auto made = set().create_queue(memory);
    EXPECT_TRUE(made) << refusal_of(made);
    return made ? *made : QueueResources{};
  }

  FakeNics set_ = fake_nics(kNics, 0);
};

TEST_F(NicSetTest, NumbersQueuesByTheirNics) {
  // Each NIC numbers its own from 1 on.
  EXPECT_EQ(queue_of(0).number, 1 * kNics + 0);
  EXPECT_EQ(queue_of(2).number, 1 * kNics + 2);
  EXPECT_EQ(queue_of(2).number, 2 * kNics + 2);
  EXPECT_EQ(queue_of(1).number, 1 * kNics + 1);
  EXPECT_EQ(FakeOwner::of(queue_of(1).qpn).place, 1u) << "what a queue is made of is its NIC's";
  for (std::uint32_t place = 0; place < kNics; ++place) EXPECT_FALSE(nic(place).queues().empty());
}

TEST_F(NicSetTest, AsksTheNicOfAQueueAlone) {
  const QueueResources first = queue_of(1);
  const QueueResources second = queue_of(1);
  EXPECT_TRUE(set().connect_queue(second.number, first.card));
  EXPECT_TRUE(set().destroy_queue(second.number));
  EXPECT_THAT(nic(1).notes(),
              ElementsAre("create_queue", "create_queue", "connect_queue 2", "destroy_queue 2"));
  EXPECT_THAT(nic(0).notes(), IsEmpty());
  EXPECT_THAT(nic(2).notes(), IsEmpty());
  EXPECT_EQ(set().describe_queue(first.number), "NIC 1: queue 1 is fine");
}

TEST_F(NicSetTest, ErrorsOfAQueueNameItsNic) {
  const QueueResources queue = queue_of(2);
  const QueueResources other = queue_of(0);
  EXPECT_THAT(refusal_of(set().connect_queue(queue.number, other.card)), HasSubstr("NIC 2: "));
  nic(2).refuse("destroy_queue");
  EXPECT_EQ(refusal_of(set().destroy_queue(queue.number)), "NIC 2: refused destroy_queue");
  nic(1).refuse("create_queue");
  QueueMemory memory;
  memory.nic = 1;
  EXPECT_EQ(refusal_of(set().create_queue(memory)), "NIC 1: refused create_queue");
  EXPECT_EQ(refusal_of(set().destroy_queue(7 * kNics + 1)), "NIC 1: there is no queue 7");
}

TEST_F(NicSetTest, TellsOfAllBrokenQueuesByItsOwnNumbers) {
  EXPECT_THAT(set().broken_queues(), IsEmpty());
  nic(0).broken_ = {{5, "flushed"}};
  nic(2).broken_ = {{5, "access"}, {6, "length"}};
  nic(1).recordless_ = {9};
  const std::vector<BrokenQueue> broken = set().broken_queues();
  ASSERT_EQ(broken.size(), 3u);
  EXPECT_EQ(broken[0].number, 5 * kNics);
  EXPECT_EQ(broken[0].why, "NIC 0: flushed");
  EXPECT_EQ(broken[1].number, 5 * kNics + 2);
  EXPECT_EQ(broken[1].why, "NIC 2: access");
  EXPECT_EQ(broken[2].number, 6 * kNics + 2);
  EXPECT_THAT(set().recordless_queues(), ElementsAre(9 * kNics + 1));
}

TEST_F(NicSetTest, LimitsAreThoseThatAllKeep) {
  EXPECT_EQ(set().limits().nics, kNics);
  EXPECT_TRUE(set().limits().has_dc && set().limits().device_rings && set().limits().direct_peers);
  EXPECT_FALSE(set().limits().needs_cst || set().limits().on_bus || set().limits().auto_direct);
  EXPECT_FALSE(set().limits().has_recordless) << "none has";
  for (FakeNic* const each : set_.nics) {
    each->limits_.auto_direct = each->limits_.has_recordless = true;
  }
  EXPECT_TRUE(set().limits().auto_direct && set().limits().has_recordless);
  BackendLimits& one = nic(1).limits_;
  one = {.max_message_bytes = 4096, .max_queue_depth = 64, .needs_cst = true};
  one.device_rings = one.direct_peers = false;
  one.on_bus = true;
  nic(2).limits_.max_queue_depth = 32;
  const BackendLimits all = set().limits();
  EXPECT_EQ(all.max_message_bytes, 4096u);
  EXPECT_EQ(all.max_queue_depth, 32u);
  EXPECT_TRUE(all.needs_cst && all.on_bus);
  EXPECT_FALSE(all.device_rings || all.direct_peers || all.auto_direct);
  EXPECT_FALSE(all.has_dc || all.has_recordless);
  EXPECT_EQ(all.nics, kNics);
}

TEST_F(NicSetTest, CountersAreTheSum) {
  for (std::uint32_t place = 0; place < kNics; ++place) {
    NicCounters& of_nic = nic(place).count_.nic;
    of_nic.doorbells = 1 + place;
    of_nic.rx_write_requests = 10;
    of_nic.dc_key_violations = 100;
    QueueCounters of_queue;
    of_queue.doorbells = place;
    nic(place).count_.queues = {{4, of_queue}};
  }
  EXPECT_EQ(set().counters().doorbells, 6u);
  EXPECT_EQ(set().counters().dc_key_violations, 300u) << "what belongs to no queue, too";
  const NicCount count = set().count();
  EXPECT_EQ(count.counts, Counts::each_queue);
  EXPECT_EQ(count.nic.rx_write_requests, 30u);
  ASSERT_EQ(count.queues.size(), kNics);
  EXPECT_EQ(count.queues[2].number, 4 * kNics + 2);
  EXPECT_EQ(count.queues[2].counters.doorbells, 2u);
}

TEST_F(NicSetTest, CountsWhatAllNicsCount) {
  for (FakeNic* const each : set_.nics) {
    each->count_.nic.doorbells = 1;
    each->count_.nic.rx_write_requests = 2;
    QueueCounters of_queue;
    of_queue.doorbells = 1;
    each->count_.queues = {{4, of_queue}};
  }
  nic(1).count_.counts = Counts::together;
  NicCount count = set().count();
  EXPECT_EQ(count.counts, Counts::together);
  EXPECT_EQ(count.nic.rx_write_requests, 6u);
  EXPECT_EQ(count.nic.doorbells, 0u) << "NIC 1 does not count them";
  EXPECT_EQ(set().counters().doorbells, 0u) << "nor does the whole";
  ASSERT_EQ(count.queues.size(), kNics) << "each may be broken";
  for (const QueueCount& queue : count.queues) EXPECT_EQ(queue.counters.doorbells, 0u);
  nic(2).count_.counts = Counts::nothing;
  count = set().count();
  EXPECT_EQ(count.counts, Counts::nothing);
  EXPECT_EQ(count.nic.rx_write_requests, 0u);
}

TEST_F(NicSetTest, SaysThatKeysAndTargetsAreEachNicsOwn) {
  int word = 0;
  for (const std::string& refusal :
       {refusal_of(set().register_memory(&word, sizeof word, MemoryUse::local)),
        refusal_of(set().deregister_memory({})), refusal_of(set().dc_target()),
        refusal_of(set().dc_address({}))}) {
    EXPECT_THAT(refusal, HasSubstr("ask nic(i)"));
  }
  for (std::uint32_t place = 0; place < kNics; ++place) {
    EXPECT_EQ(&set().nic(place), &nic(place));
    EXPECT_THAT(nic(place).notes(), IsEmpty());
  }
}

TEST_F(NicSetTest, SharesTheHeapByOneAfterTheOther) {
  HostMemoryProvider memory;
  auto range = memory.reserve(1 << 16);
  ASSERT_TRUE(range);
  EXPECT_TRUE(set().share_heap(**range));
  nic(1).refuse("share_heap");
  EXPECT_EQ(refusal_of(set().share_heap(**range)), "NIC 1: refused share_heap");
  EXPECT_THAT(nic(0).notes(), ElementsAre("share_heap", "share_heap"));
  EXPECT_THAT(nic(2).notes(), ElementsAre("share_heap")) << "it fails on all PEs here";
}

TEST_F(NicSetTest, AllAreToldOfTheEnd) {
  set().begin_end();
  for (FakeNic* const each : set_.nics) EXPECT_THAT(each->notes(), ElementsAre("begin_end"));
}

TEST_F(NicSetTest, PausesAllOrNone) {
  EXPECT_TRUE(set().pause());
  EXPECT_TRUE(set().resume());
  for (FakeNic* const each : set_.nics) EXPECT_THAT(each->notes(), ElementsAre("pause", "resume"));
  nic(1).refuse("pause");
  EXPECT_EQ(refusal_of(set().pause()), "refused pause");
  EXPECT_THAT(nic(0).notes(), ElementsAre("pause", "resume", "pause", "resume"));
  EXPECT_THAT(nic(2).notes(), ElementsAre("pause", "resume"));
  nic(0).refuse("resume");
  EXPECT_EQ(refusal_of(set().resume()), "refused resume");
  EXPECT_THAT(nic(2).notes(), ElementsAre("pause", "resume", "resume")) << "the others go on";
}

class CountingEngine final : public ProgressEngine {
 public:
  explicit CountingEngine(bool changes) : changes_(changes) {}
  bool progress() override {
    ++asked;
    return changes_;
  }
  int asked = 0;

 private:
  const bool changes_;
};

// Of two NICs.
std::unique_ptr<Backend> set_with(ProgressEngine* first, ProgressEngine* second) {
  std::vector<std::unique_ptr<Backend>> nics;
  for (ProgressEngine* const engine : {first, second}) {
    auto nic = std::make_unique<FakeNic>(0, 0);
    nic->engine_ = engine;
    nics.push_back(std::move(nic));
  }
  return make_nic_set(std::move(nics));
}

TEST(NicSet, ThreadsThatWaitHelpAllNicsThatCanBeHelped) {
  CountingEngine idle(false);
  CountingEngine busy(true);
  EXPECT_EQ(set_with(nullptr, nullptr)->progress_engine(), nullptr);
  const auto both = set_with(&busy, &idle);
  ASSERT_NE(both->progress_engine(), nullptr);
  EXPECT_TRUE(both->progress_engine()->progress());
  EXPECT_EQ(busy.asked, 1);
  EXPECT_EQ(idle.asked, 1);
  const auto other = set_with(&idle, &busy);
  EXPECT_TRUE(other->progress_engine()->progress());
  const auto one = set_with(nullptr, &idle);
  ASSERT_NE(one->progress_engine(), nullptr);
  EXPECT_FALSE(one->progress_engine()->progress());
  EXPECT_EQ(idle.asked, 3);
}

// ---- Keys.

class NicKeysTest : public NicSetTest {
 protected:
  Result<NicKeys> make() {
    return NicKeys::create(set(), words_.data(), sizeof words_, MemoryUse::local);
  }

  std::array<int, 4> words_{};
};

TEST_F(NicKeysTest, AreThoseOfEachNic) {
  EXPECT_EQ(NicKeys().nics(), 0u);
  const auto keys = make();
  ASSERT_TRUE(keys);
  ASSERT_EQ(keys->nics(), kNics);
  for (std::uint32_t place = 0; place < kNics; ++place) {
    const auto regions = nic(place).regions();
    ASSERT_EQ(regions.size(), 1u);
    EXPECT_EQ(std::uint32_t{keys->lkey(place)}, regions.begin()->first);
    EXPECT_EQ(std::uint32_t{keys->rkey(place)}, regions.begin()->first | FakeNic::kRemote);
    EXPECT_EQ(regions.begin()->second.base, words_.data());
    EXPECT_EQ(regions.begin()->second.bytes, sizeof words_);
  }
  EXPECT_TRUE(keys->deregister(set()));
  for (FakeNic* const each : set_.nics) EXPECT_THAT(each->regions(), IsEmpty());
}

TEST_F(NicKeysTest, OfNoneAreLeftWhereOneNicRefuses) {
  nic(1).refuse("register_memory");
  EXPECT_EQ(refusal_of(make()), "NIC 1: refused register_memory");
  for (FakeNic* const each : set_.nics) EXPECT_THAT(each->regions(), IsEmpty());
  EXPECT_THAT(nic(0).notes(), Contains("deregister_memory"));
  EXPECT_THAT(nic(2).notes(), IsEmpty());
}

TEST_F(NicKeysTest, GoFromAllNicsThoughOneIsLate) {
  const auto keys = make();
  ASSERT_TRUE(keys);
  nic(0).refuse("deregister_memory");
  nic(1).refuse("deregister_memory");
  EXPECT_EQ(refusal_of(keys->deregister(set())), "NIC 0: refused deregister_memory");
  for (FakeNic* const each : set_.nics) EXPECT_THAT(each->notes(), Contains("deregister_memory"));
}

TEST_F(NicKeysTest, OfOneNicAreItsOwnInTheSameWords) {
  const FakeNics one = fake_nics(1, 0);
  const auto keys = NicKeys::create(*one.backend, words_.data(), 4, MemoryUse::local);
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->nics(), 1u);
  one.nics[0]->refuse("register_memory");
  one.nics[0]->refuse("deregister_memory");
  EXPECT_EQ(refusal_of(NicKeys::create(*one.backend, words_.data(), 4, MemoryUse::local)),
            "refused register_memory");
  EXPECT_EQ(refusal_of(keys->deregister(*one.backend)), "refused deregister_memory");
}

}  // namespace
}  // namespace gdakit
