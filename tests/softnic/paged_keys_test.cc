// Every operation between regions that lie in pages all over the heap, so that payload is cut and
// put together at pages' ends as well as at packets'.
#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "backends/softnic/wire/shm_wire.h"
#include "tests/softnic/delayed_dma.h"
#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::Opcode;

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPageCount = 64;

// A region of a side's heap whose pages are neither in order nor, most of them, neighbours.
class PagedRegion {
 public:
  // `first` is where the region begins in its first page.
  PagedRegion(Side& side, std::size_t first, std::uint32_t seed) : side_(side), start_(first) {
    order_.resize(kPageCount);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    // Swaps in place keep some neighbours together, and others apart.
    for (std::size_t i = 0; i + 3 < kPageCount; i += 3) {
      std::swap(order_[i], order_[(i * 7 + seed) % kPageCount]);
    }
    MrAttributes mr;
    mr.pd = side.pd;
    mr.start = start_;
    mr.length = bytes();
    mr.access = Access::all;
    for (const std::size_t page : order_) mr.pages.push_back(host_address(place_of_page(page)));
    key_ = *side.engine.reg_mr(mr);
  }

  std::size_t bytes() const { return kPageCount * kPage - start_; }
  std::uint8_t& at(std::size_t offset) const {
    const std::size_t linear = start_ + offset;
    return place_of_page(order_[linear / kPage])[linear % kPage];
  }
  void fill_with(std::uint32_t seed) const {
    for (std::size_t i = 0; i < bytes(); ++i) at(i) = byte(i, seed);
  }
  static std::uint8_t byte(std::size_t i, std::uint32_t seed) {
    return static_cast<std::uint8_t>((i * 31 + i / 251 + seed * 77) & 0xff);
  }

  format::DataSegment segment(std::size_t offset, std::uint32_t size) const {
    return format::data(start_ + offset, Be32{key_}, size);
  }
  format::Segment data(std::size_t offset, std::uint32_t size) const {
    return format::to_segment(segment(offset, size));
  }
  format::Segment remote(std::size_t offset) const {
    return format::to_segment(format::remote_address(start_ + offset, Be32{key_}));
  }
  MemoryKey key() const { return key_; }

 private:
  std::uint8_t* place_of_page(std::size_t page) const { return side_.heap.data() + page * kPage; }

  Side& side_;
  std::uint64_t start_;
  std::vector<std::size_t> order_;
  MemoryKey key_ = 0;
};

struct Way {
  const char* name;
  std::uint32_t mtu;
  bool by_value;
  enum class Dma { at_once, later, unordered } dma;
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

class PagedKeys : public testing::TestWithParam<Way> {
 protected:
  static RigOptions options() {
    const Way& way = GetParam();
    RigOptions options;
    options.wire.mtu = way.mtu;
    if (way.by_value) {
      auto segment = *ShmSegment::create({.mtu = way.mtu, .value_mtu = way.mtu});
      options.wrap_wire = [segment](std::unique_ptr<Wire>, int side) -> std::unique_ptr<Wire> {
        return std::move(*segment->attach(static_cast<Endpoint>(side)));
      };
    }
    if (way.dma != Way::Dma::at_once) {
      options.make_port = [ordered = way.dma == Way::Dma::later](int side) {
        return std::make_unique<DelayedDma>(static_cast<std::uint32_t>(side + 1), ordered);
      };
    }
    return options;
  }
  void expect_successes(std::size_t count) {
    rig.a.ring();
    ASSERT_TRUE(rig.run());
    const auto cqes = rig.a.send_cq.poll_all();
    ASSERT_EQ(cqes.size(), count);
    for (const auto& cqe : cqes) {
      EXPECT_EQ(opcode_of(cqe), format::CqeOpcode::requester) << int(syndrome_of(cqe));
    }
  }
  // `size` bytes at `to` are those from `from` on of what was filled with `seed`; the ones around
  // them are what they were.
  static void expect_moved(const PagedRegion& region, std::size_t to, std::size_t size,
                           std::size_t from, std::uint32_t seed, std::uint32_t old_seed) {
    for (std::size_t i = 0; i < region.bytes(); ++i) {
      const bool moved = i >= to && i < to + size;
      const std::uint8_t expected =
          moved ? PagedRegion::byte(from + i - to, seed) : PagedRegion::byte(i, old_seed);
      ASSERT_EQ(region.at(i), expected) << "byte " << i;
    }
  }

  EngineRig rig{options()};
  PagedRegion from{rig.a, 0x123, 5};
  PagedRegion to{rig.b, 0x800, 11};
};

TEST_P(PagedKeys, WriteReachesEachByte) {
  for (const std::uint32_t size : {1u, 8u, 4000u, 4096u, 4097u, 100'001u}) {
    from.fill_with(1);
    to.fill_with(2);
    rig.a.post({.opcode = Opcode::rdma_write, .body = {to.remote(3001), from.data(2500, size)}});
    expect_successes(1);
    expect_moved(to, 3001, size, 2500, 1, 2);
  }
}

TEST_P(PagedKeys, ReadReachesEachByte) {
  for (const std::uint32_t size : {1u, 8u, 4000u, 4096u, 4097u, 100'001u}) {
    from.fill_with(1);
    to.fill_with(2);
    rig.a.post({.opcode = Opcode::rdma_read, .body = {to.remote(701), from.data(3333, size)}});
    expect_successes(1);
    expect_moved(from, 3333, size, 701, 2, 1);
  }
}

TEST_P(PagedKeys, SendIsScatteredOverPages) {
  from.fill_with(1);
  to.fill_with(2);
  rig.b.post_receive({to.segment(1000, 10'000), to.segment(11'000, 60'000)});
  rig.a.post({.opcode = Opcode::send, .body = {from.data(9, 30'000), from.data(30'009, 21'000)}});
  expect_successes(1);
  expect_moved(to, 1000, 51'000, 9, 1, 2);
}

TEST_P(PagedKeys, ManyPiecesMakeFullPackets) {
  from.fill_with(1);
  to.fill_with(2);
  Wqe wqe{.opcode = Opcode::rdma_write, .body = {to.remote(0)}};
  std::uint32_t size = 0;
  for (std::uint32_t i = 0; i < 40; ++i) {
    const std::uint32_t piece = 1 + i * 13 % 200;
    wqe.body.push_back(from.data(size, piece));
    size += piece;
  }
  const std::uint32_t before = rig.a.info().next_send_psn;
  rig.a.post(wqe);
  expect_successes(1);
  expect_moved(to, 0, size, 0, 1, 2);
  const std::uint32_t psn_bytes = rig.a.wire->psn_bytes();
  EXPECT_EQ(rig.a.info().next_send_psn - before, (size + psn_bytes - 1) / psn_bytes);
}

TEST_P(PagedKeys, AtomicsFindTheirWords) {
  to.fill_with(2);
  const std::size_t target = kPage * 5;  // from an aligned start
  std::uint64_t before = 0;
  std::memcpy(&before, &to.at(target), sizeof before);
  const format::AtomicSegment operands{Be64{5}, Be64{0}};
  const std::size_t result = kPage - 0x123 - 3;  // three bytes in the first page, five in the next
  from.fill_with(1);
  rig.a.post({.opcode = Opcode::atomic_fa,
              .body = {to.remote(target), format::to_segment(operands), from.data(result, 8)}});
  expect_successes(1);
  expect_moved(from, result, 8, target, 2, 1);
  std::uint64_t after = 0;
  std::memcpy(&after, &to.at(target), sizeof after);
  EXPECT_EQ(after, before + 5);
}

TEST_P(PagedKeys, DumpReadsThemAll) {
  rig.a.post({.opcode = Opcode::dump, .body = {from.data(17, 200'000)}});
  expect_successes(1);
}

TEST_P(PagedKeys, NothingMovesOnceTheKeyIsGone) {
  to.fill_with(2);
  ASSERT_TRUE(rig.b.engine.dereg_mr(to.key()));
  rig.a.post({.opcode = Opcode::rdma_write, .body = {to.remote(0), from.data(0, 9000)}});
  rig.a.ring();
  ASSERT_TRUE(rig.run());
  const auto cqe = rig.a.send_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(syndrome_of(*cqe), format::Syndrome::remote_access);
  expect_moved(to, 0, 0, 0, 1, 2);
}

INSTANTIATE_TEST_SUITE_P(Ways, PagedKeys,
                         testing::Values(Way{"reference", 65536, false, Way::Dma::at_once},
                                         Way{"reference_256", 256, false, Way::Dma::at_once},
                                         Way{"reference_later", 65536, false, Way::Dma::later},
                                         Way{"reference_unordered", 65536, false,
                                             Way::Dma::unordered},
                                         Way{"value_4096", 4096, true, Way::Dma::at_once},
                                         Way{"value_65536", 65536, true, Way::Dma::at_once},
                                         Way{"value_later", 65536, true, Way::Dma::later},
                                         Way{"value_unordered", 65536, true, Way::Dma::unordered}),
                         [](const auto& way) { return std::string(way.param.name); });

}  // namespace
}  // namespace gdakit::softnic::test
