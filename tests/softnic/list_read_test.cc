// Lists in memory that takes its time, and of which a part is not there: nothing is told of such a
// WQE, and nothing else read in its place, before what is there has been read.
#include <cstring>
#include <memory>
#include <optional>
#include <sys/mman.h>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/dma/host_dma.h"
#include "backends/softnic/dma/on_demand.h"
#include "tests/softnic/mkey_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::Syndrome;

constexpr std::size_t kEntries = 48;
constexpr std::uint32_t kListBytes = kEntries * sizeof(KeyListEntry);
constexpr std::size_t kBadList = 0, kGoodList = 4096;  // in b's heap

// A page of addresses without memory.
class NoMemory {
 public:
  NoMemory() : at_(::mmap(nullptr, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  NoMemory(const NoMemory&) = delete;
  NoMemory& operator=(const NoMemory&) = delete;
  ~NoMemory() { ::munmap(at_, kBytes); }

  MrAttributes region(PdNumber pd) const {
    MrAttributes attributes;
    attributes.pd = pd;
    attributes.start = host_address(static_cast<std::uint8_t*>(at_)).value;
    attributes.base = {attributes.start | kOnDemandBit};
    attributes.length = kBytes;
    attributes.access = Access::all;
    return attributes;
  }

 private:
  static constexpr std::size_t kBytes = 4096;
  void* at_;
};

// Memory of which one place is read when the test likes, and the rest at once.
class HeldDma final : public HostDma {
 public:
  DmaOp read(void* to, DmaAddress from, std::size_t size) override {
    ++reads;
    if (!place || place->value != from.value) return HostDma::read(to, from, size);
    held_ = {to, from, size};
    return {1};
  }
  DmaOp fence() override { return {holds() ? 1u : 0u}; }
  bool done(DmaOp op) override { return op.id == 0 || !holds(); }

  bool holds() const { return held_.size != 0; }
  void let_go() {
    HostDma::read(held_.to, held_.from, held_.size);
    held_ = {};
  }

  std::optional<DmaAddress> place;
  std::uint64_t reads = 0;

 private:
  struct Held {
    void* to = nullptr;
    DmaAddress from = {};
    std::size_t size = 0;
  };
  Held held_;
};

struct ListReads : MkeyRig {
  ListReads() : MkeyRig(options(dma)) {
    const MrAttributes absent = nowhere.region(b.pd);
    partly_there = *b.engine.create_mkey(list_key(b.pd, kEntries));
    // Each entry is read for itself.
    ListChange parts{.key = partly_there, .length = kListBytes};
    for (std::size_t at = 0; at != kListBytes; at += sizeof(KeyListEntry)) {
      parts.entries.push_back(klm(b.key, b.heap_address(kBadList + at), sizeof(KeyListEntry)));
    }
    parts.entries.back() = klm(*b.engine.reg_mr(absent), absent.start, sizeof(KeyListEntry));
    EXPECT_EQ(run(b, list_wqe(parts)), Syndrome::none);
    for (std::size_t i = 0; i < kEntries; ++i) {
      put_entry(kBadList, i, 1 + i);
      put_entry(kGoodList, i, 101 + i);
    }
  }

  // Engines wait for what is under way.
  ~ListReads() {
    if (dma->holds()) dma->let_go();
  }

  static RigOptions options(HeldDma*& of_b) {
    RigOptions options;
    options.service = ServiceType::uc;
    options.make_port = [&of_b](int side) {
      auto port = std::make_unique<HeldDma>();
      if (side == 1) of_b = port.get();
      return port;
    };
    return options;
  }
  void hold(std::size_t offset) { dma->place = host_address(b.heap.data() + offset); }
  void step(int count) {
    for (int i = 0; i < count; ++i) EngineRig::step();
  }
  // An entry that is told by how many bytes it has.
  void put_entry(std::size_t list, std::size_t index, std::size_t bytes) const {
    const KeyListEntry entry = klm(b.key, b.heap_address(8192), static_cast<std::uint32_t>(bytes));
    std::memcpy(b.heap.data() + list + index * sizeof entry, &entry, sizeof entry);
  }
  // Posts the WQE that gives b's key the list that lies there.
  void post_list(MemoryKey key, std::uint64_t address, std::uint32_t bytes = kListBytes) {
    const std::size_t entries = bytes / sizeof(KeyListEntry);
    Umr umr = list_umr({.key = b_mkey, .entries = std::vector<KeyListEntry>(entries), .length = 8});
    umr.control.flags = 0;
    umr.list = {klm(key, address, bytes)};  // a data segment looks like it
    Wqe wqe = umr_wqe(b_mkey, umr);
    wqe.body.resize(8);
    b.post(wqe);
    b.ring();
  }
  void post_bad_list() { post_list(partly_there, 0); }
  void post_good_list() { post_list(b.key, b.heap_address(kGoodList)); }
  Syndrome next() {
    std::optional<format::Cqe64> cqe;
    EXPECT_TRUE(run_until([&] { return (cqe = b.send_cq.poll()).has_value(); }));
    if (!cqe) return Syndrome::flushed;
    return opcode_of(*cqe) == format::CqeOpcode::requester ? Syndrome::none : syndrome_of(*cqe);
  }

  void expect_good_list() const {
    const std::vector<KeyListEntry> entries = (*b.engine.query_mkey(b_mkey)).entries;
    ASSERT_GE(entries.size(), kEntries);
    for (std::size_t i = 0; i < kEntries; ++i) EXPECT_EQ(entries[i].byte_count, 101 + i);
  }

  NoMemory nowhere;
  MemoryKey partly_there = 0;
  HeldDma* dma;  // b's, which the engines are made with
};

TEST(ListRead, ThatFailsIsToldWhenNothingOfItIsUnderWay) {
  if (!has_on_demand_memory()) GTEST_SKIP() << "the system does not copy for this process";
  ListReads rig;
  rig.hold(kBadList);
  rig.post_bad_list();
  rig.step(100);
  ASSERT_TRUE(rig.dma->holds());
  EXPECT_FALSE(rig.b.send_cq.poll());
  EXPECT_EQ(rig.b.info().state, QpState::rts);
  rig.dma->let_go();
  EXPECT_EQ(rig.next(), Syndrome::local_protection);
  EXPECT_EQ(rig.b.info().state, QpState::sqer);
}

// The queue is brought back once the WQE has failed.
TEST(ListRead, ThatHasFailedLeavesNothingToTheNextOne) {
  if (!has_on_demand_memory()) GTEST_SKIP() << "the system does not copy for this process";
  ListReads rig;
  rig.post_bad_list();
  EXPECT_EQ(rig.next(), Syndrome::local_protection);
  ASSERT_TRUE(rig.b.engine.modify_qp(rig.b.qpn, {.state = QpState::rts}));
  ASSERT_TRUE(rig.EngineRig::run());
  rig.hold(kGoodList);
  rig.post_good_list();
  rig.step(100);
  ASSERT_TRUE(rig.dma->holds());
  EXPECT_FALSE(rig.b.send_cq.poll());
  rig.dma->let_go();
  ASSERT_EQ(rig.next(), Syndrome::none);
  rig.expect_good_list();
}

TEST(ListRead, IsWaitedForWhenItsQueuePairGoes) {
  ListReads rig;
  rig.hold(kGoodList);
  rig.post_good_list();
  rig.step(100);
  ASSERT_TRUE(rig.dma->holds());
  ASSERT_TRUE(rig.b.engine.destroy_qp(rig.b.qpn));
  rig.step(100);
  EXPECT_FALSE(rig.b.engine.removed(rig.b.engine.last_removal()));
  rig.dma->let_go();
  rig.step(100);
  EXPECT_TRUE(rig.b.engine.removed(rig.b.engine.last_removal()));
}

// Each byte of it is a piece, found by the entries of another list.
TEST(ListRead, OfManyPiecesTakesManyTurns) {
  constexpr std::uint32_t kBytes = 1u << kLogMostListEntries, kMostPerStep = 2048;
  ListReads rig;
  MkeyAttributes bytes = list_key(rig.b.pd, kBytes);
  bytes.free = bytes.umr_enabled = false;
  bytes.length = kBytes;
  for (std::uint32_t i = 0; i < kBytes; ++i) {
    bytes.list->entries.push_back(klm(rig.b.key, rig.b.heap_address(kBadList + i), 1));
  }
  rig.b_mkey = *rig.b.engine.create_mkey(list_key(rig.b.pd, kBytes / sizeof(KeyListEntry)));
  const std::size_t entries = kBytes / sizeof(KeyListEntry);
  for (std::size_t i = 0; i < entries; ++i) rig.put_entry(kBadList, i, 1 + i);
  rig.post_list(*rig.b.engine.create_mkey(bytes), 0, kBytes);
  std::optional<format::Cqe64> cqe;
  for (int steps = 0; !cqe && steps < 10'000; ++steps) {
    const std::uint64_t before = rig.dma->reads;
    rig.step(1);
    ASSERT_LE(rig.dma->reads - before, kMostPerStep);
    cqe = rig.b.send_cq.poll();
  }
  ASSERT_TRUE(cqe);
  ASSERT_EQ(opcode_of(*cqe), format::CqeOpcode::requester);
  const std::vector<KeyListEntry> read = (*rig.b.engine.query_mkey(rig.b_mkey)).entries;
  ASSERT_EQ(read.size(), entries);
  for (std::size_t i = 0; i < entries; ++i) ASSERT_EQ(read[i].byte_count, 1 + i);
}

}  // namespace
}  // namespace gdakit::softnic::test
