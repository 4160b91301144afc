// The statuses of the control path: each check refuses with a syndrome of its own, and changes
// nothing.
#include "backends/softnic/objects/status.h"

#include <string>

#include <gtest/gtest.h>

#include "backends/softnic/engine/status_text.h"
#include "tests/softnic/status_rig.h"

namespace gdakit::softnic::test {
namespace {

TEST_F(StatusTest, EachSyndromeIsThatOfOneCheck) {
  const auto provocations = everything();
  for (const SyndromeRow& row : syndrome_rows()) {
    if (row.syndrome >= Sy::mailbox_opcode) break;  // firmware_test.cc
    const auto found = provocations.find(row.syndrome);
    ASSERT_NE(found, provocations.end()) << row.sentence;
    const Status status = found->second();
    EXPECT_EQ(status.syndrome, row.syndrome) << row.sentence;
    EXPECT_EQ(status.status, row.status) << row.sentence;
    const std::string text = status_text(status);
    EXPECT_EQ(text.find_first_of("{}"), std::string::npos) << text;
  }
}

TEST_F(StatusTest, TheSentenceNamesCallObjectAndRemedy) {
  const Error absent = status_error("destroy_qp", engine.destroy_qp(kAbsent).status());
  EXPECT_EQ(absent.code(), Code::not_found);
  EXPECT_EQ(absent.message(),
            "destroy_qp: there is no queue pair 99; it was never created or is gone");
  const Error busy = status_error("dealloc_pd", engine.dealloc_pd(side.pd).status());
  EXPECT_EQ(busy.code(), Code::invalid_argument);
  EXPECT_EQ(busy.message(),
            "dealloc_pd: protection domain 1 is still used by memory keys, queue pairs or "
            "shared receive queues; destroy those first");
  const Error state = status_error(
      "modify_qp", of_modify(QpState::init, [](QpModify& m) { m.state = QpState::rts; }));
  EXPECT_NE(state.message().find("queue pair 2 cannot go from reset to rts; the way is"),
            std::string::npos)
      << state.message();
  const Error field =
      status_error("modify_qp", of_modify(QpState::rtr, [](QpModify& m) { m.given = QpFields{}; }));
  EXPECT_EQ(field.message(), "modify_qp: queue pair 2 needs path for this transition; give it");
  const Error full = status_error("alloc_pd", refusal(Sy::alloc_pd_numbers));
  EXPECT_EQ(full.code(), Code::exhausted);
}

TEST_F(StatusTest, AnUnknownFieldIsRefusedByItsBitAlone) {
  const Status status = of_modify(QpState::init, [](QpModify& m) {
    m.given = QpFields{QpField::access, QpField::pkey} | QpFields::of_bits(1u << 31);
  });
  EXPECT_EQ(status.syndrome, Sy::modify_qp_field_unknown);
  EXPECT_NE(status_text(status).find("an unknown field"), std::string::npos);
}

// A stranger finds nothing, and changes nothing.
TEST_F(StatusTest, WhatBelongsToAnotherIsNotThere) {
  const QpInfo before = side.info();
  EXPECT_EQ(engine.dealloc_pd(side.pd, kStranger).status().syndrome, Sy::dealloc_pd_absent);
  EXPECT_EQ(engine.free_uar(side.uar, kStranger).status().syndrome, Sy::free_uar_absent);
  EXPECT_EQ(engine.dereg_mr(side.key, kStranger).status().syndrome, Sy::dereg_mr_absent);
  EXPECT_EQ(engine.rereg_mr(side.key, mr(), kStranger).status().syndrome, Sy::reg_mr_pd);
  EXPECT_EQ(engine.reg_mr(mr(), kStranger).status().syndrome, Sy::reg_mr_pd);
  EXPECT_EQ(engine.destroy_cq(side.send_cqn, kStranger).status().syndrome, Sy::destroy_cq_absent);
  EXPECT_EQ(engine.destroy_qp(side.qpn, kStranger).status().syndrome, Sy::destroy_qp_absent);
  EXPECT_EQ(engine.query_qp(side.qpn, kStranger).status().syndrome, Sy::query_qp_absent);
  EXPECT_EQ(engine.modify_qp(side.qpn, {}, kStranger).status().syndrome, Sy::modify_qp_absent);
  EXPECT_EQ(engine.create_srq(srq(), kStranger).status().syndrome, Sy::create_srq_pd);
  EXPECT_EQ(engine.query_srq(used_srq, kStranger).status().syndrome, Sy::query_srq_absent);
  EXPECT_EQ(engine.arm_srq(used_srq, 1, kStranger).status().syndrome, Sy::arm_srq_absent);
  EXPECT_EQ(engine.destroy_srq(used_srq, kStranger).status().syndrome, Sy::destroy_srq_absent);
  EXPECT_EQ(side.info().state, before.state);
  // Nor does it build on what is not its own.
  QpAttributes attributes = qp();
  const auto refused = [&] { return engine.create_qp(attributes, kStranger).status().syndrome; };
  EXPECT_EQ(refused(), Sy::create_qp_pd);
  attributes.pd = *engine.alloc_pd(kStranger);
  EXPECT_EQ(refused(), Sy::create_qp_send_cq);
  attributes.send_cq = *engine.create_cq(cq(), kStranger);
  EXPECT_EQ(refused(), Sy::create_qp_uar);
  attributes.uar = *engine.alloc_uar(UarType::dense, kStranger);
  EXPECT_EQ(refused(), Sy::create_qp_receive_cq);
  attributes.receive_cq = attributes.send_cq;
  attributes.has_receive_queue = false;
  attributes.srq = used_srq;
  EXPECT_EQ(refused(), Sy::create_qp_srq);
  attributes.srq.reset();
  attributes.has_receive_queue = true;
  const Outcome<QpNumber> own = engine.create_qp(attributes, kStranger);
  ASSERT_TRUE(own);
  EXPECT_EQ(engine.destroy_qp(*own).status().syndrome, Sy::destroy_qp_absent);
  EXPECT_TRUE(engine.query_qp(*own, kStranger));
  // The number of a queue pair stays with its owner through a reset.
  EXPECT_TRUE(engine.modify_qp(*own, {}, kStranger));
  EXPECT_FALSE(engine.query_qp(*own));
  EXPECT_TRUE(engine.destroy_qp(*own, kStranger));
}

}  // namespace
}  // namespace gdakit::softnic::test
