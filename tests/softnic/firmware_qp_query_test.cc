// What queries tell of queue pairs that have failed, and of those that name the port of a LAG.
#include <gtest/gtest.h>

#include "tests/softnic/firmware_rig.h"

namespace gdakit::softnic::test {
namespace {

using prm::Opcode;
using prm::Qpc;

struct WithError : prm::QueryQpOut {
  static constexpr std::size_t kBytes = prm::QueryQpOut::kBytes + prm::QpcExt::kBytes;
  static constexpr prm::Part<WithError, prm::QpcExt, 8 * prm::QueryQpOut::kBytes> more{};
};

// The CQ's last entries are of flushed WQEs then.
TEST(Firmware, AQueryTellsTheFirstErrorWhereItIsAskedFor) {
  FirmwareRig rig;
  rig.one.connect(rig.other);
  rig.other.connect(rig.one);
  rig.one.write(0, rig.other, rig.other.heap.size(), 100);
  rig.one.write(0, rig.other, 0, 100);
  rig.run();
  prm::Mailbox<prm::QueryQpIn> in;
  in.set(prm::QueryQpIn::qpn, rig.one.qpn);
  const auto syndrome = [&](std::uint64_t asked) {
    prm::Mailbox<WithError> out;
    in.set(prm::QueryQpIn::qpc_ext, asked);
    EXPECT_EQ(rig.one.run(Opcode::query_qp, in, out), CommandStatus::ok);
    EXPECT_EQ(out.at(prm::QueryQpOut::qpc).get(Qpc::state),
              static_cast<std::uint64_t>(QpState::err));
    const auto error = out.at(WithError::more).at(prm::QpcExt::error_syndrome);
    return error.get(prm::CqeErrorSyndrome::syndrome);
  };
  EXPECT_EQ(syndrome(0), 0u);
  EXPECT_EQ(syndrome(1), static_cast<std::uint64_t>(format::Syndrome::remote_access));
  prm::Mailbox<prm::QueryQpOut> small;
  EXPECT_EQ(rig.one.run(Opcode::query_qp, in, small), CommandStatus::ok) << "there is no room";
}

TEST(Firmware, AQueryTellsThePortOfALag) {
  FirmwareRig rig;
  const auto port = [&rig] {
    return rig.one.query().at(prm::QueryQpOut::qpc).get(Qpc::lag_tx_port_affinity);
  };
  prm::Mailbox<Qpc> context;
  context.set(Qpc::lag_tx_port_affinity, 2);
  ASSERT_EQ(rig.one.modify(Opcode::rst2init_qp, context), CommandStatus::ok);
  EXPECT_EQ(port(), 2u);
  context.set(Qpc::lag_tx_port_affinity, 1);
  ASSERT_EQ(rig.one.modify(Opcode::init2init_qp, context), CommandStatus::ok);
  EXPECT_EQ(port(), 2u) << "it was not named";
  constexpr std::uint32_t kLagPort = 0x8000;
  ASSERT_EQ(rig.one.modify(Opcode::init2init_qp, context, kLagPort), CommandStatus::ok);
  EXPECT_EQ(port(), 1u);
}

}  // namespace
}  // namespace gdakit::softnic::test
