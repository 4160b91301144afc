// Memory windows: binds, what they grant, and how that ends.
#include <gtest/gtest.h>

#include "tests/softnic/lossy_wire.h"
#include "tests/softnic/window_rig.h"

namespace gdakit::softnic::test {
namespace {

using format::CqeOpcode;
using format::Opcode;
using format::Syndrome;
namespace rights = format::mkey_access;

class WindowsOfBothTypes : public testing::TestWithParam<WindowType> {};
INSTANTIATE_TEST_SUITE_P(Types, WindowsOfBothTypes,
                         testing::Values(WindowType::type_1, WindowType::type_2));

TEST_P(WindowsOfBothTypes, GrantNothingBeforeTheyAreBound) {
  WindowRig rig(GetParam());
  EXPECT_EQ(rig.write(), Syndrome::remote_access);
}

TEST_P(WindowsOfBothTypes, GrantWhatTheBindSays) {
  WindowRig rig(GetParam());
  ASSERT_EQ(rig.do_bind(), Syndrome::none);
  fill(rig.a.heap.data(), kWindowLength, 3);
  EXPECT_EQ(rig.write(0, kWindowLength), Syndrome::none);
  EXPECT_EQ(std::memcmp(rig.b.heap.data() + kWindowAt, rig.a.heap.data(), kWindowLength), 0);
  fill(rig.b.heap.data() + kWindowAt, kWindowLength, 4);
  EXPECT_EQ(rig.read(0, kWindowLength), Syndrome::none);
  EXPECT_EQ(std::memcmp(rig.b.heap.data() + kWindowAt, rig.a.heap.data(), kWindowLength), 0);
  EXPECT_EQ(rig.write(0, 8, rig.b.key), Syndrome::none);  // the region's own key is as before
}

TEST_P(WindowsOfBothTypes, EndWhereTheBindSays) {
  for (const std::uint64_t offset : {kWindowLength - 7, kWindowLength, ~std::uint64_t{0}}) {
    WindowRig rig(GetParam());
    ASSERT_EQ(rig.do_bind(), Syndrome::none);
    EXPECT_EQ(rig.write(offset), Syndrome::remote_access);
  }
}

TEST_P(WindowsOfBothTypes, HaveNoRightThatTheBindDoesNotName) {
  const auto only = [](std::uint8_t right) {
    auto rig = std::make_unique<WindowRig>(GetParam());
    Bind bind = rig->bind_of(1);
    bind.rights = right;
    EXPECT_EQ(rig->do_bind(bind), Syndrome::none);
    return rig;
  };
  EXPECT_EQ(only(rights::remote_read)->read(), Syndrome::none);
  EXPECT_EQ(only(rights::remote_read)->write(), Syndrome::remote_access);
  EXPECT_EQ(only(rights::remote_write)->read(), Syndrome::remote_access);
  EXPECT_EQ(only(rights::local_write)->write(), Syndrome::remote_access);
  const auto atomic = only(rights::atomic);
  EXPECT_EQ(atomic->run_a(fetch_add_wqe(*atomic, 0, 0, 1)), Syndrome::none);
  const auto writes = only(rights::remote_write);
  EXPECT_EQ(writes->run_a(fetch_add_wqe(*writes, 0, 0, 1)), Syndrome::remote_access);
}

TEST_P(WindowsOfBothTypes, AreNoKeysOfDataSegments) {
  WindowRig rig(GetParam());
  ASSERT_EQ(rig.do_bind(), Syndrome::none);
  Wqe wqe = write_wqe(rig, 0, 0, 8);
  wqe.body[1] = format::to_segment(format::data(rig.start(), Be32{rig.key}, 8));
  rig.b.post(wqe);
  EXPECT_EQ(rig.run_b(), Syndrome::local_protection);
}

TEST_P(WindowsOfBothTypes, MayBeginAtZero) {
  WindowRig rig(GetParam());
  Bind bind = rig.bind_of(9);
  bind.place = bind.start;
  bind.start = 0;
  rig.set_start(0);
  ASSERT_EQ(rig.do_bind(bind), Syndrome::none);
  rig.a.word<std::uint64_t>(0) = 0x1234;
  EXPECT_EQ(rig.write(16), Syndrome::none);
  EXPECT_EQ(rig.b.word<std::uint64_t>(kWindowAt + 16), 0x1234u);
}

TEST_P(WindowsOfBothTypes, HaveTheLowByteOfTheirBind) {
  for (const std::uint8_t wrong : {0x11, 0x13}) {
    WindowRig rig(GetParam());
    ASSERT_EQ(rig.do_bind(0x12), Syndrome::none);
    EXPECT_EQ(rig.write(), Syndrome::none);
    EXPECT_EQ(rig.write(0, 8, (rig.key & ~0xffu) | wrong), Syndrome::remote_access);
  }
}

// As on hardware, where the list is stored as it is: the access finds it.
TEST_P(WindowsOfBothTypes, MayReachBeyondTheRegionWhereNoAccessGoes) {
  WindowRig rig(GetParam());
  Bind bind = rig.bind_of(1);
  bind.length = rig.b.heap.size();
  ASSERT_EQ(rig.do_bind(bind), Syndrome::none);
  EXPECT_EQ(rig.write(rig.b.heap.size() - kWindowAt - 8), Syndrome::none);
  EXPECT_EQ(rig.write(rig.b.heap.size() - kWindowAt), Syndrome::remote_access);
}

TEST_P(WindowsOfBothTypes, EndWithTheirRegion) {
  WindowRig rig(GetParam());
  ASSERT_EQ(rig.do_bind(), Syndrome::none);
  EXPECT_EQ(rig.write(), Syndrome::none);
  ASSERT_TRUE(rig.b.engine.dereg_mr(rig.b.key));
  EXPECT_EQ(rig.write(), Syndrome::remote_access);
}

TEST_P(WindowsOfBothTypes, EndWhenTheyAreDeallocated) {
  WindowRig rig(GetParam());
  ASSERT_EQ(rig.do_bind(), Syndrome::none);
  EXPECT_TRUE(rig.b.engine.dealloc_mw(rig.window));
  EXPECT_FALSE(rig.b.engine.dealloc_mw(rig.window));
  EXPECT_EQ(rig.write(), Syndrome::remote_access);
}

TEST_P(WindowsOfBothTypes, AreNoRegions) {
  WindowRig rig(GetParam());
  EXPECT_FALSE(rig.b.engine.dereg_mr(rig.window));
  EXPECT_FALSE(rig.b.engine.dealloc_mw(rig.b.key));
  Bind bind = rig.bind_of(1);
  bind.region = rig.window;
  EXPECT_EQ(rig.do_bind(bind), Syndrome::memory_window_bind);
}

TEST_P(WindowsOfBothTypes, OfRegionsInPagesFindEachPage) {
  WindowRig rig(GetParam());
  MrAttributes mr;
  mr.pd = rig.b.pd;
  mr.access = Access::all | Access::bind;
  mr.start = 0x10000;
  mr.length = 2 * 4096;
  mr.pages = {host_address(rig.b.heap.data() + 3 * 4096), host_address(rig.b.heap.data() + 4096)};
  Bind bind = rig.bind_of(1);
  bind.region = *rig.b.engine.reg_mr(mr);
  bind.start = 0x10000 + 4096 - 16;
  bind.length = 32;
  rig.set_start(bind.start);
  ASSERT_EQ(rig.do_bind(bind), Syndrome::none);
  fill(rig.a.heap.data(), 32, 5);
  EXPECT_EQ(rig.write(0, 32), Syndrome::none);
  EXPECT_EQ(std::memcmp(rig.b.heap.data() + 4 * 4096 - 16, rig.a.heap.data(), 16), 0);
  EXPECT_EQ(std::memcmp(rig.b.heap.data() + 4096, rig.a.heap.data() + 16, 16), 0);
}

// The bind is refused, and the window is as it was.
TEST_P(WindowsOfBothTypes, BindToNothingThatTheyMayNot) {
  const auto refused = [](auto change) {
    WindowRig rig(GetParam());
    Bind bind = rig.bind_of(1);
    change(rig, bind);
    EXPECT_EQ(rig.do_bind(bind), Syndrome::memory_window_bind);
    EXPECT_EQ(rig.b.info().state, QpState::err);
  };
  const auto region = [](WindowRig& rig, Access access, PdNumber pd) {
    MrAttributes mr;
    mr.pd = pd;
    mr.base = host_address(rig.b.heap.data());
    mr.start = mr.base.value;
    mr.length = rig.b.heap.size();
    mr.access = access;
    return *rig.b.engine.reg_mr(mr);
  };
  refused([](WindowRig&, Bind& bind) { bind.region ^= 1; });
  refused([](WindowRig&, Bind& bind) { bind.region += 0x100000; });
  refused([&](WindowRig& rig, Bind& bind) { bind.region = region(rig, Access::all, rig.b.pd); });
  refused([&](WindowRig& rig, Bind& bind) {
    bind.region = region(rig, Access::all | Access::bind, *rig.b.engine.alloc_pd());
  });
  refused([&](WindowRig& rig, Bind& bind) {
    bind.region = region(rig, Access::local_read | Access::bind, rig.b.pd);
  });
  refused([](WindowRig& rig, Bind& bind) {
    bind.window = *rig.b.engine.alloc_mw(*rig.b.engine.alloc_pd(), GetParam());
  });
  refused([](WindowRig& rig, Bind& bind) { bind.window = rig.b.key; });
  refused([](WindowRig&, Bind& bind) { bind.window += 0x100000; });
}

// Of the region: local rights are those that a window's remote ones come to.
TEST_P(WindowsOfBothTypes, ThatAreOnlyReadNeedNoRegionThatIsWritten) {
  WindowRig rig(GetParam());
  MrAttributes mr;
  mr.pd = rig.b.pd;
  mr.base = host_address(rig.b.heap.data());
  mr.start = mr.base.value;
  mr.length = rig.b.heap.size();
  mr.access = Access::local_read | Access::bind;
  Bind bind = rig.bind_of(1);
  bind.region = *rig.b.engine.reg_mr(mr);
  bind.rights = rights::remote_read;
  ASSERT_EQ(rig.do_bind(bind), Syndrome::none);
  EXPECT_EQ(rig.read(), Syndrome::none);
}

TEST(WindowsOfType1, AnotherBindTakesThePlaceOfOneBefore) {
  WindowRig rig;
  ASSERT_EQ(rig.do_bind(1), Syndrome::none);
  const MemoryKey old = rig.key;
  ASSERT_EQ(rig.do_bind(2), Syndrome::none);
  EXPECT_EQ(rig.write(), Syndrome::none);
  EXPECT_EQ(rig.write(0, 8, old), Syndrome::remote_access);
}

TEST(WindowsOfType1, GrantARegionOfOneQueuePairToThatOne) {
  for (const bool is_own : {true, false}) {
    WindowRig rig(WindowType::type_1);
    MrAttributes region;
    region.pd = rig.b.pd;
    region.base = {rig.b.heap_address(kWindowAt)};
    region.start = region.base.value;
    region.length = kWindowLength;
    region.access = Access::all | Access::bind;
    region.qpn = is_own ? rig.b.qpn : rig.b.qpn + 1;
    Bind bind = rig.bind_of(7);
    bind.region = *rig.b.engine.reg_mr(region);
    ASSERT_EQ(rig.do_bind(bind), Syndrome::none);
    EXPECT_EQ(rig.write(), is_own ? Syndrome::none : Syndrome::remote_access);
  }
}

TEST(WindowsOfType1, ABindOfNothingEndsThem) {
  WindowRig rig;
  ASSERT_EQ(rig.do_bind(1), Syndrome::none);
  ASSERT_EQ(rig.do_umr(free_umr(/*type_1=*/true, 2)), Syndrome::none);
  EXPECT_EQ(rig.write(), Syndrome::remote_access);
}

TEST(WindowsOfType1, NoPeerEndsThem) {
  WindowRig rig;
  ASSERT_EQ(rig.do_bind(1), Syndrome::none);
  EXPECT_FALSE(rig.send_with_invalidate(rig.key)) << "the responder is silent";
  EXPECT_EQ(rig.b.info().state, QpState::err);
}

TEST(WindowsOfType2, AreBoundOnceUntilTheyEnd) {
  WindowRig rig(WindowType::type_2);
  ASSERT_EQ(rig.do_bind(1), Syndrome::none);
  EXPECT_EQ(rig.do_bind(2), Syndrome::memory_window_bind);
}

TEST(WindowsOfType2, AreOfOneQueuePair) {
  WindowRig rig(WindowType::type_2);
  Bind bind = rig.bind_of(1);
  bind.type_2_of = rig.b.qpn + 1;
  ASSERT_EQ(rig.do_bind(bind), Syndrome::none);
  EXPECT_EQ(rig.write(), Syndrome::remote_access);
}

TEST(WindowsOfType2, ALocalInvalidateEndsThemUntilTheNextBind) {
  WindowRig rig(WindowType::type_2);
  ASSERT_EQ(rig.do_bind(1), Syndrome::none);
  ASSERT_EQ(rig.do_umr(free_umr()), Syndrome::none);
  ASSERT_EQ(rig.do_bind(2), Syndrome::none);
  EXPECT_EQ(rig.write(), Syndrome::none);
  ASSERT_EQ(rig.do_umr(free_umr()), Syndrome::none);
  EXPECT_EQ(rig.write(), Syndrome::remote_access);
}

TEST(WindowsOfType2, EndOnceAndByTheirQueuePairAlone) {
  WindowRig twice(WindowType::type_2);
  EXPECT_EQ(twice.do_umr(free_umr()), Syndrome::memory_window_bind);
  WindowRig other(WindowType::type_2);
  Bind bind = other.bind_of(1);
  bind.type_2_of = other.b.qpn + 1;
  ASSERT_EQ(other.do_bind(bind), Syndrome::none);
  EXPECT_EQ(other.do_umr(free_umr()), Syndrome::memory_window_bind);
}

TEST(WindowsOfType2, APeerEndsThemByASend) {
  WindowRig rig(WindowType::type_2);
  ASSERT_EQ(rig.do_bind(1), Syndrome::none);
  rig.a.word<std::uint64_t>(0) = 0x77;
  ASSERT_EQ(rig.send_with_invalidate(rig.key), Syndrome::none);
  const auto cqe = rig.b.receive_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(opcode_of(*cqe), CqeOpcode::responder_send_inv);
  EXPECT_EQ(cqe->imm_inval_pkey, rig.key);
  EXPECT_EQ(cqe->byte_cnt, 8u);
  EXPECT_EQ(rig.b.word<std::uint64_t>(0), 0x77u);
  ASSERT_EQ(rig.do_bind(2), Syndrome::none);
  EXPECT_EQ(rig.write(), Syndrome::none);
  ASSERT_EQ(rig.send_with_invalidate(rig.key), Syndrome::none);
  EXPECT_EQ(rig.write(), Syndrome::remote_access);
}

// A message of several packets, over a wire that carries payload by value.
TEST(WindowsOfType2, ALongSendEndsThemByItsLastPacket) {
  RigOptions options;
  options.wire.mtu = 256;
  options.settings.path.mtu = 256;
  WindowRig rig(WindowType::type_2, options);
  ASSERT_EQ(rig.do_bind(1), Syndrome::none);
  rig.b.post_receive({format::data(rig.b.heap_address(0), Be32{rig.b.key}, 4096)});
  ASSERT_EQ(rig.run_a_as_it_is(
                {.opcode = Opcode::send_inval, .imm = rig.key, .body = {rig.a.data(0, 3000)}}),
            Syndrome::none);
  const auto cqe = rig.b.receive_cq.poll();
  ASSERT_TRUE(cqe);
  EXPECT_EQ(opcode_of(*cqe), CqeOpcode::responder_send_inv);
  EXPECT_EQ(cqe->byte_cnt, 3000u);
  EXPECT_EQ(rig.write(), Syndrome::remote_access);
}

// Its peer learns of it by its retries, as of a queue pair that is no more.
TEST(WindowsOfType2, ASendThatMayNotEndAKeyFailsAtTheResponderInSilence) {
  const auto refused = [](auto key_of) {
    WindowRig rig(WindowType::type_2);
    ASSERT_EQ(rig.do_bind(1), Syndrome::none);
    EXPECT_FALSE(rig.send_with_invalidate(key_of(rig)));
    EXPECT_EQ(rig.b.engine.query_counters(rig.b.qpn)->naks, 0u);
    const auto cqe = rig.b.receive_cq.poll();
    ASSERT_TRUE(cqe);
    EXPECT_EQ(opcode_of(*cqe), CqeOpcode::responder_error);
    EXPECT_EQ(syndrome_of(*cqe), Syndrome::local_access);
    EXPECT_EQ(rig.b.info().state, QpState::err);
    EXPECT_EQ(rig.b.events.of(EventKind::qp_access_error).size(), 1u);
  };
  refused([](const WindowRig& rig) { return rig.key ^ 0x80; });
  refused([](const WindowRig& rig) { return rig.key + 0x100000; });
  refused([](const WindowRig& rig) { return rig.b.key; });
  refused([](WindowRig& rig) { return *rig.b.engine.alloc_mw(rig.b.pd, WindowType::type_2); });
}

TEST(WindowsOfType2, ASendOfAnotherQueuePairDoesNotEndThem) {
  WindowRig rig(WindowType::type_2);
  Bind bind = rig.bind_of(1);
  bind.type_2_of = rig.b.qpn + 1;
  ASSERT_EQ(rig.do_bind(bind), Syndrome::none);
  EXPECT_FALSE(rig.send_with_invalidate(rig.key));
  EXPECT_EQ(rig.b.info().state, QpState::err);
}

TEST(WindowsOfType2, WhatCameBeforeARefusedSendIsAcknowledged) {
  WindowRig rig(WindowType::type_2);
  rig.a.post(write_wqe(rig, 0, 0, 8));
  EXPECT_EQ(rig.send_with_invalidate(rig.key), Syndrome::none) << "of the write";
  EXPECT_FALSE(rig.a.send_cq.poll());
  EXPECT_EQ(rig.b.info().state, QpState::err);
}

// What is sent again after a loss goes over the bind again, which must not be carried out twice.
TEST(Binds, AreCarriedOutOnce) {
  int sent = 0;
  RigOptions options;
  options.wrap_wire = [&sent](std::unique_ptr<Wire> inner, int side) -> std::unique_ptr<Wire> {
    Losses losses;
    losses.drop = [&sent, side](const Packet&) { return side == 1 && sent++ == 0; };
    return std::make_unique<LossyWire>(std::move(inner), losses);
  };
  WindowRig rig(WindowType::type_2, options);
  const Wqe write{.opcode = Opcode::rdma_write, .body = {rig.a.remote(0), rig.b.data(0, 64)}};
  for (int i = 0; i < 3; ++i) rig.b.post(write);
  rig.b.post(bind_wqe(rig.bind_of(1)));
  rig.b.post(invalidate_wqe(rig.window));
  rig.b.post(bind_wqe(rig.bind_of(2)));
  rig.b.ring();
  std::vector<format::Cqe64> cqes;
  EXPECT_TRUE(rig.run_until([&] {
    while (const auto cqe = rig.b.send_cq.poll()) cqes.push_back(*cqe);
    return cqes.size() == 6;
  }));
  EXPECT_GT(sent, 3);
  for (const auto& cqe : cqes) EXPECT_EQ(opcode_of(cqe), CqeOpcode::requester);
  EXPECT_EQ(cqes[3].sop_drop_qpn >> 24, static_cast<std::uint32_t>(Opcode::umr));
}

TEST(Binds, OfAnUnreliableConnectionAreCarriedOutToo) {
  RigOptions options;
  options.service = ServiceType::uc;
  WindowRig rig(WindowType::type_1, options);
  ASSERT_EQ(rig.do_bind(1), Syndrome::none);
  rig.a.word<std::uint64_t>(0) = 0x99;
  EXPECT_EQ(rig.write(), Syndrome::none);
  EXPECT_EQ(rig.b.word<std::uint64_t>(kWindowAt), 0x99u);
  EXPECT_EQ(rig.run_a_as_it_is(
                {.opcode = Opcode::send_inval, .imm = rig.key, .body = {rig.a.data(0, 8)}}),
            Syndrome::local_qp_operation);
}

TEST(Binds, OfMoreThanAWindowHasAreRefused) {
  const auto refused = [](Syndrome syndrome, auto change) {
    WindowRig rig;
    Umr umr = bind_umr(rig.bind_of(1));
    change(umr);
    EXPECT_EQ(rig.do_umr(umr), syndrome);
  };
  const Syndrome bind = Syndrome::memory_window_bind;
  refused(bind, [](Umr& umr) {
    umr.control.klm_octowords = Be16{8};
    umr.list.resize(8);
  });
  refused(bind, [](Umr& umr) { umr.control.klm_octowords = Be16{0}; });
  refused(bind, [](Umr& umr) { umr.control.translation_offset = Be16{4}; });
  refused(bind, [](Umr& umr) { umr.control.flags = format::umr_flags::translation_offset; });
  refused(bind, [](Umr& umr) { umr.control.flags |= format::umr_flags::check_not_free; });
  refused(bind, [](Umr& umr) {
    umr.control.mkey_mask = Be64{std::uint64_t{umr.control.mkey_mask} | 1u << 12};
  });
  refused(bind, [](Umr& umr) { umr.context.free = format::kMkeyFree; });
  refused(Syndrome::local_qp_operation, [](Umr& umr) { umr.list.clear(); });
}

TEST(Binds, OfShortWqesAreMalformed) {
  for (const std::uint32_t ds : {1, 4, 7}) {
    WindowRig rig;
    Wqe wqe = bind_wqe(rig.bind_of(1));
    wqe.ds = ds;
    rig.b.post(wqe);
    EXPECT_EQ(rig.run_b(), Syndrome::local_qp_operation);
  }
}

// The control path.
TEST(WindowObjects, KeepTheirProtectionDomain) {
  EngineRig rig;
  const PdNumber pd = *rig.a.engine.alloc_pd();
  const MemoryKey window = *rig.a.engine.alloc_mw(pd, WindowType::type_2);
  EXPECT_EQ(rig.a.engine.dealloc_pd(pd).status().status, CommandStatus::res_busy);
  EXPECT_TRUE(rig.a.engine.dealloc_mw(window));
  EXPECT_TRUE(rig.a.engine.dealloc_pd(pd));
}

TEST(WindowObjects, AreChecked) {
  EngineRig rig;
  Engine& engine = rig.a.engine;
  EXPECT_EQ(engine.alloc_mw(rig.a.pd + 1, WindowType::type_1).status().syndrome,
            CommandSyndrome::alloc_mw_pd);
  EXPECT_EQ(engine.alloc_mw(rig.a.pd, static_cast<WindowType>(3)).status().syndrome,
            CommandSyndrome::alloc_mw_type);
  const MemoryKey window = *engine.alloc_mw(rig.a.pd, WindowType::type_1);
  EXPECT_EQ(engine.dealloc_mw(window, 5).status().syndrome, CommandSyndrome::dealloc_mw_absent);
  EXPECT_TRUE(engine.dealloc_mw(window ^ 0x55));  // its index alone counts
  EXPECT_EQ(engine.dealloc_mw(window).status().syndrome, CommandSyndrome::dealloc_mw_absent);
}

}  // namespace
}  // namespace gdakit::softnic::test
