// Keys that consist of parts of others: all that moves bytes by them.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/dma/on_demand.h"
#include "tests/softnic/delayed_dma.h"
#include "tests/softnic/mkey_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::Opcode;
using format::Syndrome;

struct Moves {
  const char* name;
  std::uint32_t mtu;  // 0: as usual, with payload by reference
  bool delayed;

  friend void PrintTo(const Moves& moves, std::ostream* to) { *to << moves.name; }
};

class MkeyMoves : public testing::TestWithParam<Moves> {
 protected:
  static RigOptions options() {
    RigOptions options;
    if (GetParam().mtu != 0) options.wire.mtu = options.settings.path.mtu = GetParam().mtu;
    if (GetParam().delayed) {
      options.make_port = [](int side) {
        return std::make_unique<DelayedDma>(static_cast<std::uint32_t>(side), false);
      };
    }
    return options;
  }
  // Layouts of few and many bytes, which lie behind the first 64 KiB.
  static std::vector<Layout> layouts(const Side& side) {
    constexpr std::size_t kAt = 1 << 16;
    return {
        concatenated(side, {{kAt, 8}, {kAt + 64, 8}}),
        concatenated(side, {{kAt + 5000, 1}, {kAt, 3000}, {kAt + 9000, 4097}, {kAt + 3001, 1}}),
        repeated(side, 3, {{kAt, 8, 2, 0}, {kAt + 64, 8, 2, 0}}),
        repeated(side, 100, {{kAt, 1, 3, 0}, {kAt + 1000, 77, 3, 0}, {kAt + 40000, 5, 0, 0}}),
    };
  }

  MkeyRig rig{options()};
};
INSTANTIATE_TEST_SUITE_P(Ways, MkeyMoves,
                         testing::Values(Moves{"ByReference", 0, false},
                                         Moves{"ByValue", 256, false}, Moves{"Delayed", 0, true},
                                         Moves{"DelayedByValue", 1024, true}),
                         [](const auto& of) { return of.param.name; });

TEST_P(MkeyMoves, WriteWhatTheyGather) {
  for (const Layout& layout : layouts(rig.a)) {
    ASSERT_EQ(rig.enable(rig.a, layout.change), Syndrome::none);
    const auto size = static_cast<std::uint32_t>(layout.places.size());
    fill(rig.a.heap.data(), rig.a.heap.size(), size);
    const Wqe wqe{.opcode = Opcode::rdma_write, .body = {rig.b.remote(0), rig.local(0, size)}};
    // The remote address is b's.
    Wqe write = wqe;
    write.body[0] =
        format::to_segment(format::remote_address(rig.b.heap_address(0), Be32{rig.b.key}));
    ASSERT_EQ(rig.run(rig.a, write), Syndrome::none);
    EXPECT_EQ(first_bytes(rig.b, size), gathered(rig.a, layout.places));
    // From the middle on.
    write.body[1] = rig.local(size / 2, size - size / 2);
    fill(rig.a.heap.data(), rig.a.heap.size(), size + 1);
    ASSERT_EQ(rig.run(rig.a, write), Syndrome::none);
    const auto all = gathered(rig.a, layout.places);
    EXPECT_EQ(first_bytes(rig.b, size - size / 2), std::vector(all.begin() + size / 2, all.end()));
  }
}

TEST_P(MkeyMoves, ScatterWhatPeersWrite) {
  for (const Layout& layout : layouts(rig.b)) {
    ASSERT_EQ(rig.enable(rig.b, layout.change), Syndrome::none);
    const auto size = static_cast<std::uint32_t>(layout.places.size());
    fill(rig.a.heap.data(), size, size);
    std::vector<std::uint8_t> expected(rig.b.heap.data(), rig.b.heap.data() + rig.b.heap.size());
    for (std::size_t i = 0; i < size; ++i) expected[layout.places[i]] = rig.a.heap.data()[i];
    ASSERT_EQ(rig.run(rig.a, rig.write_wqe(0, size)), Syndrome::none);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), rig.b.heap.data()));
  }
}

TEST_P(MkeyMoves, GatherWhatPeersRead) {
  for (const Layout& layout : layouts(rig.b)) {
    ASSERT_EQ(rig.enable(rig.b, layout.change), Syndrome::none);
    const auto size = static_cast<std::uint32_t>(layout.places.size());
    fill(rig.b.heap.data(), rig.b.heap.size(), size);
    ASSERT_EQ(rig.run(rig.a, rig.read_wqe(0, size)), Syndrome::none);
    EXPECT_EQ(first_bytes(rig.a, size), gathered(rig.b, layout.places));
  }
}

TEST_P(MkeyMoves, ScatterWhatTheyRead) {
  for (const Layout& layout : layouts(rig.a)) {
    ASSERT_EQ(rig.enable(rig.a, layout.change), Syndrome::none);
    const auto size = static_cast<std::uint32_t>(layout.places.size());
    fill(rig.b.heap.data(), size, size);
    const Wqe read{
        .opcode = Opcode::rdma_read,
        .body = {format::to_segment(format::remote_address(rig.b.heap_address(0), Be32{rig.b.key})),
                 rig.local(0, size)}};
    ASSERT_EQ(rig.run(rig.a, read), Syndrome::none);
    EXPECT_EQ(gathered(rig.a, layout.places), first_bytes(rig.b, size));
  }
}

TEST_P(MkeyMoves, ScatterWhatTheyReceive) {
  for (const Layout& layout : layouts(rig.b)) {
    ASSERT_EQ(rig.enable(rig.b, layout.change), Syndrome::none);
    const auto size = static_cast<std::uint32_t>(layout.places.size());
    fill(rig.a.heap.data(), size, size);
    rig.b.post_receive({format::data(0, Be32{rig.b_mkey}, size)});
    ASSERT_EQ(rig.run(rig.a, {.opcode = Opcode::send, .body = {rig.a.data(0, size)}}),
              Syndrome::none);
    const auto cqe = rig.b.receive_cq.poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->byte_cnt, size);
    EXPECT_EQ(gathered(rig.b, layout.places), first_bytes(rig.a, size));
  }
}

// Parts of a region that is paged on demand.
TEST(MkeyOnDemand, MovesBytesBothWays) {
  if (!has_on_demand_memory()) GTEST_SKIP() << "the system does not copy for this process";
  MkeyRig rig;
  MrAttributes mr;
  mr.pd = rig.b.pd;
  mr.start = rig.b.heap_address(0);
  mr.base = {mr.start | kOnDemandBit};
  mr.length = rig.b.heap.size();
  mr.access = Access::all;
  const MemoryKey paged = *rig.b.engine.reg_mr(mr);
  Layout layout = concatenated(rig.b, {{70000, 3000}, {80000, 5}});
  for (KeyListEntry& entry : layout.change.entries) entry.mkey = Be32{paged};
  ASSERT_EQ(rig.enable(rig.b, layout.change), Syndrome::none);
  fill(rig.a.heap.data(), 3005, 1);
  ASSERT_EQ(rig.run(rig.a, rig.write_wqe(0, 3005)), Syndrome::none);
  EXPECT_EQ(gathered(rig.b, layout.places), first_bytes(rig.a, 3005));
  fill(rig.a.heap.data(), 3005, 2);
  ASSERT_EQ(rig.run(rig.a, rig.read_wqe(0, 3005)), Syndrome::none);
  EXPECT_EQ(gathered(rig.b, layout.places), first_bytes(rig.a, 3005));
  const Wqe send{
      .opcode = Opcode::rdma_write,
      .body = {format::to_segment(format::remote_address(rig.a.heap_address(0), Be32{rig.a.key})),
               format::to_segment(format::data(0, Be32{rig.b_mkey}, 3005))}};
  fill(rig.b.heap.data() + 70000, 20000, 3);
  ASSERT_EQ(rig.run(rig.b, send), Syndrome::none);
  EXPECT_EQ(gathered(rig.b, layout.places), first_bytes(rig.a, 3005));
}

TEST(MkeyAtomics, ChangeTheWordInItsPart) {
  MkeyRig rig;
  const Layout layout = concatenated(rig.b, {{4096, 8}, {8192, 8}});
  ASSERT_EQ(rig.enable(rig.b, layout.change), Syndrome::none);
  rig.b.word<std::uint64_t>(8192) = 41;
  Wqe add = fetch_add_wqe(rig, 0, 0, 1);
  add.body[0] = rig.remote(8);
  ASSERT_EQ(rig.run(rig.a, add), Syndrome::none);
  EXPECT_EQ(rig.b.word<std::uint64_t>(8192), 42u);
  EXPECT_EQ(rig.a.word<std::uint64_t>(0), 41u);
}

TEST(MkeyAtomics, OfAWordInTwoPartsAreRefused) {
  MkeyRig rig;
  const Layout layout = concatenated(rig.b, {{4096, 4}, {8192, 12}});
  ASSERT_EQ(rig.enable(rig.b, layout.change), Syndrome::none);
  Wqe add = fetch_add_wqe(rig, 0, 0, 1);
  add.body[0] = rig.remote(0);
  EXPECT_EQ(rig.run(rig.a, add), Syndrome::remote_access);
  EXPECT_EQ(rig.b.word<std::uint64_t>(4096), 0u);
}

TEST(MkeyAtomics, ReturnTheWordInParts) {
  MkeyRig rig;
  const Layout layout = concatenated(rig.a, {{4096, 3}, {8192, 5}});
  ASSERT_EQ(rig.enable(rig.a, layout.change), Syndrome::none);
  rig.b.word<std::uint64_t>(0) = 0x0102030405060708;
  Wqe add = fetch_add_wqe(rig, 0, 0, 0);
  add.body.back() = rig.local(0, 8);
  ASSERT_EQ(rig.run(rig.a, add), Syndrome::none);
  EXPECT_EQ(gathered(rig.a, layout.places), first_bytes(rig.b, 8));
}

}  // namespace
}  // namespace gdakit::softnic::test
