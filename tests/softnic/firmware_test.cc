// Commands to the firmware: queue pairs that are made by mailboxes alone, and mailboxes that say
// what cannot be.
#include "backends/softnic/firmware/firmware.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <map>
#include <random>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "core/format/prm/counters.h"
#include "core/format/prm/query.h"
#include "tests/softnic/firmware_rig.h"

namespace gdakit::softnic::test {
namespace {

using prm::Cqc;
using prm::CreateCqIn;
using prm::CreateMkeyIn;
using prm::CreateQpIn;
using prm::MboxIn;
using prm::MboxOut;
using prm::Opcode;
using prm::Qpc;
using Sy = CommandSyndrome;

constexpr std::uint64_t kAbsent = 99;
constexpr Uid kStranger = 8;

TEST(Firmware, AQueuePairOfMailboxesCarriesBytes) {
  FirmwareRig rig;
  rig.one.connect(rig.other);
  rig.other.connect(rig.one);
  std::memset(rig.one.heap.data(), 'x', 3000);
  for (std::uint64_t i = 0; i < 3; ++i) rig.one.write(1000 * i, rig.other, 1000 * i, 1000);
  rig.run();
  EXPECT_EQ(std::memcmp(rig.one.heap.data(), rig.other.heap.data(), 3000), 0);
  for (std::uint16_t i = 0; i < 3; ++i) {
    const format::Cqe64 cqe = rig.one.cqe(i);
    EXPECT_EQ(format::cqe_opcode(cqe.op_own), format::CqeOpcode::requester);
    EXPECT_EQ(cqe.wqe_counter, i);
  }
}

TEST(Firmware, AQueryTellsWhatWasGivenAndWhatHasBecomeOfIt) {
  FirmwareRig rig;
  rig.one.connect(rig.other);
  rig.other.connect(rig.one);
  rig.one.write(0, rig.other, 0, 100);
  rig.run();
  const auto out = rig.one.query();
  const auto context = out.at(prm::QueryQpOut::qpc);
  EXPECT_EQ(context.get(Qpc::state), static_cast<std::uint64_t>(QpState::rts));
  EXPECT_EQ(context.get(Qpc::user_index), 0xabcdefu);
  EXPECT_EQ(context.get(Qpc::remote_qpn), rig.other.qpn);
  EXPECT_EQ(context.get(Qpc::rwe), 1u);
  EXPECT_EQ(context.get(Qpc::rae), 0u);
  EXPECT_EQ(context.get(Qpc::next_send_psn), 0x123457u);
  EXPECT_EQ(context.get(Qpc::sw_sq_wqebb_counter), 1u);
  prm::Mailbox<prm::QueryCqIn> in;
  prm::Mailbox<prm::QueryCqOut> cq;
  in.set(prm::QueryCqIn::cqn, rig.one.cqn);
  ASSERT_EQ(rig.one.run(Opcode::query_cq, in, cq), CommandStatus::ok);
  EXPECT_EQ(cq.at(prm::QueryCqOut::cq_context).get(Cqc::log_cq_size), kLogCq);
  EXPECT_EQ(cq.at(prm::QueryCqOut::cq_context).get(Cqc::producer_counter), 1u);
}

// Rights have a bit each: those without keep their value.
TEST(Firmware, OptionalFieldsAreTakenByTheirBits) {
  FirmwareRig rig;
  rig.one.connect(rig.other);
  prm::Mailbox<Qpc> context;
  context.set(Qpc::rae, 1);
  context.set(Qpc::min_rnr_nak, 20);
  constexpr std::uint32_t kRae = 0x4;
  ASSERT_EQ(rig.one.modify(Opcode::rts2rts_qp, context, kRae), CommandStatus::ok);
  const auto out = rig.one.query();
  const auto now = out.at(prm::QueryQpOut::qpc);
  EXPECT_EQ(now.get(Qpc::rae), 1u);
  EXPECT_EQ(now.get(Qpc::rwe), 1u) << "its bit was not set";
  EXPECT_EQ(now.get(Qpc::min_rnr_nak), 12u);
}

TEST(Firmware, AQueuePairGoesToErrorAndBackToReset) {
  FirmwareRig rig;
  rig.one.connect(rig.other);
  for (const auto& [opcode, state] :
       {std::pair{Opcode::qp_2err, QpState::err}, std::pair{Opcode::qp_2rst, QpState::reset}}) {
    prm::Mailbox<prm::Qp2errIn> in;
    prm::Mailbox<MboxOut> out;
    in.set(prm::Qp2errIn::qpn, rig.one.qpn);
    ASSERT_EQ(rig.one.run(opcode, in, out), CommandStatus::ok);
    EXPECT_EQ(rig.one.query().at(prm::QueryQpOut::qpc).get(Qpc::state),
              static_cast<std::uint64_t>(state));
  }
  rig.one.producer = 0;
  rig.one.connect(rig.other);
}

TEST(Firmware, WhatIsDestroyedIsNotThere) {
  FirmwareRig rig;
  prm::Mailbox<prm::DestroyQpIn> in;
  prm::Mailbox<MboxOut> out;
  in.set(prm::DestroyQpIn::qpn, rig.one.qpn);
  ASSERT_EQ(rig.one.run(Opcode::destroy_qp, in, out), CommandStatus::ok);
  EXPECT_EQ(rig.one.run(Opcode::destroy_qp, in, out), CommandStatus::bad_res);
  prm::Mailbox<prm::DestroyCqIn> cq;
  cq.set(prm::DestroyCqIn::cqn, rig.one.cqn);
  ASSERT_EQ(rig.one.run(Opcode::destroy_cq, cq, out), CommandStatus::ok);
  EXPECT_EQ(rig.one.run(Opcode::destroy_cq, cq, out), CommandStatus::bad_res);
}

// What a command says, of which it has the given size.
struct Sample {
  Opcode opcode;
  std::vector<std::uint8_t> in;
  std::size_t out_bytes;
};

class FirmwareMailboxes : public testing::Test {
 protected:
  FirmwareMailboxes() {
    auto in = rig.one.rmp_request();
    prm::Mailbox<prm::CreateRmpOut> out;
    EXPECT_EQ(rig.one.run(Opcode::create_rmp, in, out), CommandStatus::ok);
    rmpn = out.get(prm::CreateRmpOut::rmpn);
    prm::Mailbox<MboxIn> domain;
    prm::Mailbox<prm::AllocXrcdOut> made;
    EXPECT_EQ(rig.one.run(Opcode::alloc_xrcd, domain, made), CommandStatus::ok);
    xrcd = static_cast<XrcdNumber>(made.get(prm::AllocXrcdOut::xrcd));
    auto srq = rig.one.srq_request(xrcd);
    prm::Mailbox<prm::CreateXrcSrqOut> made_srq;
    EXPECT_EQ(rig.one.run(Opcode::create_xrc_srq, srq, made_srq, Sender::kernel),
              CommandStatus::ok);
    xrc_srqn = made_srq.get(prm::CreateXrcSrqOut::xrc_srqn);
    prm::Mailbox<prm::AllocQCounterOut> made_set;
    EXPECT_EQ(rig.one.run(Opcode::alloc_q_counter, domain, made_set), CommandStatus::ok);
    counter_set = made_set.get(prm::AllocQCounterOut::counter_set_id);
    auto mkey = rig.one.mkey_request();
    prm::Mailbox<prm::CreateMkeyOut> made_key;
    EXPECT_EQ(rig.one.run(Opcode::create_mkey, mkey, made_key), CommandStatus::ok);
    mkey_index = made_key.get(prm::CreateMkeyOut::mkey_index);
    prm::Mailbox<prm::CreateDctIn> of_dct = dct_request();
    prm::Mailbox<prm::CreateDctOut> made_dct;
    EXPECT_EQ(rig.one.run(Opcode::create_dct, of_dct, made_dct), CommandStatus::ok);
    dctn = made_dct.get(prm::CreateDctOut::dctn);
  }
  prm::Mailbox<prm::CreateDctIn> dct_request() const {
    prm::Mailbox<prm::CreateDctIn> in;
    const auto context = in.at(prm::CreateDctIn::dct_context_entry);
    context.set(prm::Dctc::pd, rig.one.pd);
    context.set(prm::Dctc::cqn, rig.one.cqn);
    context.set(prm::Dctc::srqn_xrqn, rmpn);
    return in;
  }
  template <class Layout>
  Sample sample(Opcode opcode, prm::Mailbox<Layout> in, std::size_t out_bytes) const {
    in.set(MboxIn::opcode, static_cast<std::uint64_t>(opcode));
    in.set(MboxIn::uid, kUid);
    return {opcode, {in.bytes().begin(), in.bytes().end()}, out_bytes};
  }
  // One of each command; of those that change nothing first.
  std::vector<Sample> samples() const {
    prm::Mailbox<prm::QueryQpIn> qp;
    qp.set(prm::QueryQpIn::qpn, rig.one.qpn);
    prm::Mailbox<prm::QueryCqIn> cq;
    cq.set(prm::QueryCqIn::cqn, rig.one.cqn);
    prm::Mailbox<prm::Rst2initQpIn> modify;
    modify.set(prm::Rst2initQpIn::qpn, rig.one.qpn);
    constexpr std::size_t kOut = MboxOut::kBytes;
    prm::Mailbox<prm::QueryMkeyIn> mkey;
    mkey.set(prm::QueryMkeyIn::mkey_index, mkey_index);
    prm::Mailbox<prm::QueryRmpIn> rmp;
    rmp.set(prm::QueryRmpIn::rmpn, rmpn);
    prm::Mailbox<prm::ModifyRmpIn> limit;
    limit.set(prm::ModifyRmpIn::rmpn, rmpn);
    limit.at(prm::ModifyRmpIn::bitmask).back() = prm::kRmpBitmaskLwm;
    prm::Mailbox<prm::QueryXrcSrqIn> xrc_srq;
    xrc_srq.set(prm::QueryXrcSrqIn::xrc_srqn, xrc_srqn);
    prm::Mailbox<prm::ArmXrcSrqIn> arm_xrc;
    arm_xrc.set(MboxIn::op_mod, prm::kArmSrq);
    arm_xrc.set(prm::ArmXrcSrqIn::xrc_srqn, xrc_srqn);
    prm::Mailbox<prm::QueryQCounterIn> counters;
    counters.set(prm::QueryQCounterIn::counter_set_id, counter_set);
    prm::Mailbox<prm::ModifyCqIn> moderation;
    moderation.set(prm::ModifyCqIn::cqn, rig.one.cqn);
    moderation.set(prm::ModifyCqIn::modify_field_select_resize_field_select,
                   prm::kCqPeriodField | prm::kCqMaxCountField);
    prm::Mailbox<prm::QueryDctIn> dct;
    dct.set(prm::QueryDctIn::dctn, dctn);
    return {sample(Opcode::query_q_counter, counters, prm::QueryQCounterOut::kBytes),
            sample(Opcode::modify_cq, moderation, kOut),
            sample(Opcode::query_qp, qp, prm::QueryQpOut::kBytes),
            sample(Opcode::query_cq, cq, prm::QueryCqOut::kBytes),
            sample(Opcode::query_rmp, rmp, prm::QueryRmpOut::kBytes),
            sample(Opcode::modify_rmp, limit, kOut),
            sample(Opcode::query_xrc_srq, xrc_srq, prm::QueryXrcSrqOut::kBytes),
            sample(Opcode::arm_xrc_srq, arm_xrc, kOut),
            sample(Opcode::alloc_xrcd, prm::Mailbox<MboxIn>(), kOut),
            sample(Opcode::create_rmp, rig.one.rmp_request(), kOut),
            sample(Opcode::query_mkey, mkey, kOut),
            sample(Opcode::create_mkey, rig.one.mkey_request(), kOut),
            sample(Opcode::create_dct, dct_request(), kOut),
            sample(Opcode::query_dct, dct, prm::QueryDctOut::kBytes),
            sample(Opcode::arm_dct_for_key_violation, dct, kOut),
            sample(Opcode::drain_dct, dct, kOut),
            sample(Opcode::destroy_dct, dct, kOut),
            sample(Opcode::alloc_pd, prm::Mailbox<MboxIn>(), kOut),
            sample(Opcode::create_cq, rig.one.cq_request(), kOut),
            sample(Opcode::create_qp, rig.one.qp_request(), kOut),
            sample(Opcode::rst2init_qp, modify, kOut),
            sample(Opcode::qp_2err, qp, kOut)};
  }
  static Status status_of(const std::vector<std::uint8_t>& out) {
    const prm::View<MboxOut> view(out);
    return {static_cast<CommandStatus>(view.get(MboxOut::status)),
            static_cast<CommandSyndrome>(view.get(MboxOut::syndrome))};
  }
  static constexpr std::size_t kMostOutBytes = prm::QueryHcaCapOut::kBytes;
  Status execute(const std::vector<std::uint8_t>& in, std::size_t out_bytes = kMostOutBytes) {
    std::vector<std::uint8_t> out(kMostOutBytes, 0xee);
    const CommandStatus status = rig.one.firmware.execute(in, std::span(out).first(out_bytes));
    const Status said = status_of(out);
    EXPECT_EQ(said.status, status);
    return said;
  }
  template <class Layout>
  Status execute(Opcode opcode, const prm::Mailbox<Layout>& in) {
    return execute(sample(opcode, in, 0).in);
  }
  Status of_cq(const std::function<void(prm::Mailbox<CreateCqIn>&)>& change) {
    auto in = rig.one.cq_request();
    change(in);
    return execute(Opcode::create_cq, in);
  }
  Status of_mkey(const std::function<void(prm::Mailbox<CreateMkeyIn>&)>& change) {
    auto in = rig.one.mkey_request();
    change(in);
    return execute(Opcode::create_mkey, in);
  }
  template <class Layout, class Field>
  Status with(Opcode opcode, Field field, std::uint64_t value) {
    prm::Mailbox<Layout> in;
    in.set(field, value);
    return execute(opcode, in);
  }
  Status to_rtr_with_gid(std::uint8_t last_byte) {
    prm::Mailbox<Qpc> context;
    EXPECT_EQ(rig.one.modify(Opcode::rst2init_qp, context), CommandStatus::ok);
    prm::Mailbox<prm::Rst2initQpIn> in;
    in.set(prm::Rst2initQpIn::qpn, rig.one.qpn);
    const auto to = in.at(prm::Rst2initQpIn::qpc);
    to.set(Qpc::mtu, 3);
    to.at(Qpc::primary_address_path).at(prm::Ads::rgid_rip)[15] = last_byte;
    return execute(Opcode::init2rtr_qp, in);
  }

  using Provocations = std::map<Sy, std::function<Status()>>;
  Provocations of_every_command() {
    return {
        {Sy::mailbox_opcode,
         [this] { return execute(static_cast<Opcode>(0x7777), prm::Mailbox<MboxIn>()); }},
        {Sy::mailbox_in_length, [this] { return execute(std::vector<std::uint8_t>(15)); }},
        {Sy::mailbox_out_length,
         [this] { return execute(sample(Opcode::alloc_pd, prm::Mailbox<MboxIn>(), 0).in, 15); }},
        {Sy::mailbox_capability,
         [this] { return with<MboxIn>(Opcode::query_hca_cap, MboxIn::op_mod, kAbsent << 1); }},
        {Sy::mailbox_function,
         [this] {
           return with<prm::QueryHcaCapIn>(Opcode::query_hca_cap,
                                           prm::QueryHcaCapIn::other_function, 1);
         }},
        {Sy::mailbox_port,
         [this] {
           return with<prm::QueryRoceAddressIn>(Opcode::query_roce_address,
                                                prm::QueryRoceAddressIn::vhca_port_num, 2);
         }},
        {Sy::mailbox_roce_address,
         [this] {
           return with<prm::QueryRoceAddressIn>(Opcode::query_roce_address,
                                                prm::QueryRoceAddressIn::roce_address_index, 256);
         }},
        {Sy::mailbox_link_layer,
         [this] { return execute(Opcode::query_hca_vport_context, prm::Mailbox<MboxIn>()); }},
        {Sy::mailbox_no_umem,
         [this] { return of_cq([](auto& in) { in.set(CreateCqIn::cq_umem_valid, 0); }); }},
        {Sy::mailbox_umem_absent,
         [this] { return of_cq([](auto& in) { in.set(CreateCqIn::cq_umem_id, kAbsent); }); }},
        {Sy::mailbox_umem_range,
         [this] {
           return of_cq([](auto& in) { in.at(CreateCqIn::cqc).set(Cqc::dbr_addr, 0x3ff9); });
         }},
        {Sy::mailbox_cqe_size,
         [this] { return of_cq([](auto& in) { in.at(CreateCqIn::cqc).set(Cqc::cqe_sz, 2); }); }},
        {Sy::mailbox_peer, [this] { return to_rtr_with_gid(9); }},
        {Sy::mailbox_umem_busy,
         [this] { return rig.one.firmware.remove_umem(rig.one.umem, kUid).status(); }},
        {Sy::mailbox_umem_read_only,
         [this] {
           Umem umem{.memory = {host_address(rig.one.memory.data()), rig.one.memory.size()},
                     .uid = kUid,
                     .writable = false};
           const UmemNumber number = rig.one.firmware.add_umem(umem);
           return of_cq([number](auto& in) { in.set(CreateCqIn::cq_umem_id, number); });
         }},
    };
  }
  Provocations of_queues() {
    return {
        {Sy::mailbox_absent_feature,
         [this] {
           return of_cq([](auto& in) { in.at(CreateCqIn::cqc).set(Cqc::page_offset, 1); });
         }},
        {Sy::mailbox_rq_type,
         [this] {
           auto in = rig.one.qp_request();
           in.at(CreateQpIn::qpc).set(Qpc::rq_type, 2);
           return execute(Opcode::create_qp, in);
         }},
        {Sy::mailbox_wq_type,
         [this] {
           auto in = rig.one.rmp_request();
           in.at(prm::CreateRmpIn::rmp_context).at(prm::Rmpc::wq).set(prm::Wq::wq_type, 2);
           return execute(Opcode::create_rmp, in);
         }},
        {Sy::mailbox_mkey_mode,
         [this] {
           return of_mkey([](auto& in) {
             in.at(CreateMkeyIn::memory_key_mkey_entry).set(prm::Mkc::access_mode_1_0, 0);
           });
         }},
        {Sy::mailbox_mkey_index,
         [this] { return of_mkey([](auto& in) { in.set(CreateMkeyIn::input_mkey_index, 1); }); }},
        {Sy::mailbox_rmp_change,
         [this] {
           prm::Mailbox<prm::ModifyRmpIn> in;
           return execute(Opcode::modify_rmp, in);
         }},
        {Sy::mailbox_cq_change,
         [this] {
           return with<prm::ModifyCqIn>(Opcode::modify_cq, prm::ModifyCqIn::cqn, rig.one.cqn);
         }},
        {Sy::mailbox_counter_sets,
         [this] {
           Status status;
           while (status.ok()) status = execute(Opcode::alloc_q_counter, prm::Mailbox<MboxIn>());
           return status;
         }},
        {Sy::mailbox_counter_set_absent,
         [this] {
           return with<prm::QueryQCounterIn>(Opcode::query_q_counter,
                                             prm::QueryQCounterIn::counter_set_id, 0);
         }},
        {Sy::mailbox_counter_set_busy,
         [this] {
           auto in = rig.one.qp_request();
           in.at(CreateQpIn::qpc).set(Qpc::counter_set_id, counter_set);
           EXPECT_TRUE(execute(Opcode::create_qp, in).ok());
           return with<prm::DeallocQCounterIn>(Opcode::dealloc_q_counter,
                                               prm::DeallocQCounterIn::counter_set_id, counter_set);
         }},
        {Sy::mailbox_arm_mode,
         [this] { return with<prm::ArmRqIn>(Opcode::arm_rq, MboxIn::op_mod, 2); }},
    };
  }

  FirmwareRig rig;
  std::uint64_t rmpn = 0, xrc_srqn = 0, counter_set = 0, mkey_index = 0, dctn = 0;
  XrcdNumber xrcd = 0;
};

// The size of a send queue that there is not means nothing, also where its end is looked for.
TEST_F(FirmwareMailboxes, WithoutASendQueueNothingIsReadOfIt) {
  auto in = rig.one.qp_request();
  in.at(CreateQpIn::qpc).set(Qpc::no_sq, 1);
  in.at(CreateQpIn::qpc).set(Qpc::log_sq_size, 15);
  rig.one.make_qp(in);
  const Be32 far = format::doorbell_record_value(9);
  std::memcpy(rig.one.memory.data() + kQpRecordAt + offsetof(format::DoorbellRecord, snd_dbr), &far,
              sizeof far);
  rig.one.connect(rig.other);
  rig.run();
  const auto info = rig.one.engine.query_qp(rig.one.qpn, kUid);
  EXPECT_LE(info->send_producer, 1u) << "of one WQEBB that stands in for a queue";
}

TEST_F(FirmwareMailboxes, EachSyndromeIsThatOfOneCheck) {
  std::map<Sy, std::function<Status()>> provocations = of_every_command();
  provocations.merge(of_queues());
  for (const SyndromeRow& row : syndrome_rows()) {
    if (row.syndrome < Sy::mailbox_opcode) continue;
    const auto found = provocations.find(row.syndrome);
    ASSERT_NE(found, provocations.end()) << row.sentence;
    const Status status = found->second();
    EXPECT_EQ(status.syndrome, row.syndrome) << row.sentence;
    EXPECT_EQ(status.status, row.status) << row.sentence;
  }
}

TEST_F(FirmwareMailboxes, AreRefusedAtEveryLengthThatIsTooShort) {
  for (const Sample& one : samples()) {
    for (std::size_t size = 0; size < one.in.size(); ++size) {
      const std::vector<std::uint8_t> cut(one.in.begin(),
                                          one.in.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_EQ(execute(cut).status, CommandStatus::bad_inp_len) << size;
    }
    for (std::size_t size = MboxOut::kBytes; size < one.out_bytes; ++size) {
      ASSERT_EQ(execute(one.in, size).status, CommandStatus::bad_outp_len) << size;
    }
    std::vector<std::uint8_t> tiny(7, 0xee);
    EXPECT_EQ(rig.one.firmware.execute(one.in, tiny), CommandStatus::bad_outp_len);
    EXPECT_EQ(execute(one.in, one.out_bytes).status, CommandStatus::ok);
  }
}

TEST_F(FirmwareMailboxes, OfAnotherUidFindNothing) {
  for (const Sample& one : samples()) {
    if (one.opcode == Opcode::alloc_pd || one.opcode == Opcode::alloc_xrcd) continue;
    std::vector<std::uint8_t> in = one.in;
    prm::View<MboxIn, std::uint8_t>(in).set(MboxIn::uid, kStranger);
    EXPECT_EQ(execute(in).status, CommandStatus::bad_res);
  }
}

TEST_F(FirmwareMailboxes, OfAStateThatAQueuePairHasNotAreRefused) {
  prm::Mailbox<Qpc> context;
  for (const Opcode opcode :
       {Opcode::init2init_qp, Opcode::init2rtr_qp, Opcode::rtr2rts_qp, Opcode::rts2rts_qp}) {
    EXPECT_EQ(rig.one.modify(opcode, context), CommandStatus::bad_qp_state);
  }
}

// Whatever a mailbox says, there is an answer, and the NIC goes on.
TEST_F(FirmwareMailboxes, OfRandomFieldsAreAnswered) {
  std::mt19937 random{1};
  const std::vector<Sample> all = samples();
  std::map<CommandStatus, int> answers;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::uint8_t> in = all[random() % all.size()].in;
    for (std::uint32_t changes = random() % 8; changes != 0; --changes) {
      // Not the uid.
      const std::size_t at = random() % in.size();
      if (at != 2 && at != 3) in[at] = static_cast<std::uint8_t>(random());
    }
    ++answers[execute(in).status];
    rig.now_ns += 1000;
    rig.one.engine.step(rig.now_ns);
    rig.other.engine.step(rig.now_ns);
  }
  EXPECT_GT(answers[CommandStatus::ok], 100);
  EXPECT_GT(answers[CommandStatus::bad_op], 100);
  EXPECT_GT(answers[CommandStatus::bad_res], 100);
}

}  // namespace
}  // namespace gdakit::softnic::test
