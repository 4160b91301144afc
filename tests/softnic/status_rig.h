// What each check of the control path refuses: for every syndrome a call that provokes it.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "backends/softnic/objects/status.h"
#include "backends/softnic/objects/transitions.h"
#include "tests/softnic/engine_rig.h"

namespace gdakit::softnic::test {

using Sy = CommandSyndrome;

inline constexpr std::uint32_t kAbsent = 99;
inline constexpr Uid kStranger = 5;

// An engine that has all objects that it may have: one PD, UAR and key, two CQs, one QP; and
// an SRQ with another QP; and an XRC domain with an SRQ.
class StatusTest : public testing::Test {
 protected:
  static RigOptions options(std::uint32_t max_objects) {
    RigOptions options;
    options.engine.max_qps = max_objects;
    options.engine.max_objects = max_objects;
    return options;
  }

  MrAttributes mr() const {
    MrAttributes attributes;
    attributes.pd = side.pd;
    attributes.base = host_address(side.heap.data());
    attributes.start = attributes.base.value;
    attributes.length = 64;
    attributes.access = Access::all;
    return attributes;
  }
  CqAttributes cq() const {
    CqAttributes attributes;
    attributes.entries = side.send_cq.address();
    attributes.overrun_ignore = true;
    return attributes;
  }
  QpAttributes qp() const {
    QpAttributes attributes = side.another_qp(side.record);
    attributes.receive_cq = side.send_cqn;
    attributes.has_receive_queue = true;
    attributes.receive_queue = host_address(side.rq.data());
    return attributes;
  }

  SrqAttributes srq() const {
    SrqAttributes attributes;
    attributes.pd = side.pd;
    attributes.wqes = host_address(side.rq.data());
    attributes.doorbell_record = host_address(side.record.data());
    return attributes;
  }

  template <class Change>
  Status of_mr(Change change) {
    MrAttributes attributes = mr();
    change(attributes);
    return engine.reg_mr(attributes).status();
  }
  template <class Change>
  Status of_cq(Change change) {
    CqAttributes attributes = cq();
    change(attributes);
    return engine.create_cq(attributes).status();
  }
  Status of_armable_cq(UarNumber uar) {
    return of_cq([&](CqAttributes& a) {
      a.uar = uar;
      a.doorbell_record = host_address(side.record.data());
    });
  }
  template <class Change>
  Status of_qp(Change change) {
    QpAttributes attributes = qp();
    change(attributes);
    return engine.create_qp(attributes).status();
  }
  template <class Change>
  Status of_srq(Change change) {
    SrqAttributes attributes = srq();
    change(attributes);
    return engine.create_srq(attributes).status();
  }
  // One that has a queue pair.
  SrqNumber make_used_srq() {
    const SrqNumber number = *engine.create_srq(srq());
    QpAttributes attributes = qp();
    attributes.has_receive_queue = false;
    attributes.srq = number;
    EXPECT_TRUE(engine.create_qp(attributes));
    return number;
  }
  SrqNumber make_xrc_srq() {
    SrqAttributes attributes = srq();
    attributes.xrc = {domain, side.send_cqn, 0};
    return *engine.create_srq(attributes);
  }
  // A modify to this state, on the way from reset to rts.
  template <class Change>
  Status of_modify(QpState to, Change change) {
    QpModify modify;
    for (const QpState state : {QpState::reset, QpState::init, QpState::rtr, QpState::rts}) {
      modify.state = state;
      if (state == to) break;
      EXPECT_TRUE(engine.modify_qp(side.qpn, modify));
    }
    change(modify);
    return engine.modify_qp(side.qpn, modify).status();
  }
  // One of two entries, which may be moved, and one that may not.
  CqNumber make_movable_cq() {
    CqAttributes attributes = cq();
    attributes.log_entries = 1;
    attributes.overrun_ignore = false;
    attributes.doorbell_record = host_address(cq_record.data());
    return *engine.create_cq(attributes);
  }
  CqNumber make_collapsed_cq() {
    CqAttributes attributes = cq();
    attributes.collapsed = true;
    return *engine.create_cq(attributes);
  }
  // What a move of the one says whose consumer is so many CQEs behind.
  Status of_resize(std::uint32_t behind, const CqResize& to) {
    cq_record[0] = Be32{0u - behind};
    return engine.resize_cq(movable_cq, to).status();
  }
  CqResize to_entries(std::uint32_t log_entries) const {
    return {.entries = side.send_cq.address(), .log_entries = log_entries};
  }

  // What a creation says when there are as many objects as there may be.
  template <class Create>
  Status when_full(Create create) {
    for (std::uint32_t i = 0; i < kMax; ++i) {
      const Status status = create();
      if (!status.ok()) return status;
    }
    return {};
  }

  std::map<Sy, std::function<Status()>> pd_and_uar() {
    return {
        {Sy::alloc_pd_numbers,
         [this] { return when_full([this] { return engine.alloc_pd().status(); }); }},
        {Sy::dealloc_pd_absent, [this] { return engine.dealloc_pd(kAbsent).status(); }},
        {Sy::dealloc_pd_busy, [this] { return engine.dealloc_pd(side.pd).status(); }},
        {Sy::alloc_uar_numbers,
         [this] {
           return when_full([this] { return engine.alloc_uar(UarType::dense).status(); });
         }},
        {Sy::free_uar_absent, [this] { return engine.free_uar(kAbsent).status(); }},
        {Sy::free_uar_busy, [this] { return engine.free_uar(side.uar).status(); }},
    };
  }
  std::map<Sy, std::function<Status()>> mr_and_cq() {
    using Mr = MrAttributes;
    using Cqa = CqAttributes;
    return {
        {Sy::reg_mr_pd, [this] { return of_mr([](Mr& a) { a.pd = kAbsent; }); }},
        {Sy::reg_mr_wraps, [this] { return of_mr([](Mr& a) { a.start = ~std::uint64_t{0}; }); }},
        {Sy::reg_mr_rights,
         [this] { return of_mr([](Mr& a) { a.access = Access::remote_write; }); }},
        {Sy::reg_mr_numbers,
         [this] { return when_full([this] { return engine.reg_mr(mr()).status(); }); }},
        {Sy::reg_mr_page_size,
         [this] {
           return of_mr([](Mr& a) {
             a.pages = {a.base};
             a.log_page_size = 11;
           });
         }},
        {Sy::reg_mr_page_count,
         [this] { return of_mr([](Mr& a) {
                    a.pages = {a.base, a.base};
                  }); }},
        {Sy::reg_mr_page_alignment,
         [this] { return of_mr([](Mr& a) { a.pages = {a.base + 8}; }); }},
        {Sy::dereg_mr_absent, [this] { return engine.dereg_mr(kAbsent).status(); }},
        {Sy::rereg_mr_absent, [this] { return engine.rereg_mr(kAbsent, mr()).status(); }},
        {Sy::create_cq_size, [this] { return of_cq([](Cqa& a) { a.log_entries = 23; }); }},
        {Sy::create_cq_entries, [this] { return of_cq([](Cqa& a) { a.entries.value += 32; }); }},
        {Sy::create_cq_record_alignment,
         [this] {
           return of_cq([](Cqa& a) {
             a.overrun_ignore = false;
             a.doorbell_record = {4};
           });
         }},
        {Sy::create_cq_no_record,
         [this] { return of_cq([](Cqa& a) { a.overrun_ignore = false; }); }},
        {Sy::create_cq_uar, [this] { return of_armable_cq(kAbsent); }},
        {Sy::create_cq_uar_type, [this] { return of_armable_cq(side.uar); }},
        {Sy::query_cq_absent, [this] { return engine.query_cq(kAbsent).status(); }},
        {Sy::create_cq_numbers,
         [this] { return when_full([this] { return engine.create_cq(cq()).status(); }); }},
        {Sy::destroy_cq_absent, [this] { return engine.destroy_cq(kAbsent).status(); }},
        {Sy::destroy_cq_busy, [this] { return engine.destroy_cq(side.send_cqn).status(); }},
    };
  }
  std::map<Sy, std::function<Status()>> resizes_and_windows() {
    using enum WindowType;
    return {
        {Sy::resize_cq_absent,
         [this] { return engine.resize_cq(kAbsent, to_entries(2)).status(); }},
        {Sy::resize_cq_size, [this] { return of_resize(0, to_entries(23)); }},
        {Sy::resize_cq_entries,
         [this] {
           CqResize to = to_entries(2);
           to.entries.value += 32;
           return of_resize(0, to);
         }},
        {Sy::resize_cq_collapsed,
         [this] { return engine.resize_cq(collapsed_cq, to_entries(2)).status(); }},
        {Sy::resize_cq_full, [this] { return of_resize(2, to_entries(3)); }},
        {Sy::moderate_cq_absent, [this] { return engine.moderate_cq(kAbsent, {}).status(); }},
        {Sy::resize_cq_too_small, [this] { return of_resize(1, to_entries(0)); }},
        {Sy::alloc_mw_pd, [this] { return engine.alloc_mw(kAbsent, type_1).status(); }},
        {Sy::alloc_mw_type,
         [this] { return engine.alloc_mw(side.pd, static_cast<WindowType>(3)).status(); }},
        {Sy::alloc_mw_numbers,
         [this] {
           return when_full([this] { return engine.alloc_mw(side.pd, type_1).status(); });
         }},
        {Sy::dealloc_mw_absent, [this] { return engine.dealloc_mw(kAbsent).status(); }},
    };
  }
  Status of_mkey(const std::function<void(MkeyAttributes&)>& change) {
    MkeyAttributes attributes;
    attributes.pd = side.pd;
    attributes.list.emplace().capacity = 1;
    change(attributes);
    return engine.create_mkey(attributes).status();
  }
  std::map<Sy, std::function<Status()>> mkeys() {
    using Mk = MkeyAttributes;
    return {
        {Sy::create_mkey_pd, [this] { return of_mkey([](Mk& a) { a.pd = kAbsent; }); }},
        {Sy::create_mkey_list_size,
         [this] { return of_mkey([](Mk& a) { a.list->capacity = 0; }); }},
        {Sy::create_mkey_list,
         [this] { return of_mkey([](Mk& a) { a.list->entries.resize(2); }); }},
        {Sy::create_mkey_length, [this] { return of_mkey([](Mk& a) { a.length = 1; }); }},
        {Sy::create_mkey_umr,
         [this] { return of_mkey([](Mk& a) { a = {.pd = a.pd, .umr_enabled = true}; }); }},
        {Sy::destroy_mkey_absent, [this] { return engine.destroy_mkey(side.key).status(); }},
        {Sy::query_mkey_absent, [this] { return engine.query_mkey(side.key).status(); }},
    };
  }
  std::map<Sy, std::function<Status()>> qps() {
    using Qpa = QpAttributes;
    return {
        {Sy::create_qp_pd, [this] { return of_qp([](Qpa& a) { a.pd = kAbsent; }); }},
        {Sy::create_qp_send_cq, [this] { return of_qp([](Qpa& a) { a.send_cq = kAbsent; }); }},
        {Sy::create_qp_uar, [this] { return of_qp([](Qpa& a) { a.uar = kAbsent; }); }},
        {Sy::create_qp_send_size, [this] { return of_qp([](Qpa& a) { a.log_send_wqebbs = 16; }); }},
        {Sy::create_qp_send_queue,
         [this] { return of_qp([](Qpa& a) { a.send_queue.value += 16; }); }},
        {Sy::create_qp_record,
         [this] { return of_qp([](Qpa& a) { a.doorbell_record.value += 4; }); }},
        {Sy::create_qp_receive_cq,
         [this] { return of_qp([](Qpa& a) { a.receive_cq = kAbsent; }); }},
        {Sy::create_qp_receive_size,
         [this] { return of_qp([](Qpa& a) { a.log_receive_wqes = 16; }); }},
        {Sy::create_qp_receive_stride,
         [this] { return of_qp([](Qpa& a) { a.log_receive_stride = 10; }); }},
        {Sy::create_qp_receive_queue,
         [this] { return of_qp([](Qpa& a) { a.receive_queue.value += 8; }); }},
        {Sy::create_qp_numbers,
         [this] { return when_full([this] { return engine.create_qp(qp()).status(); }); }},
        {Sy::create_qp_service,
         [this] { return of_qp([](Qpa& a) { a.service = ServiceType::count; }); }},
        {Sy::create_qp_srq,
         [this] {
           return of_qp([](Qpa& a) {
             a.has_receive_queue = false;
             a.srq = kAbsent;
           });
         }},
        {Sy::create_qp_two_sources, [this] { return of_qp([](Qpa& a) { a.srq = kAbsent; }); }},
        {Sy::create_qp_second_without_record,
         [] {
           RigOptions with_arm_page;
           with_arm_page.armable = true;
           EngineRig roomy(with_arm_page);
           Qpa a = roomy.a.another_qp(roomy.a.record);
           a.receive_cq = a.send_cq;
           a.uar = roomy.a.arm_page;
           a.no_send_record = true;
           EXPECT_TRUE(roomy.a.engine.create_qp(a));
           return roomy.a.engine.create_qp(a).status();
         }},
        {Sy::create_qp_no_record_register,
         [this] { return of_qp([](Qpa& a) { a.no_send_record = true; }); }},
        {Sy::create_qp_xrc_domain,
         [this] {
           return of_qp([](Qpa& a) {
             a.service = ServiceType::xrc;
             a.xrc_domain = kAbsent;
           });
         }},
        {Sy::create_qp_initiator_receives,
         [this] { return of_qp([](Qpa& a) { a.service = ServiceType::xrc; }); }},
        {Sy::create_qp_xrc_srq,
         [this] {
           return of_qp([this](Qpa& a) {
             a.has_receive_queue = false;
             a.srq = xrc_srq;
           });
         }},
        {Sy::destroy_qp_absent, [this] { return engine.destroy_qp(kAbsent).status(); }},
        {Sy::query_qp_absent, [this] { return engine.query_qp(kAbsent).status(); }},
    };
  }
  std::map<Sy, std::function<Status()>> srqs() {
    using Sa = SrqAttributes;
    const auto of = [this](auto change) { return [=, this] { return of_srq(change); }; };
    return {
        {Sy::create_srq_pd, of([](Sa& a) { a.pd = kAbsent; })},
        {Sy::create_srq_form, of([](Sa& a) { a.form = static_cast<SrqForm>(3); })},
        {Sy::create_srq_size, of([](Sa& a) { a.log_wqes = 16; })},
        {Sy::create_srq_stride, of([](Sa& a) { a.log_stride = 4; })},
        {Sy::create_srq_wqes, of([](Sa& a) { a.wqes.value += 8; })},
        {Sy::create_srq_record, of([](Sa& a) { a.doorbell_record.value += 2; })},
        {Sy::create_srq_numbers,
         [this] { return when_full([this] { return engine.create_srq(srq()).status(); }); }},
        {Sy::create_srq_xrc_domain, of([](Sa& a) {
           a.xrc = {kAbsent, 1, 0};
         })},
        {Sy::create_srq_xrc_cq, of([this](Sa& a) {
           a.xrc = {domain, kAbsent, 0};
         })},
        {Sy::destroy_srq_absent, [this] { return engine.destroy_srq(kAbsent).status(); }},
        {Sy::destroy_srq_busy, [this] { return engine.destroy_srq(used_srq).status(); }},
        {Sy::query_srq_absent, [this] { return engine.query_srq(kAbsent).status(); }},
        {Sy::arm_srq_absent, [this] { return engine.arm_srq(kAbsent, 1).status(); }},
        {Sy::arm_srq_limit, [this] { return engine.arm_srq(used_srq, 2).status(); }},
        {Sy::alloc_xrcd_numbers,
         [this] { return when_full([this] { return engine.alloc_xrcd().status(); }); }},
        {Sy::dealloc_xrcd_absent, [this] { return engine.dealloc_xrcd(kAbsent).status(); }},
        {Sy::dealloc_xrcd_busy, [this] { return engine.dealloc_xrcd(domain).status(); }},
    };
  }
  DctAttributes dct() const { return {.pd = side.pd, .cq = side.send_cqn, .srq = used_srq}; }
  std::map<Sy, std::function<Status()>> dcts() {
    using Da = DctAttributes;
    const auto of = [this](auto change) {
      DctAttributes attributes = dct();
      change(attributes);
      return [=, this] { return engine.create_dct(attributes).status(); };
    };
    return {
        {Sy::create_dct_pd, of([](Da& a) { a.pd = kAbsent; })},
        {Sy::create_dct_cq, of([](Da& a) { a.cq = kAbsent; })},
        {Sy::create_dct_srq, of([](Da& a) { a.srq = kAbsent; })},
        {Sy::create_dct_min_rnr_nak, of([](Da& a) { a.min_rnr_nak = 32; })},
        {Sy::create_dct_mtu, of([](Da& a) { a.mtu = 300; })},
        {Sy::create_dct_numbers,
         [this] { return when_full([this] { return engine.create_dct(dct()).status(); }); }},
        {Sy::query_dct_absent, [this] { return engine.query_dct(kAbsent).status(); }},
        {Sy::drain_dct_absent, [this] { return engine.drain_dct(kAbsent).status(); }},
        {Sy::arm_dct_absent, [this] { return engine.arm_dct(kAbsent).status(); }},
        {Sy::destroy_dct_absent, [this] { return engine.destroy_dct(kAbsent).status(); }},
        {Sy::destroy_dct_state, [this] { return engine.destroy_dct(active_dct).status(); }},
    };
  }
  std::map<Sy, std::function<Status()>> modifies() {
    using M = QpModify;
    const auto above = [this](QpState to, auto member, auto value) {
      return [=, this] { return of_modify(to, [=](M& m) { m.*member = value; }); };
    };
    constexpr std::uint32_t k25Bits = 1 << 24;
    return {
        {Sy::modify_qp_absent, [this] { return engine.modify_qp(kAbsent, {}).status(); }},
        {Sy::modify_qp_transition,
         [this] { return of_modify(QpState::init, [](M& m) { m.state = QpState::rts; }); }},
        {Sy::modify_qp_field_missing,
         [this] { return of_modify(QpState::init, [](M& m) { m.given = QpFields{}; }); }},
        {Sy::modify_qp_field_unknown,
         [this] {
           return of_modify(QpState::init, [](M& m) {
             m.given = QpFields{QpField::access, QpField::pkey, QpField::ack_timeout};
           });
         }},
        {Sy::modify_qp_remote_qpn, above(QpState::rtr, &M::remote_qpn, k25Bits)},
        {Sy::modify_qp_next_receive_psn, above(QpState::rtr, &M::next_receive_psn, k25Bits)},
        {Sy::modify_qp_log_rra_max, above(QpState::rtr, &M::log_rra_max, 8)},
        {Sy::modify_qp_min_rnr_nak, above(QpState::rtr, &M::min_rnr_nak, 32)},
        {Sy::modify_qp_log_msg_max, above(QpState::rtr, &M::log_msg_max, 31)},
        {Sy::modify_qp_next_send_psn, above(QpState::rts, &M::next_send_psn, k25Bits)},
        {Sy::modify_qp_log_sra_max, above(QpState::rts, &M::log_sra_max, 8)},
        {Sy::modify_qp_ack_timeout, above(QpState::rts, &M::ack_timeout, 32)},
        {Sy::modify_qp_retry_count, above(QpState::rts, &M::retry_count, 8)},
        {Sy::modify_qp_rnr_retry, above(QpState::rts, &M::rnr_retry, 8)},
        {Sy::modify_qp_service_level,
         [this] { return of_modify(QpState::rtr, [](M& m) { m.path.service_level = 16; }); }},
        {Sy::modify_qp_path_mtu,
         [this] { return of_modify(QpState::rtr, [](M& m) { m.path.mtu = 1 << 17; }); }},
    };
  }
  std::map<Sy, std::function<Status()>> everything() {
    auto all = pd_and_uar();
    for (auto part :
         {mr_and_cq(), resizes_and_windows(), mkeys(), qps(), srqs(), dcts(), modifies()}) {
      all.merge(part);
    }
    return all;
  }

  static constexpr std::uint32_t kMax = 6;
  EngineRig rig{options(kMax)};
  Side& side = rig.a;
  Engine& engine = side.engine;
  SrqNumber used_srq = make_used_srq();
  DctNumber active_dct = *engine.create_dct(dct());
  XrcdNumber domain = *engine.alloc_xrcd();
  SrqNumber xrc_srq = make_xrc_srq();
  alignas(8) std::array<Be32, 2> cq_record{};
  CqNumber movable_cq = make_movable_cq();
  CqNumber collapsed_cq = make_collapsed_cq();
};

}  // namespace gdakit::softnic::test
