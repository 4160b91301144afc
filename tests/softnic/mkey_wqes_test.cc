// Keys that consist of parts of others: WQEs that give them their parts, what ends them, and
// accesses that fail.
#include <algorithm>
#include <array>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "tests/softnic/delayed_dma.h"
#include "tests/softnic/lossy_wire.h"
#include "tests/softnic/mkey_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;
using format::Syndrome;
namespace rights = format::mkey_access;

// The faults of accesses, which fail as by a plain key.
TEST(MkeyFaults, OfAKeyThatIsFree) {
  MkeyRig rig;
  EXPECT_EQ(rig.run(rig.a, rig.write_wqe(0, 8)), Syndrome::remote_access);
  MkeyRig other;
  Wqe write = other.write_wqe(0, 8);
  write.body[1] = other.local(0, 8);
  EXPECT_EQ(other.run(other.a, write), Syndrome::local_protection);
}

TEST(MkeyFaults, OfRangesAndRights) {
  const auto syndrome = [](std::uint64_t at, std::uint32_t size, std::uint8_t granted, bool reads) {
    MkeyRig rig;
    Layout layout = concatenated(rig.b, {{4096, 8}, {8192, 8}});
    layout.change.rights = granted;
    EXPECT_EQ(rig.enable(rig.b, layout.change), Syndrome::none);
    return rig.run(rig.a, reads ? rig.read_wqe(at, size) : rig.write_wqe(at, size));
  };
  constexpr std::uint8_t kBoth = rights::remote_read | rights::remote_write;
  EXPECT_EQ(syndrome(0, 16, kBoth, false), Syndrome::none);
  EXPECT_EQ(syndrome(0, 17, kBoth, false), Syndrome::remote_access);
  EXPECT_EQ(syndrome(16, 1, kBoth, true), Syndrome::remote_access);
  EXPECT_EQ(syndrome(~std::uint64_t{0}, 2, kBoth, true), Syndrome::remote_access);
  EXPECT_EQ(syndrome(0, 16, rights::remote_read, false), Syndrome::remote_access);
  EXPECT_EQ(syndrome(0, 16, rights::remote_write, true), Syndrome::remote_access);
}

// The second part's key has gone: nothing of the packet is written, and nobody crashes.
TEST(MkeyFaults, OfAPartThatHasGone) {
  for (const bool reads : {false, true}) {
    MkeyRig rig;
    Layout layout = concatenated(rig.b, {{4096, 8}});
    MrAttributes mr;
    mr.pd = rig.b.pd;
    mr.base = host_address(rig.b.heap.data() + 8192);
    mr.start = mr.base.value;
    mr.length = 64;
    mr.access = Access::all;
    const MemoryKey gone = *rig.b.engine.reg_mr(mr);
    layout.change.entries.push_back(klm(gone, mr.start, 8));
    layout.change.length += 8;
    ASSERT_EQ(rig.enable(rig.b, layout.change), Syndrome::none);
    ASSERT_EQ(rig.run(rig.a, rig.write_wqe(0, 16)), Syndrome::none);
    ASSERT_TRUE(rig.b.engine.dereg_mr(gone));
    fill(rig.a.heap.data(), 16, 5);
    const std::uint64_t before = rig.b.word<std::uint64_t>(4096);
    EXPECT_EQ(rig.run(rig.a, reads ? rig.read_wqe(0, 16) : rig.write_wqe(0, 16)),
              Syndrome::remote_access);
    EXPECT_EQ(rig.b.word<std::uint64_t>(4096), before);
  }
}

TEST(MkeyFaults, OfALocalPartThatHasGone) {
  const auto check = [](auto post) {
    MkeyRig rig;
    Layout layout = concatenated(rig.a, {{4096, 8}});
    layout.change.entries.push_back(klm(rig.a.key ^ 1, rig.a.heap_address(0), 8));
    layout.change.length += 8;
    ASSERT_EQ(rig.enable(rig.a, layout.change), Syndrome::none);
    EXPECT_EQ(rig.run(rig.a, post(rig)), Syndrome::local_protection);
    EXPECT_EQ(rig.a.info().state, QpState::err);
  };
  const auto remote = [](const MkeyRig& rig) {
    return format::to_segment(format::remote_address(rig.b.heap_address(0), Be32{rig.b.key}));
  };
  check([&](MkeyRig& rig) {
    return Wqe{.opcode = Opcode::rdma_write, .body = {remote(rig), rig.local(0, 16)}};
  });
  check([&](MkeyRig& rig) {
    return Wqe{.opcode = Opcode::rdma_read, .body = {remote(rig), rig.local(0, 16)}};
  });
  check([&](MkeyRig& rig) {
    rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 64)});
    return Wqe{.opcode = Opcode::send, .body = {rig.local(0, 16)}};
  });
  check([&](MkeyRig& rig) { return Wqe{.opcode = Opcode::dump, .body = {rig.local(0, 16)}}; });
}

TEST(MkeyFaults, OfReceives) {
  MkeyRig rig;
  Layout layout = concatenated(rig.b, {{4096, 8}});
  layout.change.entries.push_back(klm(rig.b.key ^ 1, rig.b.heap_address(0), 8));
  layout.change.length += 8;
  ASSERT_EQ(rig.enable(rig.b, layout.change), Syndrome::none);
  rig.b.post_receive({format::data(0, Be32{rig.b_mkey}, 16)});
  EXPECT_EQ(rig.run(rig.a, {.opcode = Opcode::send, .body = {rig.a.data(0, 16)}}),
            Syndrome::remote_operation);
  const auto cqe = rig.b.receive_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(syndrome_of(*cqe), Syndrome::local_protection);
}

TEST(MkeyFaults, OfUnreliableSends) {
  RigOptions options;
  options.service = ServiceType::uc;
  MkeyRig rig(options);
  Layout layout = concatenated(rig.a, {{4096, 8}});
  ASSERT_EQ(rig.enable(rig.a, layout.change), Syndrome::none);
  fill(rig.a.heap.data() + 4096, 8, 3);
  Wqe write{
      .opcode = Opcode::rdma_write,
      .body = {format::to_segment(format::remote_address(rig.b.heap_address(0), Be32{rig.b.key})),
               rig.local(0, 8)}};
  EXPECT_EQ(rig.run(rig.a, write), Syndrome::none);
  EXPECT_EQ(first_bytes(rig.b, 8), gathered(rig.a, layout.places));
  layout.change.entries.push_back(klm(rig.a.key ^ 1, rig.a.heap_address(0), 8));
  layout.change.length = 16;
  ASSERT_EQ(rig.enable(rig.a, layout.change), Syndrome::none);
  write.body[1] = rig.local(0, 16);
  EXPECT_EQ(rig.run(rig.a, write), Syndrome::local_protection);
}

// How a key ends, and begins again.
TEST(MkeyEnds, ALocalInvalidateFreesIt) {
  MkeyRig rig;
  const Layout layout = concatenated(rig.b, {{4096, 8}});
  ASSERT_EQ(rig.enable(rig.b, layout.change), Syndrome::none);
  ASSERT_EQ(rig.run(rig.a, rig.write_wqe(0, 8)), Syndrome::none);
  ASSERT_EQ(rig.run(rig.b, invalidate_wqe(rig.b_mkey)), Syndrome::none);
  EXPECT_TRUE(rig.b.engine.query_mkey(rig.b_mkey)->free);
  ASSERT_EQ(rig.enable(rig.b, layout.change), Syndrome::none);
  EXPECT_EQ(rig.run(rig.a, rig.write_wqe(0, 8)), Syndrome::none);
  ASSERT_EQ(rig.run(rig.b, invalidate_wqe(rig.b_mkey)), Syndrome::none);
  EXPECT_EQ(rig.run(rig.a, rig.write_wqe(0, 8)), Syndrome::remote_access);
}

// Once it has had its effect it is not told as flushed, whenever its queue pair fails.
TEST(MkeyEnds, ASilentLocalInvalidateIsFlushedOnlyIfItWasNotDone) {
  std::set<bool> seen;
  for (int steps = 0; steps < 8; ++steps) {
    MkeyRig rig;
    ASSERT_EQ(rig.enable(rig.b, concatenated(rig.b, {{4096, 8}}).change), Syndrome::none);
    Wqe invalidate = invalidate_wqe(rig.b_mkey);
    invalidate.completion = format::Completion::on_error;
    rig.b.post(invalidate);
    rig.b.ring();
    for (int i = 0; i < steps; ++i) rig.b.engine.step(++rig.now_ns);
    QpModify modify;
    modify.state = QpState::err;
    ASSERT_TRUE(rig.b.engine.modify_qp(rig.b.qpn, modify));
    ASSERT_TRUE(rig.EngineRig::run());
    const bool was_done = rig.b.engine.query_mkey(rig.b_mkey)->free;
    EXPECT_EQ(rig.b.send_cq.poll().has_value(), !was_done) << "after " << steps << " steps";
    seen.insert(was_done);
  }
  EXPECT_EQ(seen.size(), 2u);
}

TEST(MkeyEnds, APeerFreesItWhereThatIsAllowed) {
  for (const bool allowed : {false, true}) {
    MkeyRig rig;
    MkeyAttributes attributes = list_key(rig.b.pd);
    attributes.remote_invalidate = allowed;
    rig.b_mkey = *rig.b.engine.create_mkey(attributes);
    ASSERT_EQ(rig.enable(rig.b, concatenated(rig.b, {{4096, 8}}).change), Syndrome::none);
    rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 64)});
    const Wqe send{.opcode = Opcode::send_inval, .imm = rig.b_mkey, .body = {rig.a.data(0, 8)}};
    if (allowed) {
      EXPECT_EQ(rig.run(rig.a, send), Syndrome::none);
      EXPECT_EQ(rig.run(rig.a, rig.write_wqe(0, 8)), Syndrome::remote_access);
    } else {
      EXPECT_ANY_THROW(rig.run(rig.a, send)) << "the responder is silent";
      EXPECT_EQ(rig.b.info().state, QpState::err);
    }
  }
}

TEST(MkeyEnds, WhoseKeyIsDestroyed) {
  MkeyRig rig;
  ASSERT_EQ(rig.enable(rig.b, concatenated(rig.b, {{4096, 8}}).change), Syndrome::none);
  ASSERT_TRUE(rig.b.engine.destroy_mkey(rig.b_mkey));
  EXPECT_EQ(rig.run(rig.a, rig.write_wqe(0, 8)), Syndrome::remote_access);
}

// The WQEs themselves.
TEST(MkeyWqes, MayHaveTheirListInMemory) {
  for (const bool delayed : {false, true}) {
    RigOptions options;
    if (delayed) {
      options.make_port = [](int side) {
        return std::make_unique<DelayedDma>(static_cast<std::uint32_t>(side), false);
      };
    }
    MkeyRig rig(options);
    const Layout layout = concatenated(rig.b, {{4096, 8}, {8192, 8}});
    Umr umr = list_umr(
        {.key = rig.b_mkey, .entries = layout.change.entries, .length = layout.change.length});
    std::memcpy(rig.b.heap.data(), umr.list.data(), 64);
    umr.control.flags = 0;
    umr.list = {klm(rig.b.key, rig.b.heap_address(0), 64)};  // a data segment looks like it
    Wqe wqe = umr_wqe(rig.b_mkey, umr);
    wqe.body.resize(8);
    ASSERT_EQ(rig.run(rig.b, wqe), Syndrome::none);
    fill(rig.a.heap.data(), 16, 9);
    EXPECT_EQ(rig.run(rig.a, rig.write_wqe(0, 16)), Syndrome::none);
    EXPECT_EQ(gathered(rig.b, layout.places), first_bytes(rig.a, 16));
  }
}

TEST(MkeyWqes, WhoseListIsNowhereFail) {
  const auto syndrome = [](auto change) {
    MkeyRig rig;
    Umr umr = list_umr({.key = rig.b_mkey, .entries = {klm(rig.b.key, 0, 1)}, .length = 1});
    umr.control.flags = 0;
    umr.list = {klm(rig.b.key, rig.b.heap_address(0), 64)};
    change(rig, umr.list[0]);
    Wqe wqe = umr_wqe(rig.b_mkey, umr);
    wqe.body.resize(8);
    const Syndrome result = rig.run(rig.b, wqe);
    EXPECT_EQ(rig.b.info().state, result == Syndrome::none ? QpState::rts : QpState::err);
    EXPECT_EQ(rig.b.engine.query_mkey(rig.b_mkey)->free, result != Syndrome::none);
    return result;
  };
  EXPECT_EQ(syndrome([](MkeyRig&, KeyListEntry&) {}), Syndrome::none);
  EXPECT_EQ(syndrome([](MkeyRig&, KeyListEntry& at) { at.byte_count = Be32{63}; }),
            Syndrome::local_length);
  EXPECT_EQ(syndrome([](MkeyRig& rig, KeyListEntry& at) { at.mkey = Be32{rig.b.key ^ 1}; }),
            Syndrome::local_protection);
  EXPECT_EQ(syndrome([](MkeyRig& rig, KeyListEntry& at) {
              at.address = Be64{rig.b.heap_address(rig.b.heap.size() - 63)};
            }),
            Syndrome::local_protection);
}

TEST(MkeyWqes, ThatMayNotChangeTheKeyFail) {
  const auto refused = [](auto change, Syndrome syndrome = Syndrome::memory_window_bind) {
    MkeyRig rig;
    Umr umr = list_umr(
        {.key = rig.b_mkey, .entries = {klm(rig.b.key, rig.b.heap_address(0), 8)}, .length = 8});
    MemoryKey key = rig.b_mkey;
    change(rig, umr, key);
    EXPECT_EQ(rig.run(rig.b, umr_wqe(key, umr)), syndrome);
    EXPECT_TRUE(rig.b.engine.query_mkey(rig.b_mkey)->free) << "it is as it was";
    EXPECT_TRUE(rig.b.engine.query_mkey(rig.b_mkey)->entries.empty());
  };
  const auto with_mask = [](Umr& umr, std::uint64_t bit) {
    umr.control.mkey_mask = Be64{std::uint64_t{umr.control.mkey_mask} | bit};
  };
  namespace flags = format::umr_flags;
  refused([](MkeyRig&, Umr&, MemoryKey& key) { key += 0x100000; });
  refused([](MkeyRig& rig, Umr&, MemoryKey& key) { key = rig.b.key; });
  refused([](MkeyRig& rig, Umr&, MemoryKey& key) {
    key = *rig.b.engine.create_mkey(list_key(*rig.b.engine.alloc_pd()));
  });
  refused([](MkeyRig& rig, Umr&, MemoryKey& key) {
    MkeyAttributes fixed = list_key(rig.b.pd);
    fixed.umr_enabled = false;
    key = *rig.b.engine.create_mkey(fixed);
  });
  refused([](MkeyRig&, Umr& umr, MemoryKey&) { umr.control.flags |= flags::check_not_free; });
  refused([](MkeyRig&, Umr& umr, MemoryKey&) { umr.control.flags |= flags::check_qpn; });
  refused([&](MkeyRig&, Umr& umr, MemoryKey&) { with_mask(umr, 1u << 12); });  // a signature
  refused([&](MkeyRig&, Umr& umr, MemoryKey&) { with_mask(umr, 1u << 7); });   // another PD
  refused([&](MkeyRig&, Umr& umr, MemoryKey&) { with_mask(umr, 1u << 1); });   // a page size
  refused([](MkeyRig&, Umr& umr, MemoryKey&) {
    umr.control.flags |= flags::translation_offset;
    umr.control.translation_offset = Be16{61};
  });
  refused([](MkeyRig&, Umr& umr, MemoryKey&) {
    umr.control.flags |= flags::translation_offset;
    umr.control.rsvd1[3] = 1;
  });
  refused([](MkeyRig&, Umr& umr, MemoryKey&) { umr.control.translation_offset = Be16{4}; });
  refused([](MkeyRig&, Umr& umr, MemoryKey&) { umr.control.klm_octowords = Be16{5}; },
          Syndrome::local_qp_operation);
}

TEST(MkeyWqes, ChangeSomeOfTheParts) {
  MkeyRig rig;
  ASSERT_EQ(rig.enable(rig.b, concatenated(rig.b, {{4096, 8}, {8192, 8}}).change), Syndrome::none);
  Umr umr = list_umr(
      {.key = rig.b_mkey, .entries = {klm(rig.b.key, rig.b.heap_address(12288), 8), {}, {}, {}}});
  umr.control.flags |= format::umr_flags::translation_offset | format::umr_flags::check_not_free;
  umr.control.translation_offset = Be16{1};
  umr.control.mkey_mask = Be64{0};
  ASSERT_EQ(rig.run(rig.b, umr_wqe(rig.b_mkey, umr)), Syndrome::none);
  rig.a.word<std::uint64_t>(8) = 77;
  ASSERT_EQ(rig.run(rig.a, rig.write_wqe(0, 16)), Syndrome::none);
  EXPECT_EQ(rig.b.word<std::uint64_t>(12288), 77u);
  EXPECT_EQ(rig.b.word<std::uint64_t>(8192), 0u);
}

// WQEs behind find the key as it is then, those in front as it was.
TEST(MkeyWqes, AreCarriedOutInTheirOrder) {
  MkeyRig rig;
  const auto post = [&](std::size_t from, std::size_t to) {
    ListChange change = concatenated(rig.a, {{from, 8}}).change;
    change.key = rig.a_mkey;
    rig.a.post(list_wqe(change));
    rig.a.post({.opcode = Opcode::rdma_write,
                .body = {format::to_segment(
                             format::remote_address(rig.b.heap_address(to), Be32{rig.b.key})),
                         rig.local(0, 8)}});
  };
  for (std::size_t i = 0; i < 8; ++i) {
    rig.a.word<std::uint64_t>(4096 + 8 * i) = 100 + i;
    post(4096 + 8 * i, 8 * i);
  }
  rig.a.ring();
  ASSERT_TRUE(rig.EngineRig::run());
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(rig.b.word<std::uint64_t>(8 * i), 100 + i);
}

// Losses lead over the WQEs again, which are not carried out a second time.
TEST(MkeyWqes, AreCarriedOutOnce) {
  int sent = 0;
  RigOptions options;
  options.wrap_wire = [&sent](std::unique_ptr<Wire> inner, int side) -> std::unique_ptr<Wire> {
    Losses losses;
    losses.drop = [&sent, side](const Packet&) { return side == 0 && sent++ == 0; };
    return std::make_unique<LossyWire>(std::move(inner), losses);
  };
  MkeyRig rig(options);
  const Layout layout = concatenated(rig.a, {{4096, 8}});
  Umr must_be_free = list_umr(
      {.key = rig.a_mkey, .entries = layout.change.entries, .length = layout.change.length});
  must_be_free.control.flags |= format::umr_flags::check_free;
  rig.a.post(
      {.opcode = Opcode::rdma_write,
       .body = {format::to_segment(format::remote_address(rig.b.heap_address(0), Be32{rig.b.key})),
                rig.a.data(0, 8)}});
  rig.a.post(umr_wqe(rig.a_mkey, must_be_free));
  rig.a.ring();
  std::vector<format::Cqe64> cqes;
  EXPECT_TRUE(rig.run_until([&] {
    while (const auto cqe = rig.a.send_cq.poll()) cqes.push_back(*cqe);
    return cqes.size() == 2;
  }));
  for (const auto& cqe : cqes) EXPECT_EQ(opcode_of(cqe), CqeOpcode::requester);
}

// An address that may be right, or any.
std::uint64_t some_value(std::mt19937& random, const Side& side) {
  switch (random() % 5) {
    case 0: return random();
    case 1: return side.heap_address(random() % side.heap.size());
    case 2: return random() % 4096;
    case 3: return ~std::uint64_t{0} - random() % 64;
    default: return 0;
  }
}

// A WQE that changes b's key, mostly to what might be.
Wqe some_change(std::mt19937& random, const MkeyRig& rig) {
  ListChange change;
  change.key = rig.b_mkey;
  for (std::uint32_t i = random() % 9; i != 0; --i) {
    const std::array keys = {rig.b.key, rig.b_mkey, rig.b.key ^ 1, MemoryKey{0},
                             MemoryKey{format::kRepeatBlock}};
    const std::uint64_t bytes = random() % 3 == 0 ? some_value(random, rig.b) : random() % 99;
    change.entries.push_back(klm(keys[random() % keys.size()], some_value(random, rig.b),
                                 static_cast<std::uint32_t>(bytes)));
  }
  change.length = random() % 2 == 0 ? 200 : some_value(random, rig.b);
  Umr umr = list_umr(change);
  std::array<std::uint8_t, sizeof umr.control + sizeof umr.context> bytes;
  std::memcpy(bytes.data(), &umr.control, sizeof umr.control);
  std::memcpy(bytes.data() + sizeof umr.control, &umr.context, sizeof umr.context);
  for (std::uint32_t i = random() % 4; i != 0; --i) {
    bytes[random() % bytes.size()] = static_cast<std::uint8_t>(random());
  }
  std::memcpy(&umr.control, bytes.data(), sizeof umr.control);
  std::memcpy(&umr.context, bytes.data() + sizeof umr.control, sizeof umr.context);
  return umr_wqe(rig.b_mkey, umr);
}

// Whatever the WQEs say, and accesses by the key that they leave come to, both engines live.
TEST(MkeyWqes, OfRandomBytesCrashNobody) {
  std::mt19937 random(11);
  int changed = 0, moved = 0;
  for (int round = 0; round < 1000; ++round) {
    MkeyRig rig;
    if (rig.run(rig.b, some_change(random, rig)) != Syndrome::none) continue;
    ++changed;
    const std::uint64_t at = random() % 2 == 0 ? 0 : some_value(random, rig.b) % 64;
    const std::uint32_t size = 1 + random() % 300;
    const Wqe wqe = random() % 2 == 0 ? rig.write_wqe(at, size) : rig.read_wqe(at, size);
    moved += rig.run(rig.a, wqe) == Syndrome::none;
  }
  EXPECT_GT(changed, 100);
  EXPECT_GT(moved, 10);
}

}  // namespace
}  // namespace gdakit::softnic::test
