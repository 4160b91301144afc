// Queue pairs whose send queue has no doorbell record: doorbells alone say how far it is.
#include <cstring>

#include <gtest/gtest.h>

#include "core/format/cq_doorbell.h"
#include "tests/softnic/firmware_rig.h"

namespace gdakit::softnic::test {
namespace {

class FirmwareRecordless : public testing::TestWithParam<std::uint32_t> {
 protected:
  FirmwareRecordless() {
    rig.one.make_qp(request());
    rig.one.connect(rig.other);
    rig.other.connect(rig.one);
  }
  prm::Mailbox<prm::CreateQpIn> request() const {
    auto in = rig.one.qp_request();
    in.at(prm::CreateQpIn::qpc).set(prm::Qpc::send_dbr_mode, GetParam());
    return in;
  }
  std::uint64_t completed() { return rig.one.query().at(prm::QueryQpOut::qpc).get(kStarted); }

  static constexpr auto kStarted = prm::Qpc::hw_sq_wqebb_counter;
  FirmwareRig rig;
};

TEST_P(FirmwareRecordless, GoesByItsOwnRegister) {
  rig.one.without_record = true;
  std::memset(rig.one.heap.data(), 'r', 100);
  // More than twice round the queue.
  for (int i = 0; i < 40; ++i) {
    rig.one.write(0, rig.other, 0, 100);
    rig.run();
    ASSERT_EQ(completed(), static_cast<std::uint64_t>(i + 1));
  }
  EXPECT_EQ(std::memcmp(rig.one.heap.data(), rig.other.heap.data(), 100), 0);
}

// What stands where others have a record is never looked at.
TEST_P(FirmwareRecordless, LooksAtNoRecord) {
  const Be32 wrong = format::doorbell_record_value(7);
  std::memcpy(rig.one.memory.data() + kQpRecordAt + offsetof(format::DoorbellRecord, snd_dbr),
              &wrong, sizeof wrong);
  rig.one.without_record = true;
  rig.one.write(0, rig.other, 0, 100);
  rig.run();
  EXPECT_EQ(completed(), 1u);
  prm::Mailbox<prm::Qp2errIn> in;
  prm::Mailbox<prm::MboxOut> out;
  in.set(prm::Qp2errIn::qpn, rig.one.qpn);
  ASSERT_EQ(rig.one.run(prm::Opcode::qp_2err, in, out), CommandStatus::ok);
  rig.run();
  EXPECT_EQ(rig.one.query().at(prm::QueryQpOut::qpc).get(prm::Qpc::sw_sq_wqebb_counter), 1u)
      << "nothing is flushed that no doorbell has announced";
}

TEST_P(FirmwareRecordless, HearsNoOtherRegister) {
  const std::uint64_t before = rig.one.engine.counters().dropped_doorbells;
  rig.one.write(0, rig.other, 0, 100);
  rig.run();
  EXPECT_EQ(completed(), 0u);
  EXPECT_EQ(rig.one.engine.counters().dropped_doorbells, before + 1);
}

TEST_P(FirmwareRecordless, OneHasAPageUntilItGoes) {
  auto in = request();
  prm::Mailbox<prm::CreateQpOut> out;
  EXPECT_EQ(rig.one.run(prm::Opcode::create_qp, in, out), CommandStatus::bad_res_state);
  prm::Mailbox<prm::DestroyQpIn> destroy;
  prm::Mailbox<prm::MboxOut> gone;
  destroy.set(prm::DestroyQpIn::qpn, rig.one.qpn);
  ASSERT_EQ(rig.one.run(prm::Opcode::destroy_qp, destroy, gone), CommandStatus::ok);
  EXPECT_EQ(rig.one.run(prm::Opcode::create_qp, in, out), CommandStatus::ok);
}

// NO_DBR_EXT and NO_DBR_INT: no record outside the device, or none at all.
INSTANTIATE_TEST_SUITE_P(Modes, FirmwareRecordless, testing::Values(1u, 2u));

}  // namespace
}  // namespace gdakit::softnic::test
