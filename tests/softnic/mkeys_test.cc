// Keys that consist of parts of others, as accesses find them.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/memory/keys.h"
#include "tests/softnic/mkey_lists.h"

namespace gdakit::softnic::test {
namespace {

constexpr PdNumber kPd = 3;
constexpr QpNumber kQp = 17;
constexpr Access kAll = Access::all;

struct Mkeys : testing::Test {
  MemoryKey region(std::uint64_t base, std::uint64_t length, Access access = Access::all) {
    MrAttributes mr;
    mr.pd = kPd;
    mr.base = {base};
    mr.start = base;
    mr.length = length;
    mr.access = access;
    return *keys.add(mr);
  }
  MkeyAttributes attributes_of(const std::vector<KeyListEntry>& entries, std::uint64_t length) {
    MkeyAttributes attributes;
    attributes.pd = kPd;
    attributes.length = length;
    attributes.access = kAll;
    attributes.list = MkeyListAttributes{.capacity = 8, .entries = entries};
    return attributes;
  }
  MemoryKey list(const std::vector<KeyListEntry>& entries, std::uint64_t length) {
    return *keys.add_mkey(attributes_of(entries, length));
  }
  Translation find(MemoryKey key, std::uint64_t iova, std::uint64_t size,
                   Access wanted = Access::local_read) const {
    return keys.translate(key, kPd, kQp, iova, size, wanted);
  }
  KeyFault fault(MemoryKey key, std::uint64_t iova, std::uint64_t size,
                 Access wanted = Access::local_read) const {
    return keys.check_pieces(key, kPd, kQp, iova, size, wanted);
  }

  KeyTable keys;
  MemoryKey first = region(0x10000, 0x1000), second = region(0x50000, 0x1000);
};

TEST_F(Mkeys, LeadToTheirPartsMemory) {
  const MemoryKey key = list({klm(first, 0x10010, 8), klm(second, 0x50000, 16)}, 24);
  const Translation found = find(key, 4, 20);
  EXPECT_EQ(found.fault, KeyFault::none);
  EXPECT_EQ(found.piece.base, DmaAddress{0x10014});
  EXPECT_EQ(found.piece.length, 4u);
  EXPECT_EQ(found.region, first);
  EXPECT_EQ(find(key, 8, 16).piece.length, 16u);
  EXPECT_EQ(find(key, 8, 16).region, second);
  EXPECT_EQ(fault(key, 0, 24), KeyFault::none);
  EXPECT_EQ(fault(key, 0, 25), KeyFault::range);
  EXPECT_TRUE(keys.is_indirect(key));
  EXPECT_FALSE(keys.is_indirect(first));
}

TEST_F(Mkeys, BeginWhereTheySay) {
  MkeyAttributes attributes = attributes_of({klm(first, 0x10010, 8)}, 8);
  attributes.start = 0xfff0;
  const MemoryKey key = *keys.add_mkey(attributes);
  EXPECT_EQ(find(key, 0xfff2, 2).piece.base, DmaAddress{0x10012});
  EXPECT_EQ(find(key, 0, 2).fault, KeyFault::range);
}

// What is behind the other key's end, or in one that has gone, is found by the access alone.
TEST_F(Mkeys, EndWithTheirPartsKeys) {
  const MemoryKey key = list({klm(first, 0x10ff8, 16), klm(second, 0x50000, 8)}, 24);
  EXPECT_EQ(fault(key, 0, 8), KeyFault::none);
  EXPECT_EQ(fault(key, 0, 9), KeyFault::range);
  EXPECT_EQ(fault(key, 16, 8), KeyFault::none);
  ASSERT_TRUE(keys.remove(second));
  EXPECT_EQ(fault(key, 16, 8), KeyFault::unknown_key);
  const MemoryKey absent =
      list({klm(0, 0, 8), klm(0xffffff00, 0, 8), klm(first ^ 1, 0x10000, 8)}, 24);
  for (const std::uint64_t at : {0, 8, 16}) EXPECT_EQ(fault(absent, at, 8), KeyFault::unknown_key);
}

TEST_F(Mkeys, NeedTheRightsOfBothKeys) {
  const MemoryKey read_only = region(0x90000, 0x1000, Access::local_read);
  const MemoryKey key = list({klm(read_only, 0x90000, 8)}, 8);
  EXPECT_EQ(fault(key, 0, 8, Access::local_read), KeyFault::none);
  EXPECT_EQ(fault(key, 0, 8, Access::remote_read), KeyFault::none) << "the NIC reads for the peer";
  for (const Access wanted : {Access::local_write, Access::remote_write, Access::remote_atomic}) {
    EXPECT_EQ(fault(key, 0, 8, wanted), KeyFault::access);
  }
  MkeyAttributes attributes = attributes_of({klm(first, 0x10000, 8)}, 8);
  attributes.access = Access::local_read;
  const MemoryKey narrow = *keys.add_mkey(attributes);
  EXPECT_EQ(fault(narrow, 0, 8, Access::local_read), KeyFault::none);
  EXPECT_EQ(fault(narrow, 0, 8, Access::remote_read), KeyFault::access);
}

TEST_F(Mkeys, ReachTheirOwnProtectionDomainAlone) {
  MrAttributes mr;
  mr.pd = kPd + 1;
  mr.base = {0x90000};
  mr.start = mr.base.value;
  mr.length = 64;
  mr.access = kAll;
  const MemoryKey key = list({klm(*keys.add(mr), 0x90000, 8)}, 8);
  EXPECT_EQ(fault(key, 0, 8), KeyFault::wrong_pd);
}

TEST_F(Mkeys, OfOneQueuePairsPartsAreThatOnes) {
  MrAttributes mr;
  mr.pd = kPd;
  mr.base = {0x90000};
  mr.start = mr.base.value;
  mr.length = 64;
  mr.access = kAll;
  mr.qpn = kQp + 1;
  EXPECT_EQ(fault(list({klm(*keys.add(mr), 0x90000, 8)}, 8), 0, 8), KeyFault::wrong_qp);
}

// As deep as the device says, and no deeper; a key that names itself is too deep.
TEST_F(Mkeys, NestToADepth) {
  MemoryKey key = first;
  std::uint64_t iova = 0x10000;
  for (std::uint32_t depth = 1; depth <= kMaxIndirection; ++depth) {
    key = list({klm(key, iova, 8)}, 8);
    iova = 0;
    EXPECT_EQ(fault(key, 0, 8), KeyFault::none) << depth;
    EXPECT_EQ(find(key, 3, 5).piece.base, DmaAddress{0x10003}) << depth;
    EXPECT_EQ(find(key, 3, 5).region, first) << depth;
  }
  EXPECT_EQ(fault(list({klm(key, 0, 8)}, 8), 0, 8), KeyFault::depth);
}

TEST_F(Mkeys, ThatNameThemselvesGrantNothing) {
  const MemoryKey key = *keys.add_mkey(list_key(kPd));
  KeyChange change;
  change.key = key;
  change.mask = format::mkey_mask::free | format::mkey_mask::length;
  change.length = 8;
  change.entries = {klm(key, 0, 8)};
  ASSERT_TRUE(keys.change_by_wqe(change, kPd, kQp));
  EXPECT_EQ(fault(key, 0, 8), KeyFault::depth);
}

TEST_F(Mkeys, HaveNoWindowsAsParts) {
  const MemoryKey window = *keys.add_window(kPd, WindowType::type_1);
  EXPECT_EQ(fault(list({klm(window, 0, 8)}, 8), 0, 8), KeyFault::unknown_key);
}

TEST_F(Mkeys, OfPagesFindEach) {
  MrAttributes mr;
  mr.pd = kPd;
  mr.access = kAll;
  mr.start = 0x2000;
  mr.length = 0x2000;
  mr.pages = {{0x70000}, {0x30000}};
  const MemoryKey key = list({klm(*keys.add(mr), 0x2ff0, 32)}, 32);
  EXPECT_EQ(find(key, 0, 32).piece.base, DmaAddress{0x70ff0});
  EXPECT_EQ(find(key, 0, 32).piece.length, 16u);
  EXPECT_EQ(find(key, 16, 16).piece.base, DmaAddress{0x30000});
}

TEST_F(Mkeys, OfMemoryAreLikeRegions) {
  MkeyAttributes attributes;
  attributes.pd = kPd;
  attributes.base = {0x20000};
  attributes.start = 0x7000;
  attributes.length = 0x100;
  attributes.access = kAll;
  attributes.variant = 0xab;
  const MemoryKey key = *keys.add_mkey(attributes);
  EXPECT_EQ(key & 0xff, 0xabu);
  EXPECT_EQ(find(key, 0x7001, 0xff).piece.base, DmaAddress{0x20001});
  EXPECT_EQ(find(key, 0x7001, 0x100).fault, KeyFault::range);
  EXPECT_EQ(keys.memory(key)[0].base, DmaAddress{0x20000});
  EXPECT_EQ(find(key, 0x7000, 1).region, 0u);
}

TEST_F(Mkeys, AreRefusedThatCannotBe) {
  using Sy = CommandSyndrome;
  const auto syndrome = [&](auto change) {
    MkeyAttributes attributes = attributes_of({klm(first, 0x10000, 8)}, 8);
    change(attributes);
    return keys.add_mkey(attributes).status().syndrome;
  };
  EXPECT_EQ(syndrome([](MkeyAttributes&) {}), Sy::none);
  EXPECT_EQ(syndrome([](MkeyAttributes& a) { a.list->capacity = 0; }), Sy::create_mkey_list_size);
  EXPECT_EQ(syndrome([](MkeyAttributes& a) { a.list->capacity = (1u << 16) + 1; }),
            Sy::create_mkey_list_size);
  EXPECT_EQ(syndrome([](MkeyAttributes& a) { a.list->entries.resize(9); }), Sy::create_mkey_list);
  EXPECT_EQ(syndrome([](MkeyAttributes& a) { a.length = 9; }), Sy::create_mkey_length);
  EXPECT_EQ(syndrome([](MkeyAttributes& a) { a.length = ~std::uint64_t{0}; }),
            Sy::create_mkey_length);
  EXPECT_EQ(syndrome([](MkeyAttributes& a) { a.list.reset(); }), Sy::none);
  EXPECT_EQ(syndrome([](MkeyAttributes& a) {
              a.list.reset();
              a.umr_enabled = true;
            }),
            Sy::create_mkey_umr);
  EXPECT_EQ(syndrome([](MkeyAttributes& a) {
              a.list.reset();
              a.length = 0;
            }),
            Sy::none);
  EXPECT_EQ(syndrome([](MkeyAttributes& a) {
              a.list.reset();
              a.access = Access::remote_write;
            }),
            Sy::reg_mr_rights);
}

TEST_F(Mkeys, BelongToWhoMadeThem) {
  constexpr Uid kOwner = 4;
  const MemoryKey key = *keys.add_mkey(list_key(kPd), kOwner);
  EXPECT_FALSE(keys.query_mkey(key));
  EXPECT_FALSE(keys.remove_mkey(key));
  EXPECT_FALSE(keys.remove(key, kOwner)) << "it is no region";
  EXPECT_FALSE(keys.remove_window(key, kOwner));
  EXPECT_TRUE(keys.query_mkey(key ^ 0x55, kOwner)) << "the index alone counts";
  EXPECT_EQ(keys.count(kPd), 3u);
  EXPECT_TRUE(keys.remove_mkey(key, kOwner));
  EXPECT_FALSE(keys.remove_mkey(key, kOwner));
  EXPECT_FALSE(keys.query_mkey(key, kOwner));
  EXPECT_EQ(keys.count(kPd), 2u);
  EXPECT_FALSE(keys.remove_mkey(first)) << "a region is none";
}

// An index that was an mkey's is a window's, and has nothing left of what it was.
TEST(MkeyIndices, ComeBackAsOtherKinds) {
  KeyTable keys(1);
  MkeyAttributes attributes = list_key(kPd);
  attributes.remote_invalidate = true;
  const MemoryKey mkey = *keys.add_mkey(attributes);
  ASSERT_TRUE(keys.remove_mkey(mkey));
  const MemoryKey window = *keys.add_window(kPd, WindowType::type_1);
  ASSERT_EQ(window >> 8, mkey >> 8);
  EXPECT_FALSE(keys.query_mkey(window));
  EXPECT_FALSE(keys.invalidate(window, kPd, kQp));
  ASSERT_TRUE(keys.remove_window(window));
  MrAttributes mr;
  mr.pd = kPd;
  mr.base = {0x1000};
  mr.length = 64;
  mr.access = Access::all;
  const MemoryKey key = *keys.add(mr);
  EXPECT_EQ(keys.translate(key, kPd, kQp, 8, 8, Access::local_read).piece.base, DmaAddress{0x1008});
  EXPECT_FALSE(keys.invalidate(key, kPd, kQp));
  EXPECT_FALSE(keys.change_by_wqe({.key = key}, kPd, kQp));
}

}  // namespace
}  // namespace gdakit::softnic::test
