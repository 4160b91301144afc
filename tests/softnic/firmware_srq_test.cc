// Mailboxes of XRC domains, and of shared receive queues that are no pools.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "backends/softnic/firmware/object_mailbox.h"
#include "tests/softnic/firmware_rig.h"

namespace gdakit::softnic::test {
namespace {

using prm::Opcode;
using prm::XrcSrqc;
using Create = prm::Mailbox<CreateSrqAtIn>;
using Sy = CommandSyndrome;

constexpr auto kContext = prm::CreateXrcSrqIn::xrc_srq_context_entry;

struct Commands {
  Opcode create, query, arm, destroy;
};
constexpr Commands kOfXrc = {Opcode::create_xrc_srq, Opcode::query_xrc_srq, Opcode::arm_xrc_srq,
                             Opcode::destroy_xrc_srq};
constexpr Commands kOfSrq = {Opcode::create_srq, Opcode::query_srq, Opcode::arm_rq,
                             Opcode::destroy_srq};

class FirmwareSrq : public testing::TestWithParam<Commands> {
 protected:
  XrcdNumber make_domain() {
    prm::Mailbox<prm::MboxIn> in;
    prm::Mailbox<prm::AllocXrcdOut> out;
    EXPECT_EQ(side.run(Opcode::alloc_xrcd, in, out), CommandStatus::ok);
    return static_cast<XrcdNumber>(out.get(prm::AllocXrcdOut::xrcd));
  }
  Create request() const { return side.srq_request(domain); }
  SrqNumber make(const Commands& of) {
    Create in = request();
    prm::Mailbox<prm::CreateXrcSrqOut> out;
    EXPECT_EQ(side.run(of.create, in, out, Sender::kernel), CommandStatus::ok);
    return static_cast<SrqNumber>(out.get(prm::CreateXrcSrqOut::xrc_srqn));
  }
  Status refused(Create in, Sender sender = Sender::kernel) {
    prm::Mailbox<prm::CreateXrcSrqOut> out;
    const CommandStatus status = side.run(GetParam().create, in, out, sender);
    return {status, static_cast<Sy>(out.get(prm::MboxOut::syndrome))};
  }
  CommandStatus command(Opcode opcode, std::uint32_t number) {
    prm::Mailbox<ObjectIn> in;
    prm::Mailbox<prm::QueryXrcSrqOut> out;
    in.set(ObjectIn::number, number);
    return side.run(opcode, in, out);
  }
  CommandStatus arm(const Commands& of, SrqNumber srq, std::uint32_t limit,
                    std::uint64_t op_mod = 1) {
    prm::Mailbox<prm::ArmXrcSrqIn> in;
    prm::Mailbox<prm::MboxOut> out;
    in.set(prm::MboxIn::op_mod, op_mod);
    in.set(prm::ArmXrcSrqIn::xrc_srqn, srq);
    in.set(prm::ArmXrcSrqIn::lwm, limit);
    return side.run(of.arm, in, out);
  }
  prm::Mailbox<prm::QueryXrcSrqOut> query(SrqNumber srq) {
    prm::Mailbox<prm::QueryXrcSrqIn> in;
    prm::Mailbox<prm::QueryXrcSrqOut> out;
    in.set(prm::QueryXrcSrqIn::xrc_srqn, srq);
    EXPECT_EQ(side.run(GetParam().query, in, out), CommandStatus::ok);
    return out;
  }
  void post(std::uint32_t wqes) {
    const Be32 record{wqes};
    std::memcpy(side.memory.data() + kRmpRecordAt, &record, sizeof record);
  }

  FirmwareRig rig;
  FirmwareSide& side = rig.one;
  XrcdNumber domain = make_domain();
};

TEST_P(FirmwareSrq, TellsWhatItWasGivenAndHowItIs) {
  post(5);
  const SrqNumber srq = make(GetParam());
  ASSERT_EQ(arm(GetParam(), srq, 3), CommandStatus::ok);
  rig.run();
  const auto out = query(srq);
  const auto context = out.at(prm::QueryXrcSrqOut::xrc_srq_context_entry);
  EXPECT_EQ(context.get(XrcSrqc::state), static_cast<std::uint64_t>(prm::SrqState::good));
  EXPECT_EQ(context.get(XrcSrqc::log_xrc_srq_size), kLogRmp);
  EXPECT_EQ(context.get(XrcSrqc::pd), side.pd);
  EXPECT_EQ(context.get(XrcSrqc::lwm), 3u);
  EXPECT_EQ(context.get(XrcSrqc::wqe_cnt), 5u);
}

TEST_P(FirmwareSrq, TellsOnceThatItHasFewerWqesThanItsLimit) {
  post(2);
  Create in = request();
  in.at(kContext).set(XrcSrqc::lwm, 3);
  prm::Mailbox<prm::CreateXrcSrqOut> out;
  ASSERT_EQ(side.run(GetParam().create, in, out, Sender::kernel), CommandStatus::ok);
  const auto srq = static_cast<SrqNumber>(out.get(prm::CreateXrcSrqOut::xrc_srqn));
  rig.run();
  const auto told = side.events.of(EventKind::srq_limit);
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told.front().number, srq);
  EXPECT_EQ(query(srq).at(prm::QueryXrcSrqOut::xrc_srq_context_entry).get(XrcSrqc::lwm), 0u);
}

TEST_P(FirmwareSrq, IsRefusedWithValuesThatAreNone) {
  const auto with = [this](auto field, std::uint64_t value) {
    Create in = request();
    in.at(kContext).set(field, value);
    return refused(in).syndrome;
  };
  EXPECT_EQ(with(XrcSrqc::pd, 0x777), Sy::create_srq_pd);
  EXPECT_EQ(with(XrcSrqc::log_rq_stride, 0), Sy::create_srq_stride);
  EXPECT_EQ(with(XrcSrqc::page_offset, 1), Sy::mailbox_absent_feature);
  EXPECT_EQ(with(XrcSrqc::wq_signature, 1), Sy::mailbox_absent_feature);
  EXPECT_EQ(with(XrcSrqc::user_index_equal_xrc_srqn, 1), Sy::mailbox_absent_feature);
  EXPECT_EQ(with(XrcSrqc::lwm, 9), Sy::arm_srq_limit);
  Create nowhere = request();
  nowhere.set(CreateSrqAtIn::wqes, 0);
  EXPECT_EQ(refused(nowhere).syndrome, Sy::create_srq_wqes);
  EXPECT_EQ(refused(request(), Sender::user).syndrome, Sy::mailbox_no_umem);
  EXPECT_EQ(command(GetParam().destroy, 1), CommandStatus::bad_res) << "nothing is left of them";
}

TEST_P(FirmwareSrq, IsArmedAsOneAlone) {
  const SrqNumber srq = make(GetParam());
  EXPECT_EQ(arm(GetParam(), srq, 1, /*op_mod=*/2), CommandStatus::bad_param);
  EXPECT_EQ(arm(GetParam(), srq, 9), CommandStatus::bad_param) << "more than it holds";
  EXPECT_EQ(arm(GetParam(), srq + 1, 1), CommandStatus::bad_res);
}

// Numbers of the three kinds are from one space, and each command knows its own kind alone.
TEST_P(FirmwareSrq, IsFoundByItsOwnCommandsAlone) {
  auto pool = side.rmp_request();
  prm::Mailbox<prm::CreateRmpOut> made;
  ASSERT_EQ(side.run(Opcode::create_rmp, pool, made), CommandStatus::ok);
  const auto rmp = static_cast<SrqNumber>(made.get(prm::CreateRmpOut::rmpn));
  const SrqNumber srq = make(GetParam());
  const Commands other = GetParam().create == kOfXrc.create ? kOfSrq : kOfXrc;
  for (const Opcode opcode : {other.query, other.destroy, Opcode::query_rmp, Opcode::destroy_rmp}) {
    EXPECT_EQ(command(opcode, srq), CommandStatus::bad_res);
  }
  for (const Opcode opcode : {GetParam().query, GetParam().destroy}) {
    EXPECT_EQ(command(opcode, rmp), CommandStatus::bad_res);
  }
  EXPECT_EQ(arm(other, srq, 1), CommandStatus::bad_res);
  EXPECT_EQ(arm(GetParam(), rmp, 1), CommandStatus::bad_res);
  EXPECT_EQ(command(GetParam().destroy, srq), CommandStatus::ok);
  EXPECT_EQ(command(GetParam().destroy, srq), CommandStatus::bad_res);
  EXPECT_EQ(command(Opcode::destroy_rmp, rmp), CommandStatus::ok);
}

TEST_P(FirmwareSrq, IsRefusedAtEveryLengthThatIsTooShort) {
  Create in = request();
  in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(GetParam().create));
  in.set(prm::MboxIn::uid, kUid);
  std::array<std::uint8_t, prm::CreateXrcSrqOut::kBytes> out{};
  for (std::size_t size = 0; size < CreateSrqAtIn::kBytes; ++size) {
    ASSERT_EQ(side.firmware.execute(in.bytes().first(size), out, Sender::kernel),
              CommandStatus::bad_inp_len)
        << size;
  }
}

TEST_P(FirmwareSrq, OfRandomFieldsIsAnswered) {
  std::mt19937 random{1};
  std::map<CommandStatus, int> answers;
  for (int i = 0; i < 5'000; ++i) {
    Create in = request();
    in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(GetParam().create));
    in.set(prm::MboxIn::uid, kUid);
    for (std::uint32_t changes = random() % 4; changes != 0; --changes) {
      // Of the context, but for the record's address, which the kernel has looked at.
      in.bytes()[16 + random() % 40] = static_cast<std::uint8_t>(random());
    }
    prm::Mailbox<prm::CreateXrcSrqOut> out;
    const CommandStatus status = side.firmware.execute(in.bytes(), out.bytes(), Sender::kernel);
    ++answers[status];
    if (status == CommandStatus::ok) {
      const auto srq = static_cast<SrqNumber>(out.get(prm::CreateXrcSrqOut::xrc_srqn));
      EXPECT_EQ(command(GetParam().query, srq), CommandStatus::ok);
      EXPECT_EQ(command(GetParam().destroy, srq), CommandStatus::ok);
    }
  }
  EXPECT_GT(answers[CommandStatus::ok], 100);
  EXPECT_GT(answers[CommandStatus::bad_res], 100);
  EXPECT_GT(answers[CommandStatus::bad_param], 100);
}

INSTANTIATE_TEST_SUITE_P(Xrc, FirmwareSrq, testing::Values(kOfXrc));
INSTANTIATE_TEST_SUITE_P(Srq, FirmwareSrq, testing::Values(kOfSrq));

using FirmwareXrcd = FirmwareSrq;

TEST_P(FirmwareXrcd, StaysAsLongAsSomethingIsInIt) {
  const SrqNumber srq = make(kOfXrc);
  EXPECT_EQ(command(Opcode::dealloc_xrcd, domain), CommandStatus::res_busy);
  EXPECT_EQ(command(Opcode::destroy_cq, side.cqn), CommandStatus::res_busy);
  EXPECT_EQ(command(Opcode::destroy_xrc_srq, srq), CommandStatus::ok);
  EXPECT_EQ(command(Opcode::dealloc_xrcd, domain), CommandStatus::ok);
  EXPECT_EQ(command(Opcode::dealloc_xrcd, domain), CommandStatus::bad_res);
}

TEST_P(FirmwareXrcd, AndACqMustBeThere) {
  Create in = request();
  in.at(kContext).set(XrcSrqc::xrcd, domain + 1);
  EXPECT_EQ(refused(in).syndrome, Sy::create_srq_xrc_domain);
  in = request();
  in.at(kContext).set(XrcSrqc::cqn, side.cqn + 1);
  EXPECT_EQ(refused(in).syndrome, Sy::create_srq_xrc_cq);
}

TEST_P(FirmwareXrcd, OfAnotherUidIsNotEnded) {
  prm::Mailbox<prm::DeallocXrcdIn> in;
  prm::Mailbox<prm::MboxOut> out;
  in.set(prm::MboxIn::opcode, static_cast<std::uint64_t>(Opcode::dealloc_xrcd));
  in.set(prm::MboxIn::uid, kUid + 1);
  in.set(prm::DeallocXrcdIn::xrcd, domain);
  EXPECT_EQ(side.firmware.execute(in.bytes(), out.bytes()), CommandStatus::bad_res);
}

INSTANTIATE_TEST_SUITE_P(Xrc, FirmwareXrcd, testing::Values(kOfXrc));

}  // namespace
}  // namespace gdakit::softnic::test
